import { lookup } from 'node:dns/promises';
import { createCalloutEndpoint, testCredentials, testFailure } from '../auth/callout.ts';
import { credentialsContentType, credentialsRequestBody } from '../auth/credentials.ts';
import { createInspector } from '../files/inspections/inspections.ts';
import { readAcmeDirectory } from '../lib/acme/acme-client.ts';
import { systemClock } from '../lib/clock.ts';
import { readCaCertificates } from '../lib/disk/named-file.ts';
import { createLog } from '../lib/log.ts';
import { RemoteEndpoint } from '../lib/remote/remote-endpoint.ts';
import { MemoryUrlHealth } from '../lib/remote/url-health.ts';
import { connectSftp } from '../ssh/client/sftp-client.ts';
import { parseTargetUrl } from '../webhooks/forward/address.ts';
import { createTarget } from '../webhooks/forward/forwarding.ts';
import type { ForwardOptions } from '../webhooks/forward/options.ts';
import { pathText } from './findings.ts';
import type { LoadedConfig } from './reading/load.ts';
import type { Finding } from './report-shapes.ts';

/** Maximum time to wait for one URL, in milliseconds. It is far shorter than the two minutes that a login may take. */
const maxWaitMs = 10_000;

/** Checks over the network that authentication endpoints, inspections, ACME directories and targets of event handlers answer. */
export async function onlineFindings(loaded: LoadedConfig): Promise<Finding[]> {
  const findings = await Promise.all([
    ...calloutChecks(loaded),
    ...inspectionChecks(loaded),
    ...handlerChecks(loaded),
    ...certificateChecks(loaded),
  ]);
  return findings.flat();
}

function finding(loaded: LoadedConfig, path: PropertyKey[], message: string): Finding {
  const place = loaded.source?.locate(path, 'value') ?? { line: 0, column: 0 };
  return { severity: 'error', code: 'online', file: loaded.file, ...place, path: pathText(path), message };
}

function calloutChecks(loaded: LoadedConfig): Promise<Finding[]>[] {
  const serverUuid = loaded.config.server.uuid ?? 'svc-validate';
  return Object.entries(loaded.config.authentications).flatMap(([uuid, options]) => {
    if (options.type !== 'http' || !options.enabled) return [];
    const body = credentialsRequestBody(testCredentials(uuid), serverUuid);
    return options.url.map(async (url) => {
      const endpoint = createCalloutEndpoint({ ...options, timeout: Math.min(options.timeout, maxWaitMs / 1000) }, systemClock);
      const result = await endpoint.request({ url, method: 'POST', headers: { 'content-type': credentialsContentType }, body });
      endpoint.close();
      const reason = testFailure(result);
      return reason === undefined ? [] : [finding(loaded, ['authentications', uuid, 'url'], `${url}: ${reason.message}`)];
    });
  });
}

function inspectionChecks(loaded: LoadedConfig): Promise<Finding[]>[] {
  const log = createLog({ level: 'error', format: 'json', clock: systemClock, write() {} });
  return Object.entries(loaded.config.inspections).flatMap(([uuid, options]) => {
    if (!options.enabled) return [];
    const urls = options.type === 'http' ? options.url : [options.url];
    return urls.map(async (url) => {
      const timeout = Math.min(options.timeout, maxWaitMs / 1000);
      const one = options.type === 'http' ? { ...options, timeout, url: [url] } : { ...options, timeout };
      const inspector = createInspector(uuid, one, new MemoryUrlHealth(systemClock), { clock: systemClock, log });
      const reason = await inspector.test();
      inspector.close();
      return reason === undefined ? [] : [finding(loaded, ['inspections', uuid, 'url'], `${url}: ${reason.message}`)];
    });
  });
}

/** Checks that each directory URL returns an ACME directory, and that each domain resolves to an address. */
function certificateChecks(loaded: LoadedConfig): Promise<Finding[]>[] {
  return Object.entries(loaded.config.services).flatMap(([uuid, service]) => {
    const acme = 'tls' in service && service.type !== 'http' && service.enabled ? service.tls.acme : undefined;
    if (!acme) return [];
    const check = async (option: 'directory' | 'domains', subject: string, ask: () => Promise<unknown>) => {
      const reason = await ask().then(
        () => undefined,
        (error: Error) => error.message,
      );
      return reason === undefined ? [] : [finding(loaded, ['services', uuid, 'tls', 'acme', option], `${subject}: ${reason}`)];
    };
    const caPem = readCaCertificates(acme.ca_certificates_path, 'ca_certificates_path');
    return [
      ...acme.directory.map((url) => check('directory', url, () => readAcmeDirectory(url, caPem, systemClock))),
      ...acme.domains.map((domain) => check('domains', domain, () => lookup(domain))),
    ];
  });
}

async function targetCheck(loaded: LoadedConfig, uuid: string, url: string, options: ForwardOptions): Promise<Finding[]> {
  const notHere = () => {
    throw new Error('A check opens no file.');
  };
  const target = createTarget(
    parseTargetUrl(url),
    { ...options, timeout: Math.min(options.timeout, maxWaitMs / 1000) },
    {
      means: { open: notHere, connectSftp },
      clock: systemClock,
      caPem: readCaCertificates(options.ca_certificates_path, 'ca_certificates_path'),
    },
  );
  const reason = await target.ping(undefined).finally(() => target.close());
  return reason === undefined ? [] : [finding(loaded, ['event_handlers', uuid, 'url'], `${url}: ${reason}`)];
}

// The check sends OPTIONS, because such a request delivers no event. Any status shows that the endpoint answers.
function handlerChecks(loaded: LoadedConfig): Promise<Finding[]>[] {
  return Object.entries(loaded.config.event_handlers).flatMap(([uuid, options]) => {
    if (!options.enabled) return [];
    if (options.type === 'forward') return options.url.map((url) => targetCheck(loaded, uuid, url, options));
    return options.url.map(async (url) => {
      const endpoint = new RemoteEndpoint({
        headers: options.headers,
        username: options.username,
        password: options.password,
        timeoutMs: maxWaitMs,
        maximumReplyBytes: 1024 * 1024,
        caPem: readCaCertificates(options.ca_certificates_path, 'ca_certificates_path'),
        clock: systemClock,
      });
      const result = await endpoint.request({ url, method: 'OPTIONS', headers: {} });
      endpoint.close();
      return result.kind === 'no-reply' ? [finding(loaded, ['event_handlers', uuid, 'url'], `${url}: ${result.message}`)] : [];
    });
  });
}
