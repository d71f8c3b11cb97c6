import { createHmac, timingSafeEqual } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import * as z from 'zod';
import { eventProblem } from '../events/journal/reader.ts';
import { systemClock } from '../lib/clock.ts';
import { readingFault } from '../lib/disk/named-file.ts';
import { ServiceError } from '../lib/errors.ts';
import { isHeaderName, isHeaderValue } from '../lib/headers/header-fields.ts';
import { isObject, parseJson } from '../lib/json.ts';
import { listenFault } from '../lib/listen.ts';
import { signingKey } from '../webhooks/signing.ts';
import { exitCode } from './exit-codes.ts';
import { writeNamedFile } from './file-fault.ts';
import { complain, print, visible } from './output.ts';

interface MockWebhookOptions {
  port: number;
  status?: number;
  failFirst?: number;
  retryAfter?: number;
  body?: string;
  header: string[];
  record?: string;
  delay: number;
  secret?: string;
  json?: boolean;
}

/** A received event (or a body without events), and the status of the answer. */
export const receivedEvent = z.strictObject({
  status: z.int(),
  event: z.record(z.string(), z.unknown()).describe('An event, or a body without events.'),
});

type Request = { method: string; url: string; headers: IncomingMessage['headers']; body: Buffer };

/** Maximum number of bytes of a request that are read. The rest is ignored. */
const maxRequestBytes = 64 * 1024 * 1024;

/** Runs a webhook receiver until a signal ends it. */
export async function mockWebhook(options: MockWebhookOptions): Promise<number> {
  const extraHeaders = options.header.map(parseHeader);
  if (options.record !== undefined) writeNamedFile(`--record ${options.record}`, options.record, '', { flag: 'a' });
  let requests = 0;
  const server = createServer(async (incoming, response) => {
    const body = await readBody(incoming, maxRequestBytes).catch(() => undefined);
    // The client disconnected before it had sent the whole body.
    if (!body) return;
    const { method = '', url = '', headers: received } = incoming;
    const request = { method, url, headers: received, body };
    const status = chooseStatus(options, requests++, request);
    reportReceived(options, request, status);
    if (options.delay > 0) await systemClock.sleep(options.delay * 1000);
    const headers = [...extraHeaders];
    if (options.retryAfter !== undefined && (status < 200 || status > 299)) headers.push(['retry-after', String(options.retryAfter)]);
    response.writeHead(status, headers.flat());
    response.end(status === 204 || status === 304 ? undefined : (options.body ?? ''));
  });
  return serveMock(server, { name: 'mock webhook', port: options.port, path: '/', json: options.json ?? false });
}

function parseHeader(line: string): [string, string] {
  const colon = line.indexOf(':');
  const name = line.slice(0, Math.max(colon, 0)).trim();
  const value = line.slice(colon + 1).trim();
  if (!isHeaderName(name) || !isHeaderValue(value)) throw new ServiceError('bad-request', `--header takes "Name: value", not "${line}".`);
  return [name, value];
}

function chooseStatus(options: MockWebhookOptions, index: number, request: Request): number {
  if (options.secret !== undefined && !isSigned(options.secret, request)) return 401;
  const success = options.status !== undefined && options.status < 300 ? options.status : 200;
  const failure = options.status !== undefined && options.status >= 300 ? options.status : options.retryAfter === undefined ? 500 : 503;
  if (options.failFirst !== undefined) return index < options.failFirst ? failure : success;
  if (options.status === undefined) return options.retryAfter === undefined ? success : failure;
  return options.status;
}

// Verifies a signature (Standard Webhooks, "Verifying webhook authenticity") with a tolerance of five minutes.
function isSigned(secret: string, { headers, body }: Request): boolean {
  const id = String(headers['webhook-id'] ?? '');
  const timestamp = String(headers['webhook-timestamp'] ?? '');
  const isRecent = Math.abs(systemClock.nowMs() / 1000 - Number(timestamp)) < 300;
  const wanted = createHmac('sha256', signingKey(secret)).update(`${id}.${timestamp}.`).update(body).digest();
  const given = String(headers['webhook-signature'] ?? '').split(' ');
  return (
    isRecent &&
    given.some((signature) => {
      const bytes = signature.startsWith('v1,') ? Buffer.from(signature.slice(3), 'base64') : Buffer.alloc(0);
      return bytes.length === wanted.length && timingSafeEqual(bytes, wanted);
    })
  );
}

