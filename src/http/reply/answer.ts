import { checkOrigin } from '../middleware/origin-check.ts';
import type { Exchange } from '../request/exchange.ts';
import { endUnreadBody } from '../request/unread-body.ts';
import { errorsReply } from './error-reply.ts';
import { faultReply, internalErrorText, noteInternalError } from './fault-reply.ts';
import { alreadySent, type Handled, sendReply } from './reply.ts';

/** What a URL does. */
export type Action = (exchange: Exchange) => Promise<Handled> | Handled;

/** Runs an action and sends what comes of it, a fault included. Never rejects. */
export async function answer(exchange: Exchange, action: Action): Promise<void> {
  try {
    let handled: Handled;
    try {
      checkOrigin(exchange);
      handled = await action(exchange);
    } catch (error) {
      handled = faultReply(exchange, error);
      if (exchange.outgoing.headersSent) exchange.outgoing.destroy();
    }
    if (handled !== alreadySent) await send(exchange, handled);
  } catch (error) {
    failRequest(exchange, error);
  }
}

/** Answers with a fault. Never rejects. */
export function refuse(exchange: Exchange, error: unknown): Promise<void> {
  return answer(exchange, () => {
    throw error;
  });
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

async function send(exchange: Exchange, reply: Exclude<Handled, typeof alreadySent>): Promise<void> {
  const { outgoing, isHead, service } = exchange;
  // What is answered is in the journal.
  await service.events.grouped();
  endUnreadBody(exchange);
  sendReply(outgoing, isHead, exchange.baseHeaders, reply);
}
