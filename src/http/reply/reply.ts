import { type OutgoingHttpHeader, type OutgoingHttpHeaders, validateHeaderValue } from 'node:http';
import type { Writable } from 'node:stream';
import { requestIdHeader } from '../request/request-trace.ts';
import { isClientGone, isHttp2, type Outgoing, requestIdOf } from './outgoing.ts';

/** Header names in lower case, those of an upload's back-end as configured. A list becomes a line for each value; each character is sent as a byte. */
export type ReplyHeaders = Record<string, string | number | readonly string[] | undefined>;

/** A whole small reply as a value, of which `respond` makes the `Response`. */
export interface Reply {
  status: number;
  headers?: ReplyHeaders;
  body?: string | Buffer;
}

export function jsonReply(status: number, value: unknown, headers: ReplyHeaders = {}): Reply {
  return { status, headers: { 'content-type': 'application/json; charset=utf-8', ...headers }, body: JSON.stringify(value) };
}

/** Writes status and headers; the body is the caller's. @param base headers of every reply of the service; those of the reply win */
export function writeHead(outgoing: Outgoing, status: number, base: ReplyHeaders, headers: ReplyHeaders): void {
  const lines = headerLines(requestIdOf(outgoing), base, headers);
  // As a list Node.js writes them in one go; set one by one they cost twice as much.
  if (!isHttp2(outgoing)) outgoing.writeHead(status, lines);
  // On a stream that is gone it would throw.
  else if (!outgoing.destroyed) outgoing.respond(http2Head(status, lines));
}

/** Headers of connections of HTTP/1, which a stream of HTTP/2 must not have (RFC 9113 §8.2.2). */
const connectionHeaders = new Set(['connection', 'keep-alive', 'proxy-connection', 'te', 'transfer-encoding', 'upgrade']);

/** Header lines in Node.js's form for a stream, with validated values, as Node.js validates only those of HTTP/1. */
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

/** The header lines of a reply, names and values in turn. Those of `headers` win; values of `vary` add up. */
export function headerLines(requestId: string | undefined, base: ReplyHeaders, headers: ReplyHeaders): OutgoingHttpHeader[] {
  const lines: OutgoingHttpHeader[] = [];
  if (requestId !== undefined && !hasHeader(headers, requestIdHeader)) lines.push(requestIdHeader, requestId);
  for (const name in base) if (!hasHeader(headers, name)) addLines(lines, name, base[name]);
  for (const name in headers)
    addLines(lines, name, name === 'vary' && base.vary !== undefined ? `${base.vary}, ${headers.vary}` : headers[name]);
  return lines;
}

/** The headers of both; names compare without case, and those of `stronger` win. */
export function mergeHeaders(weaker: ReplyHeaders, stronger: ReplyHeaders): ReplyHeaders {
  const merged: ReplyHeaders = {};
  for (const name in weaker) if (!hasHeader(stronger, name.toLowerCase())) merged[name] = weaker[name];
  return Object.assign(merged, stronger);
}

/** @param name in lower case */
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
 * A text's UTF-8 with a character for each byte, to be sent as Latin-1: Node.js writes head and text in one encoding, and UTF-8 would encode the bytes of
 * headers such as `server-path` again.
 */
export function bytesAsText(text: string): string {
  return Buffer.from(text).toString('latin1');
}

/** Writes a whole reply. For HEAD the length is that of the body a GET would bring, and no body follows (RFC 9110 §9.3.2). */
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
