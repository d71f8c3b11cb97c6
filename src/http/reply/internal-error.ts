import { noteInternalError } from '../../events/internal-error.ts';
import type { Exchange } from '../request/exchange.ts';
import { endUnreadBody } from '../request/unread-body.ts';
import { errorsReply } from './error-reply.ts';
import { endedClient, isHttp2 } from './outgoing.ts';
import { sendReply } from './reply.ts';

/** What a client is told of an internal error. */
export function internalErrorText(reference: string): string {
  return `Internal error. Reference: ${reference}`;
}

/**
 * Deals with a fault that no handler did, or that came up while a reply was made or sent: logged, counted and answered with 500, or the
 * connection is cut when a reply has begun. Never throws.
 */
export function failRequest(exchange: Exchange, error: unknown): void {
  const { outgoing, isHead, service, request, method } = exchange;
  if (endedClient(outgoing, error)) return;
  const { reference } = noteInternalError(service, error, {
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
