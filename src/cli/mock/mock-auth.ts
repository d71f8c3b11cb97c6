import { readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import * as z from 'zod';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { parseJson } from '../../lib/json.ts';
import { fileFault } from '../file-fault.ts';
import { print } from '../output.ts';
import { readBody, serveMock } from './mock-server.ts';

/** Replies that are none, for testing what a service makes of them. */
export const mockFaults = ['drop', 'garbage', 'half', 'hang', 'redirect'] as const;

/** Options of `svc mock auth`. */
export interface MockAuthOptions {
  port: number;
  accept: string[];
  reject: string[];
  default: 'next' | 'reject';
  delay: number;
  status?: number;
  body?: string;
  fault?: (typeof mockFaults)[number];
  json?: boolean;
}

/** One request and its answer. */
export const answeredRequest = z.strictObject({
  method: z.string(),
  url: z.string(),
  credentials: z.record(z.string(), z.unknown()),
  answer: z.string(),
});

interface Reply {
  status: number;
  type: string;
  body: string;
}

/** Largest request that is read. */
const requestLimitBytes = 1024 * 1024;

/** Runs a scriptable authentication endpoint until it is told to stop. */
export async function mockAuth(options: MockAuthOptions): Promise<number> {
  const accepted = new Map(options.accept.map(parseAccept));
  const rejected = new Set(options.reject);
  const server = createServer(async (request, response) => {
    const body = await readBody(request, requestLimitBytes).catch(() => undefined);
    // The client went away in the middle.
    if (body === undefined) return;
    const credentials = credentialsOf(body);
    if (options.delay > 0) await systemClock.sleep(options.delay * 1000);
    if (options.fault) {
      report(options, request, credentials, options.fault);
      fail(options.fault, response);
      return;
    }
    const reply = replyTo(options, accepted, rejected, credentials);
    report(options, request, credentials, String(reply.status));
    response.writeHead(reply.status, reply.body === '' ? {} : { 'content-type': reply.type });
    response.end(reply.body);
  });
  return serveMock(server, { name: 'mock auth', port: options.port, path: '/auth', json: options.json ?? false });
}

function parseAccept(text: string): [string, { password: string; account: string }] {
  const colon = text.indexOf(':');
  if (colon <= 0) throw new ServiceError('bad-request', '--accept takes USER:PASSWORD or USER:PASSWORD=ACCOUNT.json.');
  const equals = text.lastIndexOf('=');
  const path = equals > colon && text.endsWith('.json') ? text.slice(equals + 1) : undefined;
  return [
    text.slice(0, colon),
    { password: text.slice(colon + 1, path === undefined ? undefined : equals), account: path === undefined ? '' : readAccount(path) },
  ];
}

/** The body of the 200 reply: the file's own `account`, or the file as the account. */
function readAccount(path: string): string {
  try {
    const value = parseJson(readFileSync(path, 'utf8')) as Record<string, unknown>;
    return JSON.stringify('account' in value ? value : { account: value });
  } catch (error) {
    throw new ServiceError('bad-request', `--accept: ${path}: ${fileFault('read', error)}`, { cause: error });
  }
}

function replyTo(
  options: MockAuthOptions,
  accepted: ReadonlyMap<string, { password: string; account: string }>,
  rejected: ReadonlySet<string>,
  credentials: Record<string, unknown>,
): Reply {
  const text = (status: number, body: string): Reply => ({ status, type: 'text/plain; charset=utf-8', body });
  if (options.status !== undefined)
    return {
      ...text(options.status, options.body ?? ''),
      type: options.body?.trimStart().startsWith('{') ? 'application/json' : 'text/plain; charset=utf-8',
    };
  const known = accepted.get(String(credentials.username));
  if (rejected.has(String(credentials.username))) return text(403, 'rejected');
  if (known && (credentials.type !== 'password' || credentials.content === known.password)) {
    return known.account === '' ? text(204, '') : { status: 200, type: 'application/json', body: known.account };
  }
  return options.default === 'reject' ? text(403, 'rejected') : text(401, 'unknown');
}

function fail(fault: (typeof mockFaults)[number], response: ServerResponse): void {
  const socket = response.socket;
  switch (fault) {
    case 'drop':
      socket?.destroy();
      return;
    case 'garbage':
      socket?.end('this is not HTTP\r\n\r\n');
      return;
    case 'half':
      socket?.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"account"');
      return;
    case 'redirect':
      response.writeHead(302, { location: 'https://login.example.com/' }).end();
      return;
    case 'hang':
      return;
    default:
      fault satisfies never;
  }
}

function credentialsOf(body: Buffer): Record<string, unknown> {
  try {
    const value = parseJson(body.toString('utf8')) as { credentials?: Record<string, unknown> } | null;
    return value?.credentials ?? {};
  } catch {
    return {};
  }
}

// The content is a secret even in a mock: CI logs are kept.
function report(options: MockAuthOptions, request: IncomingMessage, credentials: Record<string, unknown>, answer: string): void {
  const { method = '', url = '' } = request;
  const line: z.infer<typeof answeredRequest> = { method, url, credentials: { ...credentials, content: '***' }, answer };
  if (options.json) print(JSON.stringify(line));
  else print(`${method} ${url} ${String(credentials.type)} ${JSON.stringify(credentials.username)} -> ${answer}`);
}
