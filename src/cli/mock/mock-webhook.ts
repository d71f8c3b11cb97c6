import { createHmac, timingSafeEqual } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import * as z from 'zod';
import { eventProblem } from '../../events/journal/reader.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isHeaderName, isHeaderValue } from '../../lib/headers/header-fields.ts';
import { parseJson } from '../../lib/json.ts';
import { signingKey } from '../../webhooks/signing.ts';
import { writeNamedFile } from '../file-fault.ts';
import { complain, print, visible } from '../output.ts';
import { readBody, serveMock } from './mock-server.ts';

/** Options of `svc mock webhook`. */
export interface MockWebhookOptions {
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

/** One event, or a body that holds none, and its answer. */
export const receivedEvent = z.strictObject({
  status: z.int(),
  event: z.record(z.string(), z.unknown()).describe('An event, or a body that holds none.'),
});

interface Request {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: Buffer;
}

/** Largest request that is kept. */
const requestLimitBytes = 64 * 1024 * 1024;

/** Runs a webhook receiver until it is told to stop. */
export async function mockWebhook(options: MockWebhookOptions): Promise<number> {
  const extraHeaders = options.header.map(parseHeader);
  if (options.record !== undefined) writeNamedFile(`--record ${options.record}`, options.record, '', { flag: 'a' });
  let requests = 0;
  const server = createServer(async (incoming, response) => {
    const request = await readRequest(incoming).catch(() => undefined);
    // The client went away in the middle.
    if (!request) return;
    const status = statusOf(options, requests++, request);
    report(options, request, status);
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

function statusOf(options: MockWebhookOptions, index: number, request: Request): number {
  if (options.secret !== undefined && !isSigned(options.secret, request)) return 401;
  const success = options.status !== undefined && options.status < 300 ? options.status : 200;
  const failure = options.status !== undefined && options.status >= 300 ? options.status : options.retryAfter === undefined ? 500 : 503;
  if (options.failFirst !== undefined) return index < options.failFirst ? failure : success;
  if (options.status === undefined) return options.retryAfter === undefined ? success : failure;
  return options.status;
}

// Standard Webhooks, "Verifying webhook authenticity"; five minutes of tolerance.
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

async function readRequest(incoming: IncomingMessage): Promise<Request> {
  const body = await readBody(incoming, requestLimitBytes);
  return { method: incoming.method ?? '', url: incoming.url ?? '', headers: incoming.headers, body };
}

/** The events of a JSON body; undefined for every other body. */
function eventsOf(body: Buffer): Record<string, unknown>[] | undefined {
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

function report(options: MockWebhookOptions, request: Request, status: number): void {
  const events = eventsOf(request.body);
  const { method, url } = request;
  // Credentials of a receiver are secrets even in a mock: CI logs are kept.
  const kept = { method, url, content_type: request.headers['content-type'], body: request.body.toString('utf8') };
  // `svc validate --online` looks with OPTIONS whether somebody answers; a replay of the record must not meet that.
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
