import { isIP } from 'node:net';
import { eventIds } from '../../events/event-ids.ts';
import { readLogo } from '../../http/appearance-options.ts';
import { readingFault, readSecretFile } from '../../lib/disk/named-file.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { refusedPassthroughHeaders } from '../../lib/headers/header-fields.ts';
import { authority } from '../../lib/listen.ts';
import { checkAuthorities, checkTlsPairs } from '../../lib/tls-files.ts';
import { algorithmsBeyondSecure, fitsAlgorithms, resolveAlgorithms } from '../../ssh/algorithms.ts';
import { type HostKey, readHostKey } from '../../ssh/host-keys.ts';
import { wantedEvents } from '../../webhooks/subscription.ts';
import type { Report } from '../findings.ts';
import { usesTls } from '../schema/console-options.ts';
import { type Config, isFileService, isHttpService } from '../schema/schema.ts';

interface Taken {
  uuid: string;
  address: string;
}

/** The services on one port. Each property has only the first service of its kind, because one is enough to find a collision. */
interface Port {
  byAddress: Map<string, Taken>;
  any?: Taken;
  /** Listens on `::`. */
  all6?: Taken;
  /** Listens on `0.0.0.0`. */
  all4?: Taken;
  /** Listens on an IPv4 address or on a host name. */
  not6?: Taken;
}

/** Finds enabled services with the same address and port. `0.0.0.0` and `::` collide with every address of the machine. */
export function lintAddresses(config: Config, report: Report): void {
  const ports = new Map<number, Port>();
  for (const [uuid, { enabled, address, port }] of Object.entries(config.services)) {
    if (!enabled || port === 0) continue;
    const taken: Port = ports.get(port) ?? { byAddress: new Map() };
    ports.set(port, taken);
    const other = claim(taken, { uuid, address });
    if (!other) continue;
    const place = authority(address, port);
    const message =
      other.address === address
        ? `${place} is also the address of the service "${other.uuid}"`
        : `${place} is taken by ${authority(other.address, port)} of the service "${other.uuid}"`;
    report.error('address-in-use', ['services', uuid, 'port'], message);
  }
  lintChallengePorts(config, ports, report);
}

/** Finds ACME http-01 ports that another service already uses. Services with the same address share such a port. */
function lintChallengePorts(config: Config, ports: Map<number, Port>, report: Report): void {
  const shared = new Set<string>();
  for (const [uuid, service] of Object.entries(config.services)) {
    const acme = 'tls' in service ? service.tls.acme : undefined;
    const place = acme && authority(service.address, acme.http_port);
    if (!service.enabled || service.type === 'http' || acme?.challenge !== 'http-01' || acme.http_port === 0 || shared.has(place ?? ''))
      continue;
    shared.add(place ?? '');
    const taken: Port = ports.get(acme.http_port) ?? { byAddress: new Map() };
    ports.set(acme.http_port, taken);
    const other = claim(taken, { uuid, address: service.address });
    const hint = 'with "challenge: tls-alpn-01", no additional port is needed';
    const path = ['services', uuid, 'tls', 'acme', 'http_port'];
    if (other) report.error('address-in-use', path, `${place} is taken by the service "${other.uuid}"`, hint);
  }
}

// Records the address of a service, and returns another service with which it collides. A listener on `::` also accepts IPv4, because
// Node.js leaves IPV6_V6ONLY off. A listener on `0.0.0.0` does not accept IPv6.
function claim(taken: Port, service: Taken): Taken | undefined {
  const { family, text, isAll4, isAll6 } = parseAddress(service.address);
  const other =
    taken.byAddress.get(text) ?? taken.all6 ?? (isAll6 ? taken.any : isAll4 ? taken.not6 : family === 6 ? undefined : taken.all4);
  if (!taken.byAddress.has(text)) taken.byAddress.set(text, service);
  taken.any ??= service;
  if (isAll6) taken.all6 ??= service;
  if (isAll4) taken.all4 ??= service;
  if (family !== 6) taken.not6 ??= service;
  return other;
}

function parseAddress(address: string): { family: number; text: string; isAll4: boolean; isAll6: boolean } {
  const named = address.toLowerCase() === 'localhost' ? '127.0.0.1' : address;
  const family = isIP(named);
  const text = family === 6 ? new URL(`http://[${named}]/`).hostname.slice(1, -1) : named.toLowerCase();
  return { family, text, isAll4: text === '0.0.0.0', isAll6: text === '::' };
}

