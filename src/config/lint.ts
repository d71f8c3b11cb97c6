import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { defaultGroupUuid } from '../accounts/account.ts';
import { userVariable } from '../accounts/user-names.ts';
import type { HttpServiceOptions } from '../http/options.ts';
import { isServiceError } from '../lib/errors.ts';
import { nearestName } from '../lib/nearest-name.ts';
import { parseRedisUrl } from '../lib/redis-url.ts';
import { ConfigError, type Finding, pathText } from './findings.ts';
import type { LoadedConfig } from './load.ts';
import type { Config } from './schema.ts';

type Report = (severity: Finding['severity'], code: string, path: PropertyKey[], message: string, hint?: string) => void;

/**
 * Finds what the schema cannot see: references to what does not exist, files that cannot be used, addresses used twice.
 * Errors are what `svc serve` refuses to start with.
 */
export function lintConfig(loaded: LoadedConfig): Finding[] {
  const findings: Finding[] = [];
  const report: Report = (severity, code, path, message, hint) => {
    const place = loaded.source?.locate(path, 'value') ?? { line: 0, column: 0 };
    findings.push({ severity, code, file: loaded.file, ...place, path: pathText(path), message, ...(hint === undefined ? {} : { hint }) });
  };
  const { config } = loaded;
  checkServices(config, report);
  checkAvailability(config, report);
  checkReferences(config, report);
  checkFolders(config, report);
  return findings.sort((a, b) => a.line - b.line || a.column - b.column);
}

/** @throws ConfigError when `lintConfig` finds errors */
export function refuseErrors(loaded: LoadedConfig): Finding[] {
  const findings = lintConfig(loaded);
  if (findings.some((finding) => finding.severity === 'error')) throw new ConfigError(findings, loaded.source?.text ?? '');
  return findings;
}

function checkServices(config: Config, report: Report): void {
  const services = Object.entries(config.services).filter(([, service]) => service.enabled);
  if (services.length === 0) report('error', 'no-service', ['services'], 'no service is enabled');
  const addresses = new Map<string, string>();
  for (const [uuid, service] of services) {
    const address = `${service.address}:${service.port}`;
    const other = service.port === 0 ? undefined : addresses.get(address);
    if (other !== undefined)
      report('error', 'address-in-use', ['services', uuid, 'port'], `${address} is also the address of the service "${other}"`);
    addresses.set(address, uuid);
    if (service.type === 'https') checkTls(uuid, service, report);
    if (service.type === 'http' && (service.tls_certificate_path || service.tls_key_path || service.tls_client_ca_path)) {
      report('warning', 'tls-unused', ['services', uuid, 'type'], 'the tls_… options have no effect on a service of type http');
    }
  }
}

/** Says what is accepted but has no effect in this version, so that nobody relies on it. */
function checkAvailability(config: Config, report: Report): void {
  const later = (path: PropertyKey[], what: string) => report('warning', 'not-available', path, `${what} in this version`);
  if (config.server.state.type === 'redis') {
    checkRedis(config.server.state.url, report);
  }
  for (const [uuid, service] of Object.entries(config.services)) {
    if (service.type !== 'monitor' && service.webdav_compatibility)
      later(['services', uuid, 'webdav_compatibility'], 'webdav_compatibility has no effect');
  }
}

function checkRedis(url: string, report: Report): void {
  try {
    parseRedisUrl(url);
  } catch (error) {
    if (!isServiceError(error)) throw error;
    report('error', 'state-url', ['server', 'state', 'url'], error.message);
  }
}

function checkTls(uuid: string, service: HttpServiceOptions, report: Report): void {
  const path = (option: string) => ['services', uuid, option];
  const certificate = readPem(service.tls_certificate_path, 'tls_certificate_path', path('tls_certificate_path'), report);
  const key = readPem(service.tls_key_path, 'tls_key_path', path('tls_key_path'), report);
  if (service.tls_client_ca_path) readPem(service.tls_client_ca_path, 'tls_client_ca_path', path('tls_client_ca_path'), report);
  if (!certificate || !key) return;
  try {
    const parsed = new X509Certificate(certificate);
    if (!parsed.checkPrivateKey(createPrivateKey(key)))
      report('error', 'tls-mismatch', path('tls_key_path'), 'the key does not belong to the certificate');
  } catch (error) {
    report('error', 'tls-unusable', path('tls_certificate_path'), `the certificate or the key cannot be used: ${(error as Error).message}`);
  }
}

