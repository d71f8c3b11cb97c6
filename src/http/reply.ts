import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';

/** The Node response of either protocol version. */
export type Outgoing = ServerResponse | Http2ServerResponse;

/** Header names in lower case; a list becomes one header line for each value. */
export type ReplyHeaders = Record<string, string | number | readonly string[] | undefined>;

/**
 * A whole small reply as a value. Handlers return one, or throw; bodies that stream (files, archives, listings)
 * are written by their sender straight to the Node response, because a web stream between a file and a socket
 * costs more than the transfer itself (performance.md).
 */
export interface Reply {
  status: number;
  headers?: ReplyHeaders;
  body?: string | Buffer;
}

/** What a handler that wrote to the Node response itself returns. */
export const alreadySent = Symbol('already sent');

/** What a handler gives back: a reply, or the mark that it wrote one itself. */
export type Handled = Reply | typeof alreadySent;

export function jsonReply(status: number, value: unknown, headers: ReplyHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: JSON.stringify(value) };
}

/**
 * Writes status and headers; the body is the caller's.
 *
 * @param base headers of every reply of the service; those of the reply win
 */
export function writeHead(outgoing: Outgoing, status: number, base: ReplyHeaders, headers: ReplyHeaders): void {
  for (const name in base) setHeader(outgoing, name, base[name]);
  for (const name in headers) setHeader(outgoing, name, headers[name]);
  outgoing.statusCode = status;
}

function setHeader(outgoing: Outgoing, name: string, value: ReplyHeaders[string]): void {
  if (value !== undefined) outgoing.setHeader(name, typeof value === 'object' ? [...value] : value);
}

/** Writes a whole reply. For HEAD the length is that of the body a GET would bring, and no body follows (RFC 9110 §9.3.2). */
export function sendReply(outgoing: Outgoing, isHead: boolean, base: ReplyHeaders, reply: Reply): void {
  if (outgoing.headersSent || outgoing.destroyed) return;
  writeHead(outgoing, reply.status, base, reply.headers ?? {});
  const hasNoBody = reply.status === 204 || reply.status === 304;
  if (!hasNoBody && !outgoing.hasHeader('content-length')) outgoing.setHeader('content-length', Buffer.byteLength(reply.body ?? ''));
  if (isHead || hasNoBody || reply.body === undefined) outgoing.end();
  else outgoing.end(reply.body);
}