/** Returns the events of a JSON body; undefined for any other body. */
function parseEvents(body: Buffer): Record<string, unknown>[] | undefined {
  try {
    const value = parseJson(body.toString('utf8')) as { events?: unknown } | null;
    const events = value?.events;
    return Array.isArray(events) && events.every((event) => eventProblem(event) === undefined)
      ? (events as Record<string, unknown>[])
      : undefined;
  } catch {
    return undefined;
  }
}

function reportReceived(options: MockWebhookOptions, request: Request, status: number): void {
  const events = parseEvents(request.body);
  const { method, url } = request;
  // Headers are left out, because they may contain credentials for the receiver, and CI logs are kept.
  const kept = { method, url, content_type: request.headers['content-type'], body: request.body.toString('utf8') };
  // `svc validate --online` sends OPTIONS. The record is for replays, so it must not contain that request.
  if (options.record !== undefined && method !== 'OPTIONS')
    record(options.record, (events ?? [kept]).map((item) => `${JSON.stringify(item)}\n`).join(''));
  if (options.json) {
    for (const event of events ?? [kept]) print(JSON.stringify({ status, event } satisfies z.infer<typeof receivedEvent>));
    return;
  }
  const size = `${request.body.length} bytes`;
  print(`${method} ${visible(url)} ${events ? `${events.length} event${events.length === 1 ? '' : 's'}` : size} -> ${status}`);
  if (!events && request.body.length > 0) print(`  ${visible(request.body.toString('utf8', 0, 2000))}`);
  for (const { id, uuid, message } of events ?? []) print(`  ${id} ${uuid} ${visible(String(message))}`);
}

function record(path: string, text: string): void {
  try {
    appendFileSync(path, text);
  } catch (error) {
    complain(`svc: --record: ${(error as Error).message}`);
  }
}

interface MockAuthOptions {
  port: number;
  accept: string[];
  reject: string[];
  default: 'next' | 'reject';
  delay: number;
  status?: number;
  body?: string;
  fault?: keyof typeof brokenReplies;
  json?: boolean;
}

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

/** Maximum number of bytes of a request that are read. The rest is ignored. */
const maxCredentialBytes = 1024 * 1024;

