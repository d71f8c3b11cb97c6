import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';
import { lintAuthorities } from './lint-tls.ts';

/** Finds certificates that cannot be obtained, or that nobody would trust. @param nowMs Unix time in milliseconds */
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
      report.error('acme-conflict', at(), 'the service has certificate files, too', hint);
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
