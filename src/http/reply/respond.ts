import { validateHeaderValue } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { reportInternalError } from '../../events/internal-error.ts';
import type { Exchange } from '../request/exchange.ts';
import { endUnreadBody } from '../request/request-body.ts';
import { errorsReply } from './error-reply.ts';
import { endedClient, isClientGone, isHttp2 } from './outgoing.ts';
import { headerLines, type Reply, type ReplyHeaders, sendReply, writeHead } from './reply.ts';

/** The message of an internal error. */
export function internalErrorText(reference: string): string {
  return `Internal error. Reference: ${reference}`;
}

/**
 * Logs and counts an error that occurred outside of handlers or during a reply. Answers 500, or cuts the connection if the reply has begun.
 * Never throws.
 */
export function failRequest(exchange: Exchange, error: unknown): void {
  const { outgoing, isHead, service, request, method } = exchange;
  if (endedClient(outgoing, error)) return;
  const { reference } = reportInternalError(service, error, {
    logged: { request_id: request.id, method },
    context: () => exchange.eventContext(),
    data: { status: 500, method },
  });
  try {
    if (outgoing.headersSent) throw error;
    if (!isHttp2(outgoing)) for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
    endUnreadBody(exchange);
    sendReply(outgoing, isHead, exchange.baseHeaders, errorsReply(500, [{ message: internalErrorText(reference) }]));
  } catch {
    outgoing.destroy();
  }
}

/**
 * Returns the response to a request, with the headers that every reply has. Replies that a `Response` cannot express are written directly
 * to the socket: replies to HEAD with the length of the omitted body, replies with several lines of one header, and all HTTP/2 replies,
 * which have no adapter. Never rejects.
 */
export async function respond(exchange: Exchange, reply: Reply): Promise<Response> {
  const { outgoing, isHead, service } = exchange;
  try {
    // Events must be in the journal before the reply.
    await service.events.grouped();
    if (outgoing.headersSent || isClientGone(outgoing)) return RESPONSE_ALREADY_SENT;
    endUnreadBody(exchange);
    const response = isHead || isHttp2(outgoing) ? undefined : nativeResponse(exchange, reply);
    if (response) return response;
    sendReply(outgoing, isHead, exchange.baseHeaders, reply);
  } catch (error) {
    failRequest(exchange, error);
  }
  return RESPONSE_ALREADY_SENT;
}

/**
 * Sends a large or generated body directly to the Node.js response, because a web stream costs more than the transfer itself
 * (docs/design/costs.md). HEAD gets only the headers.
 *
 * @param send writes the body, and ends the response
 * @throws the error of `send`. The connection is cut in this case, because the announced body is not complete (RFC 9112 §8)
 */
export async function stream(exchange: Exchange, status: number, headers: ReplyHeaders, send: () => Promise<void>): Promise<Response> {
  const { outgoing, isHead, service } = exchange;
  // Events must be in the journal before the reply.
  await service.events.grouped();
  writeHead(outgoing, status, exchange.baseHeaders, headers);
  if (isHead) {
    outgoing.end();
    return RESPONSE_ALREADY_SENT;
  }
  try {
    await send();
  } catch (error) {
    outgoing.destroy();
    throw error;
  }
  return RESPONSE_ALREADY_SENT;
}

/** Converts a reply to a `Response`. @returns undefined if a header has several lines, which a `Response` cannot express */
function nativeResponse(exchange: Exchange, reply: Reply): Response | undefined {
  const { status } = reply;
  const hasNoBody = status === 204 || status === 304;
  // The body is passed as bytes. If it were a text, the adapter would encode headers such as `server-path` a second time.
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  const replied = hasNoBody
    ? reply.headers
    : Object.assign({}, reply.headers, { 'content-length': reply.headers?.['content-length'] ?? body?.length ?? 0 });
  const headers: Record<string, string> = {};
  const lines = headerLines(exchange.request.id, exchange.baseHeaders, replied ?? {});
  for (let at = 0; at < lines.length; at += 2) {
    const name = lines[at] as string;
    if (Object.hasOwn(headers, name)) return undefined;
    const value = String(lines[at + 1]);
    validateHeaderValue(name, value);
    headers[name] = value;
  }
  return new Response(hasNoBody ? null : (body ?? null), { status, headers });
}