/** Runs a scriptable authentication endpoint until a signal ends it. */
export async function mockAuth(options: MockAuthOptions): Promise<number> {
  const accepted = new Map(options.accept.map(parseAccept));
  const rejected = new Set(options.reject);
  const server = createServer(async (request, response) => {
    const body = await readBody(request, maxCredentialBytes).catch(() => undefined);
    // The client disconnected before it had sent the whole body.
    if (body === undefined) return;
    const credentials = parseCredentials(body);
    if (options.delay > 0) await systemClock.sleep(options.delay * 1000);
    if (options.fault) {
      reportAnswered(options, request, credentials, options.fault);
      brokenReplies[options.fault](response);
      return;
    }
    const reply = replyTo(options, accepted, rejected, credentials);
    reportAnswered(options, request, credentials, String(reply.status));
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

/**
 * Returns the body of the 200 reply. If the file has a member `account`, the body is the file itself. Otherwise the file becomes the member
 * `account` of the body.
 */
function readAccount(path: string): string {
  try {
    const value = parseJson(readFileSync(path, 'utf8')) as Record<string, unknown>;
    return JSON.stringify('account' in value ? value : { account: value });
  } catch (error) {
    throw new ServiceError('bad-request', `--accept: ${path}: ${readingFault(path, error)}`, { cause: error });
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

/** Broken replies, with which users can test how a service handles them. */
const brokenReplies = {
  drop: (response: ServerResponse) => response.socket?.destroy(),
  garbage: (response: ServerResponse) => response.socket?.end('this is not HTTP\r\n\r\n'),
  half: (response: ServerResponse) =>
    response.socket?.end('HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"account"'),
  redirect: (response: ServerResponse) => response.writeHead(302, { location: 'https://login.example.com/' }).end(),
  hang: () => {},
} as const;

function parseCredentials(body: Buffer): Record<string, unknown> {
  try {
    const value = parseJson(body.toString('utf8')) as { credentials?: Record<string, unknown> } | null;
    return value?.credentials ?? {};
  } catch {
    return {};
  }
}

// Even in a mock, the content of credentials is a secret, because CI logs are kept.
function reportAnswered(options: MockAuthOptions, request: IncomingMessage, credentials: Record<string, unknown>, answer: string): void {
  const { method = '', url = '' } = request;
  const line: z.infer<typeof answeredRequest> = { method, url, credentials: { ...credentials, content: '***' }, answer };
  if (options.json) print(JSON.stringify(line));
  else print(`${method} ${url} ${String(credentials.type)} ${JSON.stringify(credentials.username)} -> ${answer}`);
}

export const listeningLine = z.strictObject({ listening: z.string() });

interface MockServer {
  /** Name of the command for messages, such as `mock auth`. */
  name: string;
  /** Port; 0 for any free port. */
  port: number;
  path: string;
  json: boolean;
}

/** Reads at most `limitBytes` of the body of a request, and ignores the rest. @throws if the client disconnects */
export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += (chunk as Buffer).length;
    if (bytes <= limitBytes) chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

/**
 * Prints the URL when the server accepts connections, and serves until SIGINT or SIGTERM. Both signals end a mock with exit code 0.
 *
 * @throws ServiceError `unavailable` if it cannot listen
 */
async function serveMock(server: Server, { name, port, path, json }: MockServer): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      const reason = listenFault(error);
      reject(new ServiceError('unavailable', `${name} cannot listen on 127.0.0.1:${port}: ${reason}.`, { cause: error }));
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
  print(json ? JSON.stringify({ listening: url }) : `${name} listening on ${url}`);
  await new Promise<void>((resolve) => {
    process.once('SIGINT', resolve);
    process.once('SIGTERM', resolve);
  });
  server.closeAllConnections();
  server.close();
  return exitCode.done;
}

interface MockInspectionOptions {
  port: number;
  reply: number;
  delay: number;
  body?: string;
  record?: string;
  json?: boolean;
}

/** Maximum number of bytes of a file that are read. The rest is ignored. */
const maxFileBytes = 64 * 1024 * 1024;

/** Runs the endpoint of an inspection until a signal ends it. The endpoint answers 204 to the test that svc sends when it starts. */
export async function mockInspection(options: MockInspectionOptions): Promise<number> {
  const { record, reply, delay, body: answer } = options;
  if (record !== undefined) writeNamedFile(`--record ${record}`, record, '', { flag: 'a' });
  const server = createServer(async (incoming, response) => {
    const body = await readBody(incoming, maxFileBytes).catch(() => undefined);
    if (!body) return;
    const facts = parseFacts(incoming.headers.inspection, body);
    if (isObject(facts) && facts.test === true) return void response.writeHead(204).end();
    if (delay > 0) await systemClock.sleep(delay * 1000);
    const { path = '' } = (isObject(facts) && isObject(facts.file) ? facts.file : {}) as { path?: string };
    print(options.json ? JSON.stringify({ status: reply, request: facts ?? null }) : `${reply} ${visible(String(path))}`);
    if (record !== undefined) appendFileSync(record, `${JSON.stringify({ status: reply, size: body.length, request: facts ?? null })}\n`);
    const headers = answer === undefined ? {} : { 'content-type': 'application/json' };
    response.writeHead(reply, headers).end(reply === 204 ? undefined : (answer ?? ''));
  });
  return serveMock(server, { name: 'mock inspection', port: options.port, path: '/', json: options.json ?? false });
}

/** Returns the JSON about the file, from the header or the body; undefined if there is none. */
function parseFacts(field: string | string[] | undefined, body: Buffer): unknown {
  const text = typeof field === 'string' ? Buffer.from(field.replace(/^:|:$/g, ''), 'base64').toString() : body.toString('utf8');
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
