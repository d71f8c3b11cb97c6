import { validateHeaderValue } from 'node:http';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Exchange } from '../request/exchange.ts';
import { endUnreadBody } from '../request/unread-body.ts';
import { errorsReply } from './error-reply.ts';
import { faultReply, internalErrorText, noteInternalError } from './fault-reply.ts';
import { isClientGone } from './outgoing.ts';
import { alreadySent, type Handled, headerLines, type Reply, sendReply } from './reply.ts';

/**
 * The response to a request, with the headers of every reply. What a `Response` cannot say exactly goes to the socket: the length of a body
 * that HEAD leaves out, and several lines of one header, which it joins into one. Never rejects.
 */
export async function respond(exchange: Exchange, handled: Handled): Promise<Response> {
  if (handled === alreadySent) return RESPONSE_ALREADY_SENT;
  const { outgoing, isHead, service } = exchange;
  try {
    // What is answered is in the journal.
    await service.events.grouped();
    endUnreadBody(exchange);
    if (outgoing.headersSent || isClientGone(outgoing)) return RESPONSE_ALREADY_SENT;
    const response = isHead ? undefined : responseOf(exchange, handled);
    if (response) return response;
    sendReply(outgoing, isHead, exchange.baseHeaders, handled);
  } catch (error) {
    failRequest(exchange, error);
  }
  return RESPONSE_ALREADY_SENT;
}

/** The response to whatever a handler threw. Never rejects. */
export async function respondToFault(exchange: Exchange, error: unknown): Promise<Response> {
  try {
    const reply = faultReply(exchange, error);
    if (exchange.outgoing.headersSent) exchange.outgoing.destroy();
    return await respond(exchange, reply);
  } catch (fault) {
    failRequest(exchange, fault);
    return RESPONSE_ALREADY_SENT;
  }
}

/**
 * Deals with a fault that no handler did, or that came up while a reply was made or sent: logged, counted and answered with 500, or the
 * connection is cut when a reply has begun. Never throws.
 */
export function failRequest(exchange: Exchange, error: unknown): void {
  const { outgoing, isHead, service, request } = exchange;
  const { reference } = noteInternalError(service, error, {
    requestId: request.id,
    context: () => exchange.eventContext(),
    data: { method: exchange.method },
  });
  try {
    if (outgoing.headersSent) throw error;
    for (const name of outgoing.getHeaderNames()) outgoing.removeHeader(name);
    endUnreadBody(exchange);
    sendReply(outgoing, isHead, exchange.baseHeaders, errorsReply(500, [{ message: internalErrorText(reference) }]));
  } catch {
    outgoing.destroy();
  }
}

/** @returns undefined where a header has several lines */
function responseOf(exchange: Exchange, reply: Reply): Response | undefined {
  const { status } = reply;
  const hasNoBody = status === 204 || status === 304;
  // As bytes: of a text the adapter would encode the bytes of a header such as `server-path` once more.
  const body = typeof reply.body === 'string' ? Buffer.from(reply.body) : reply.body;
  const replied = hasNoBody
    ? reply.headers
    : { ...reply.headers, 'content-length': reply.headers?.['content-length'] ?? body?.length ?? 0 };
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
