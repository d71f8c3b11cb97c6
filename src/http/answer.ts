import type { Exchange } from './exchange.ts';
import { faultReply } from './fault-reply.ts';
import { checkOrigin } from './origin-check.ts';
import { alreadySent, type Handled, sendReply } from './reply.ts';
import { endUnreadBody } from './unread-body.ts';

/** What a URL does. */
export type Action = (exchange: Exchange) => Promise<Handled> | Handled;

/** Runs an action and sends what comes of it, a fault included. Never throws. */
export async function answer(exchange: Exchange, action: Action): Promise<void> {
  const { outgoing, isHead, service } = exchange;
  let handled: Handled;
  try {
    checkOrigin(exchange);
    handled = await action(exchange);
  } catch (error) {
    handled = faultReply(exchange, error);
    if (outgoing.headersSent) outgoing.destroy();
  }
  if (handled === alreadySent) return;
  // What is answered is in the journal.
  await service.events.grouped();
  endUnreadBody(exchange);
  sendReply(outgoing, isHead, exchange.baseHeaders, handled);
}
