import { type OutgoingHttpHeader, type OutgoingHttpHeaders, validateHeaderValue } from 'node:http';
import type { Writable } from 'node:stream';
import { requestIdHeader } from '../request/request-trace.ts';
import { findRequestId, isClientGone, isHttp2, type Outgoing } from './outgoing.ts';

/**
 * Header values by name. Names are in lower case, except for headers from an upload back-end, whose names have their configured spelling.
 * Each value of a list gets its own line. Each character is sent as one byte.
 */
export type ReplyHeaders = Record<string, string | number | readonly string[] | undefined>;

/** A small reply with its whole body, which `respond` sends. */
export interface Reply {
  status: number;
  headers?: ReplyHeaders;
  body?: string | Buffer;
}

export const uncached = { 'cache-control': 'no-store' };

export function jsonReply(status: number, value: unknown, headers: ReplyHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: JSON.stringify(value) };
}

/** Writes status and headers; the caller writes the body. @param base headers of every reply of the service; `headers` override them */
export function writeHead(outgoing: Outgoing, status: number, base: ReplyHeaders, headers: ReplyHeaders): void {
  const lines = headerLines(findRequestId(outgoing), base, headers);
  // Node.js writes a list of headers in one step; setting each header would take twice as long.
  if (!isHttp2(outgoing)) outgoing.writeHead(status, lines);
  // `respond` would throw if the stream is destroyed.
  else if (!outgoing.destroyed) outgoing.respond(http2Head(status, lines));
}

/** Connection headers of HTTP/1, which an HTTP/2 stream must not have (RFC 9113 §8.2.2). */
const connectionHeaders = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade']);

/** Converts header lines to the object that an HTTP/2 stream needs. Also validates the values, because Node.js does so only for HTTP/1. */
export function http2Head(status: number, lines: readonly OutgoingHttpHeader[]): OutgoingHttpHeaders {
  const head: OutgoingHttpHeaders = { ':status': status };
  for (let at = 0; at < lines.length; at += 2) {
    const name = String(lines[at]).toLowerCase();
    if (connectionHeaders.has(name)) continue;
    const value = String(lines[at + 1]);
    validateHeaderValue(name, value);
    const before = head[name];
    head[name] = before === undefined ? value : [before, value].flat().map(String);
  }
  return head;
}

/**
 * Returns the header lines of a reply, with names and values alternating. `headers` override `base`, except for `vary`, which gets both
 * values.
 */
export function headerLines(requestId: string | undefined, base: ReplyHeaders, headers: ReplyHeaders): OutgoingHttpHeader[] {
  const lines: OutgoingHttpHeader[] = [];
  if (requestId !== undefined && !hasHeader(headers, requestIdHeader)) lines.push(requestIdHeader, requestId);
  for (const name in base) if (!hasHeader(headers, name)) addLines(lines, name, base[name]);
  for (const name in headers)
    addLines(lines, name, name === 'vary' && base.vary !== undefined ? `${base.vary}, ${headers.vary}` : headers[name]);
  return lines;
}

/** Merges headers. The headers in `stronger` override headers of the same names in `weaker`. The case of names is ignored. */
export function mergeHeaders(weaker: ReplyHeaders, stronger: ReplyHeaders): ReplyHeaders {
  const merged: ReplyHeaders = {};
  for (const name in weaker) if (!hasHeader(stronger, name.toLowerCase())) merged[name] = weaker[name];
  return Object.assign(merged, stronger);
}

/** Returns whether a header is set, in any spelling. @param name in lower case */
function hasHeader(headers: ReplyHeaders, name: string): boolean {
  if (headers[name] !== undefined) return true;
  for (const other in headers)
    if (other.length === name.length && headers[other] !== undefined && other.toLowerCase() === name) return true;
  return false;
}

function addLines(lines: OutgoingHttpHeader[], name: string, value: ReplyHeaders[string]): void {
  if (typeof value === 'object') for (const one of value) lines.push(name, one);
  else if (value !== undefined) lines.push(name, value);
}

/**
 * Encodes a text as UTF-8 and returns one character per byte, to be sent as Latin-1. Node.js writes head and text in one encoding, so with
 * UTF-8 it would encode the bytes of headers such as `server-path` a second time.
 */
export function bytesAsText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Sends a whole reply. A reply to HEAD has the `content-length` of the reply to GET, but no body (RFC 9110 §9.3.2). */
export function sendReply(outgoing: Outgoing, isHead: boolean, base: ReplyHeaders, reply: Reply): void {
  if (outgoing.headersSent || isClientGone(outgoing)) return;
  const hasNoBody = reply.status === 204 || reply.status === 304;
  const headers = { ...reply.headers };
  const body = typeof reply.body === 'string' ? bytesAsText(reply.body) : reply.body;
  if (!hasNoBody) headers['content-length'] ??= body?.length ?? 0;
  writeHead(outgoing, reply.status, base, headers);
  if (isHead || hasNoBody || body === undefined) outgoing.end();
  else (outgoing as Writable).end(body, 'latin1');
}
