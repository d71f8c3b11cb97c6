import { isIP } from 'node:net';
import type { Report } from '../findings.ts';
import type { Config } from '../schema/schema.ts';

/** Whether the name of a header suggests that its value is a secret. */
export function isCredentialHeader(name: string): boolean {
  return /auth|api-?key|token|secret|cookie|password/i.test(name);
}

/** Finds secrets and files that would cross the network unencrypted, and options without effect. */
export function lintRemotes(config: Config, report: Report): void {
  for (const [uuid, method] of Object.entries(config.authentications)) {
    if (!method.enabled || method.type !== 'http') continue;
    const path = ['authentications', uuid];
    for (const host of clearHosts(method.url))
      report.warning('plain-http', [...path, 'url'], `the passwords of accounts go to ${host} over plain http`, 'use https://');
    lintBasic(method, path, report);
  }
  for (const [uuid, inspection] of Object.entries(config.inspections)) {
    if (!inspection.enabled || inspection.type !== 'http') continue;
    const path = ['inspections', uuid];
    for (const host of clearHosts(inspection.url))
      report.warning('plain-http', [...path, 'url'], `files and their names go to ${host} over plain http`, 'use https://');
    lintBasic(inspection, path, report);
  }
  for (const [uuid, handler] of Object.entries(config.event_handlers)) {
    if (!handler.enabled) continue;
    const path = ['event_handlers', uuid];
    if (handler.type === 'forward') {
      const urls = handler.endpoint === '' ? handler.url : [handler.endpoint];
      for (const host of clearHosts(urls.map((url) => url.replace(/\{[^}]*\}/g, '_'))))
        report.warning(
          'plain-http',
          [...path, handler.endpoint === '' ? 'url' : 'endpoint'],
          `files go to ${host} over plain http`,
          'use https://',
        );
      lintBasic(handler, path, report);
      continue;
    }
    const secrets = [
      ...(handler.username !== '' || handler.password !== '' ? ['the password'] : []),
      ...handler.headers.filter(([name]) => isCredentialHeader(name)).map(([name]) => `the header "${name}"`),
    ];
    const [secret] = secrets;
    if (secret !== undefined) {
      for (const host of clearHosts(handler.url))
        report.warning('plain-http', [...path, 'url'], `${secret} goes to ${host} over plain http`, 'use https://');
    }
    lintBasic(handler, path, report);
  }
}

interface Remote {
  username: string;
  password: string;
  headers: readonly (readonly [string, string])[];
  url: readonly string[];
}

function lintBasic(remote: Remote, path: PropertyKey[], report: Report): void {
  const hasBasic = remote.username !== '' || remote.password !== '';
  if (hasBasic && remote.headers.some(([name]) => name.toLowerCase() === 'authorization'))
    report.warning('no-effect', [...path, 'headers'], 'username and password take precedence over the Authorization header');
  const seen = new Set<string>();
  for (const url of remote.url) {
    if (seen.has(url)) report.warning('no-effect', [...path, 'url'], 'the URL is listed twice; a second request to it is useless');
    seen.add(url);
  }
}

/** Lists the hosts of http:// URLs, except for this machine. */
function clearHosts(urls: readonly string[]): string[] {
  const hosts = urls.map((text) => new URL(text)).filter((url) => url.protocol === 'http:' && !isThisMachine(url.hostname));
  return [...new Set(hosts.map((url) => url.host))];
}

/** Whether the host name of a URL means this machine. */
export function isThisMachine(hostname: string): boolean {
  const host = hostname.replace(/^\[|\]$/g, '');
  return /(^|\.)localhost$/i.test(host) || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