/**
 * Finds host keys that are unusable or never offered to a client, and algorithms that are not in the list `secure`.
 *
 * @param options.isRunning whether the running server does the check. If it was root at its start, it may no longer be able to read the keys
 * @param options.isFolderShared whether nodes share the data folder, and thus the host keys that are created there
 */
export function lintSsh(
  config: Config,
  report: Report,
  { isRunning, isFolderShared }: { isRunning: boolean; isFolderShared: boolean },
): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    if (service.type !== 'ssh' || !service.enabled) continue;
    const at = (...path: PropertyKey[]) => ['services', uuid, ...path];
    const keys = service.host_key_paths.map((path, index) => {
      try {
        return readHostKey(path);
      } catch (error) {
        if (isRunning && systemErrorCode((error as Error).cause) === 'EACCES') return undefined;
        report.error('host-key-unusable', at('host_key_paths', index), (error as Error).message);
        return undefined;
      }
    });
    lintKeys(keys, service.ssh_cipher_list, at, report);
    if (keys.length === 0 && !isFolderShared && config.server.state.type === 'redis')
      report.warning('host-key-own', at(), 'each node creates its own host keys; to a client, another node looks like another server');
    const weak = algorithmsBeyondSecure(service.ssh_cipher_list);
    if (weak.length > 0) report.warning('ssh-weak', at('ssh_cipher_list'), `offers algorithms that "secure" does not: ${weak.join(', ')}`);
  }
}

function lintKeys(
  keys: readonly (HostKey | undefined)[],
  cipherList: readonly string[],
  at: (...path: PropertyKey[]) => PropertyKey[],
  report: Report,
): void {
  const algorithms = resolveAlgorithms(cipherList);
  const seen = new Set<string>();
  for (const [index, key] of keys.entries()) {
    if (!key) continue;
    const path = at('host_key_paths', index);
    if (seen.has(key.type)) report.warning('no-effect', path, `is never used: an earlier key has the same type, ${key.type}`);
    else if (!fitsAlgorithms(key.type, algorithms))
      report.warning('no-effect', path, `ssh_cipher_list has no algorithm for a key of type ${key.type}`);
    seen.add(key.type);
  }
  if (keys.length > 0 && keys.every((key) => key && !fitsAlgorithms(key.type, algorithms)))
    report.error('host-key-unusable', at('host_key_paths'), 'ssh_cipher_list has no algorithm for any of the keys');
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/** Finds consoles without administrators, and consoles to which passwords would be sent unencrypted. */
export function lintConsoles(config: Config, report: Report): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    if (!service.enabled || service.type !== 'console') continue;
    const at = (option: string) => ['services', uuid, option];
    if (Object.keys(service.administrators).length === 0)
      report.warning('administrators-missing', at('administrators'), 'nobody can log in: no administrator is configured');
    if (usesTls(service)) continue;
    if (service.tls_client_ca_path !== '')
      report.warning('tls-unused', at('tls_client_ca_path'), 'has no effect without tls_certificate_path');
    const isBehindTls = service.accepted_origins.some((origin) => origin.startsWith('https:'));
    const problem = `the passwords of administrators go over plain http to ${service.address}`;
    const hint = 'set tls_certificate_path and tls_key_path, or listen on loopback';
    if (!loopback.has(service.address) && !isBehindTls) report.warning('plain-http', at('address'), problem, hint);
  }
}

/** Headers that the option `headers` must not set, because each reply has its own value. */
const headersOfOneReply = new Set([...refusedPassthroughHeaders, 'content-type', 'content-range', 'etag', 'location', 'www-authenticate']);
headersOfOneReply.delete('server');

