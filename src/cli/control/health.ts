import * as z from 'zod';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { authority } from '../../lib/listen.ts';
import { RemoteEndpoint } from '../../lib/remote/remote-endpoint.ts';
import { exitCode } from '../exit-codes.ts';
import { print, visible } from '../output.ts';
import { roughConfig } from './service-folder.ts';

/** Options of `svc health`. */
export interface HealthOptions {
  config?: string;
  url?: string;
  timeout: number;
  json?: boolean;
}

export const healthReport = z.strictObject({
  url: z.string(),
  ready: z.boolean(),
  status: z.int(),
  checks: z.record(z.string(), z.string()).describe('State of each part: `ok`, or what is wrong.'),
});

const maxBytes = 64 * 1024;

/**
 * Asks a running service whether it is ready.
 *
 * @returns 0 if it is ready, 1 if it is not
 * @throws ServiceError `unavailable` if it does not answer (exit code 3)
 */
export async function health(options: HealthOptions): Promise<number> {
  const url = options.url === undefined ? await monitorUrl(options) : readyUrl(options.url);
  const { status, text } = await ask(url, options.timeout);
  const isReady = status === 200;
  const checks = parseChecks(text);
  const report: z.infer<typeof healthReport> = { url, ready: isReady, status, checks };
  if (options.json) print(JSON.stringify(report, null, 2));
  else if (isReady) print('ready');
  else print(['not ready', ...reasons(status, checks)].join(': '));
  return isReady ? exitCode.done : exitCode.no;
}

/** Checks the URL of `--url` and adds `/ready` if it has no path. */
function readyUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.username !== '' || url.password !== '')
    throw new ServiceError('bad-request', '--url takes an http or https URL without a user name.');
  if (url.pathname === '/') url.pathname = '/ready';
  return url.href;
}

async function monitorUrl(options: HealthOptions): Promise<string> {
  const { file, config } = await roughConfig(options);
  const monitors = Object.values(config.services).filter((service) => service.type === 'monitor');
  const monitor = monitors.find(({ enabled }) => enabled);
  if (!monitor) throw new ServiceError('bad-request', `${file} has no service of type monitor that is enabled; name a URL with --url.`);
  if (monitor.port === 0)
    throw new ServiceError(
      'bad-request',
      `The monitor of ${file} has port 0, so it takes any free port when it starts; name its URL with --url.`,
    );
  const anywhere: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '::1' };
  const address = anywhere[monitor.address] ?? monitor.address;
  return `http://${authority(address, monitor.port)}/ready`;
}

async function ask(url: string, timeoutS: number): Promise<{ status: number; text: string }> {
  const endpoint = new RemoteEndpoint({
    headers: [],
    username: '',
    password: '',
    timeoutMs: timeoutS * 1000,
    maximumReplyBytes: maxBytes,
    truncatesReply: true,
    clock: systemClock,
  });
  const result = await endpoint.request({ url, method: 'GET', headers: {} });
  endpoint.close();
  if (result.kind !== 'reply') throw new ServiceError('unavailable', `${url} does not answer: ${result.message}.`);
  return { status: result.status, text: result.body.toString('utf8') };
}

/** Reads the state of each part of the service from the reply. @returns an empty object if the reply is not from svc */
function parseChecks(text: string): Record<string, string> {
  try {
    const { checks } = JSON.parse(text) as { checks?: Record<string, unknown> };
    return Object.fromEntries(Object.entries(checks ?? {}).map(([name, state]) => [name, String(state)]));
  } catch {
    return {};
  }
}

function reasons(status: number, checks: Record<string, string>): string[] {
  const bad = Object.entries(checks).filter(([, state]) => state !== 'ok');
  return bad.length > 0 ? [bad.map(([name, state]) => visible(`${name} (${state})`)).join(', ')] : [`status ${status}`];
}