function readPem(file: string, option: string, path: PropertyKey[], report: Report): Buffer | undefined {
  if (!file) {
    report('error', 'missing-option', path, `${option} is required for a service of type https`);
    return undefined;
  }
  try {
    return readFileSync(file);
  } catch (error) {
    report('error', 'file-unreadable', path, (error as Error).message);
    return undefined;
  }
}

function checkReferences(config: Config, report: Report): void {
  const groups = [defaultGroupUuid, ...Object.keys(config.groups)];
  const unknown = (kind: string, uuid: string, known: string[], path: PropertyKey[]) => {
    const nearest = nearestName(uuid, known);
    report('error', 'unknown-reference', path, `there is no ${kind} "${uuid}"`, nearest ? `did you mean "${nearest}"?` : undefined);
  };
  const needGroup = (uuid: string, path: PropertyKey[]) => {
    if (!groups.includes(uuid)) unknown('group', uuid, groups, path);
  };
  for (const [name, account] of Object.entries(config.accounts)) needGroup(account.group, ['accounts', name, 'group']);
  for (const [uuid, method] of Object.entries(config.authentications)) {
    if (method.type === 'anonymous') needGroup(method.group, ['authentications', uuid, 'group']);
  }
  for (const [uuid, service] of Object.entries(config.services)) {
    if (service.type === 'monitor') continue;
    const methods = Object.keys(config.authentications);
    for (const [index, method] of (service.authentications ?? []).entries()) {
      if (!methods.includes(method)) unknown('authentication method', method, methods, ['services', uuid, 'authentications', index]);
    }
    const handlers = Object.keys(config.event_handlers);
    const backend = service.api_backend_uuid;
    if (backend && !handlers.includes(backend)) unknown('event handler', backend, handlers, ['services', uuid, 'api_backend_uuid']);
    else if (backend && !config.event_handlers[backend]?.enabled) {
      report(
        'warning',
        'backend-disabled',
        ['services', uuid, 'api_backend_uuid'],
        `the event handler "${backend}" is disabled; uploads get the partial-success headers`,
      );
    }
    for (const [index, trigger] of service.triggers.entries())
      for (const group of trigger.groups) needGroup(group, ['services', uuid, 'triggers', index]);
  }
}

function checkFolders(config: Config, report: Report): void {
  const isFolder = (path: string) => statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  const holders: [
    PropertyKey[],
    Pick<Config['groups'][string], 'home_folder_path'> & {
      create_home_folder?: boolean | undefined;
      virtual_folders?: [string, string][] | undefined;
    },
  ][] = [
    ...Object.entries(config.groups).map(([uuid, group]): [PropertyKey[], typeof group] => [['groups', uuid], group]),
    ...Object.entries(config.accounts).map(([name, account]): [PropertyKey[], never] => [['accounts', name], account as never]),
  ];
  for (const [path, holder] of holders) {
    const home = holder.home_folder_path;
    if (home && holder.create_home_folder === false) {
      const needed = home.includes(userVariable) ? dirname(home.slice(0, home.indexOf(userVariable)) + userVariable) : home;
      if (!isFolder(needed))
        report(
          'warning',
          'folder-missing',
          [...path, 'home_folder_path'],
          `the folder ${needed} does not exist and create_home_folder is off`,
        );
    }
    for (const [index, [, realPath]] of (holder.virtual_folders ?? []).entries()) {
      if (!realPath.includes(userVariable) && !isFolder(realPath))
        report('warning', 'folder-missing', [...path, 'virtual_folders', index], `the folder ${realPath} does not exist`);
    }
  }
}