/** Finds service options that contradict each other or would break replies. */
export function lintServices(config: Config, report: Report): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    if (!service.enabled || !isFileService(service)) continue;
    const at = (...path: PropertyKey[]) => ['services', uuid, ...path];
    lintChain(config, service.authentications, at('authentications'), report);
    if (!isHttpService(service)) continue;
    for (const [name] of service.headers) {
      if (headersOfOneReply.has(name.toLowerCase()))
        report.error('refused-header', at('headers'), `"${name}" cannot be added to every reply`);
    }
    for (const [name] of service.api_partial_success_headers) {
      if (refusedPassthroughHeaders.has(name.toLowerCase()))
        report.error('refused-header', at('api_partial_success_headers'), `"${name}" must not be set by the upload back-end`);
    }
    if (service.api_backend_uuid === '') {
      for (const option of ['api_passthrough_headers', 'api_partial_success_headers'] as const) {
        if (service[option].length > 0) report.warning('backend-missing', at(option), 'has no effect without api_backend_uuid');
      }
    } else lintBackend(config, service.api_backend_uuid, at('api_backend_uuid'), report);
    const seen = new Set<string>();
    for (const [index, { name }] of service.triggers.entries()) {
      if (seen.has(name)) report.warning('no-effect', at('triggers', index), `there is an earlier trigger "${name}"`);
      seen.add(name);
    }
    lintLogo(service.appearance.logo_path, at('appearance', 'logo_path'), report);
  }
  lintUnused(config, report);
}

function lintLogo(file: string, path: PropertyKey[], report: Report): void {
  try {
    if (file !== '') readLogo(file);
  } catch (error) {
    report.error('logo-unusable', path, (error as Error).message);
  }
}

function lintBackend(config: Config, backend: string, path: PropertyKey[], report: Report): void {
  const handler = Object.hasOwn(config.event_handlers, backend) ? config.event_handlers[backend] : undefined;
  // The upload back-end answers this event (docs/spec/delivery.md#upload-back-end).
  const uploadDone = eventIds.fileUploaded;
  if (!handler?.enabled || wantedEvents(handler).some(({ id }) => id === uploadDone)) return;
  const effect = 'every upload would get the partial-success headers';
  report.warning('backend-never', path, `the filters of the event handler "${backend}" leave out event ${uploadDone}; ${effect}`);
}

function lintChain(config: Config, chain: readonly string[] | null, path: PropertyKey[], report: Report): void {
  const seen = new Set<string>();
  for (const [index, uuid] of (chain ?? []).entries()) {
    const method = Object.hasOwn(config.authentications, uuid) ? config.authentications[uuid] : undefined;
    if (seen.has(uuid)) report.warning('no-effect', [...path, index], `the method "${uuid}" is listed twice`);
    else if (method && !method.enabled)
      report.warning('method-disabled', [...path, index], `the method "${uuid}" is disabled; it is skipped`);
    seen.add(uuid);
  }
}

function lintUnused(config: Config, report: Report): void {
  const chains = Object.values(config.services).flatMap((service) =>
    service.enabled && isFileService(service) ? [service.authentications] : [],
  );
  // A service without a list uses every enabled method.
  if (chains.length === 0 || chains.includes(null)) return;
  const asked = new Set(chains.flatMap((chain) => chain ?? []));
  for (const [uuid, { enabled }] of Object.entries(config.authentications)) {
    if (enabled && !asked.has(uuid)) report.warning('method-unused', ['authentications', uuid], 'no enabled service uses this method');
  }
}

