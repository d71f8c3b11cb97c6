import { readingFault, readSecretFile } from '../../lib/disk/named-file.ts';
import { checkAuthorities, checkTlsPairs } from '../../lib/tls-files.ts';
import type { Report } from '../findings.ts';
import { usesTls } from '../schema/console-options.ts';
import { type Config, isHttpService } from '../schema/schema.ts';

/** Checks that TLS files can be read, are of the right kind, belong together, are valid now, and are strong enough. */
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
    // `readSecretFile` remembers content that only root can read, for nodes that start after this process has dropped its privileges.
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

/** Finds ACME options with which no certificate, or no trusted certificate, can be obtained. @param nowMs Unix time in milliseconds */
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
      const problem = 'nodes share certificates and keys in Redis under server.state.secret, which is not set';
      report.error('acme-secret', at(), problem, 'the same random text on all nodes');
    }
    if (service.type === 'console' && acme.challenge === 'tls-alpn-01' && !isAnsweredByTls) {
      const problem = 'a console does not answer tls-alpn-01, and no service of type https does';
      report.error('acme-unanswered', at('challenge'), problem, 'challenge: http-01');
    }
    for (const [index, directory] of acme.directory.entries())
      if (/staging/i.test(new URL(directory).hostname))
        report.warning('acme-staging', at('directory', index), 'is a directory for tests: no client trusts its certificates');
    if (acme.ca_certificates_path !== '') lintAuthorities(acme.ca_certificates_path, at('ca_certificates_path'), report, nowMs);
  }
}
