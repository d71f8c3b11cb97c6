import type { Report } from '../findings.ts';
import { usesTls } from '../schema/console-options.ts';
import type { Config } from '../schema/schema.ts';

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);

/** Consoles that nobody can log in to, or that passwords would go to in clear. */
export function lintConsoles(config: Config, report: Report): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    if (!service.enabled || service.type !== 'console') continue;
    const at = (option: string) => ['services', uuid, option];
    if (Object.keys(service.administrators).length === 0)
      report('warning', 'administrators-missing', at('administrators'), 'nobody can log in: there is no administrator');
    if (usesTls(service)) continue;
    if (service.tls_client_ca_path !== '')
      report('warning', 'tls-unused', at('tls_client_ca_path'), 'has no effect without tls_certificate_path');
    const isBehindTls = service.accepted_origins.some((origin) => origin.startsWith('https:'));
    if (!loopback.has(service.address) && !isBehindTls)
      report(
        'warning',
        'plain-http',
        at('address'),
        `the passwords of administrators go over plain http to ${service.address}`,
        'set tls_certificate_path and tls_key_path, or listen on loopback',
      );
  }
}