/** Checks whether TLS files can be read, are of the right kind, belong together, are valid now, and are strong enough. */
export function lintTls(config: Config, report: Report, nowMs: number): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    const hasTls = isHttpService(service) || (service.type === 'console' && usesTls(service));
    if (!service.enabled || !hasTls) continue;
    const at = (option: string) => ['services', uuid, option];
    if (service.type === 'http') {
      const unused = (['tls_certificate_path', 'tls_key_path', 'tls_client_ca_path'] as const).filter((option) => service[option] !== '');
      for (const option of unused) report.warning('tls-unused', at(option), 'has no effect on a service of type http');
      if (service.tls.acme) report.warning('tls-unused', at('tls'), 'has no effect on a service of type http');
      continue;
    }
    if (service.tls_client_ca_path) lintAuthorities(service.tls_client_ca_path, at('tls_client_ca_path'), report, nowMs);
    if (service.tls.acme) continue;
    const certificate = readNeeded(service.tls_certificate_path, at('tls_certificate_path'), service.type, report);
    const key = readNeeded(service.tls_key_path, at('tls_key_path'), service.type, report);
    const faults = certificate === undefined ? [] : checkTlsPairs(certificate, key, nowMs);
    for (const { severity, code, file, message, hint } of faults)
      report[severity](code, at(file === 'key' ? 'tls_key_path' : 'tls_certificate_path'), message, hint);
  }
  const remotes = [
    ...Object.entries(config.authentications).map(([uuid, method]) => ({ section: 'authentications', uuid, remote: method })),
    ...Object.entries(config.event_handlers).map(([uuid, handler]) => ({ section: 'event_handlers', uuid, remote: handler })),
  ];
  for (const { section, uuid, remote } of remotes) {
    if (!remote.enabled || (remote.type !== 'http' && remote.type !== 'forward') || remote.ca_certificates_path === '') continue;
    const path = [section, uuid, 'ca_certificates_path'];
    lintAuthorities(remote.ca_certificates_path, path, report, nowMs);
    const isStorage = remote.type === 'forward' && (remote.endpoint !== '' || remote.url.some((url) => url.startsWith('s3:')));
    const urls = remote.type === 'forward' && remote.endpoint !== '' ? [remote.endpoint] : remote.url;
    if (isStorage ? urls.every((url) => url.startsWith('http:')) : !urls.some((url) => url.toLowerCase().startsWith('https:')))
      report.warning('tls-unused', path, 'has no effect: no URL begins with https://');
  }
}

function readNeeded(file: string, path: PropertyKey[], type: 'https' | 'console', report: Report): string | undefined {
  if (file !== '') return readText(file, path, report);
  const kind = type === 'https' ? 'of type https' : 'with TLS';
  report.error('missing-option', path, `${String(path.at(-1))} is required for a service ${kind}`);
  return undefined;
}

function readText(file: string, path: PropertyKey[], report: Report): string | undefined {
  try {
    // While the process is root, `readSecretFile` keeps the content in memory. The server needs the content again after it has dropped its
    // privileges.
    return readSecretFile(file, false).toString('latin1');
  } catch (error) {
    report.error('file-unreadable', path, `cannot read ${file}: ${readingFault(file, error)}`);
    return undefined;
  }
}

function lintAuthorities(file: string, path: PropertyKey[], report: Report, nowMs: number): void {
  const pem = readText(file, path, report);
  if (pem === undefined) return;
  for (const { severity, code, message } of checkAuthorities(pem, nowMs)) report[severity](code, path, message);
}

/** Finds ACME options with which no certificate can be obtained, or only an untrusted one. @param nowMs Unix time in milliseconds */
export function lintAcme(config: Config, report: Report, nowMs: number): void {
  const { state } = config.server;
  const kept = Object.entries(config.services).flatMap(([uuid, service]) => {
    if (!service.enabled || (service.type !== 'https' && service.type !== 'console') || !service.tls.acme) return [];
    return [{ uuid, service, acme: service.tls.acme }];
  });
  const isAnsweredByTls = kept.some(({ service, acme }) => service.type === 'https' && acme.challenge === 'tls-alpn-01');
  for (const { uuid, service, acme } of kept) {
    const at = (...path: PropertyKey[]) => ['services', uuid, 'tls', 'acme', ...path];
    if (service.tls_certificate_path !== '' || service.tls_key_path !== '') {
      const hint = 'leave out tls_certificate_path and tls_key_path, or tls.acme';
      report.error('acme-conflict', at(), 'the service also has certificate files', hint);
    }
    if (state.type === 'redis' && state.secret === '') {
      const problem = 'nodes share certificates and keys in Redis, encrypted with server.state.secret, which is not set';
      report.error('acme-secret', at(), problem, 'set it to the same random text on all nodes');
    }
    if (service.type === 'console' && acme.challenge === 'tls-alpn-01' && !isAnsweredByTls) {
      const problem = 'a console does not answer tls-alpn-01, and no service of type https does';
      report.error('acme-unanswered', at('challenge'), problem, 'set "challenge: http-01"');
    }
    for (const [index, directory] of acme.directory.entries())
      if (/staging/i.test(new URL(directory).hostname))
        report.warning('acme-staging', at('directory', index), 'is a directory for tests: no client trusts its certificates');
    if (acme.ca_certificates_path !== '') lintAuthorities(acme.ca_certificates_path, at('ca_certificates_path'), report, nowMs);
  }
}
