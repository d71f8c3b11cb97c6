import { randomUUID } from 'node:crypto';
import type { EventContext } from '../../events/event.ts';
import { isServiceError } from '../../lib/errors.ts';
import type { Exchange, HttpService } from '../request/exchange.ts';
import { endUnreadBody } from '../request/unread-body.ts';
import { errorsReply } from './error-reply.ts';
import { sendReply } from './reply.ts';

/** Where an internal error was met. */
interface FaultPlace {
  requestId: string | undefined;
  context: () => EventContext;
  data: { method?: string; [name: string]: unknown };
}

/** Logs an internal error, and emits event 40003, which counts it. Never throws. @returns the reference that names it in log, event and reply */
export function noteInternalError(
  { log, events }: HttpService,
  error: unknown,
  { requestId, context, data }: FaultPlace,
): { reference: string } {
  const reference = randomUUID();
  const reason = isServiceError(error) ? (error.cause ?? error) : error;
  const stack = reason instanceof Error ? reason.stack : undefined;
  log.error('internal error', { reference, request_id: requestId, method: data.method, reason, stack });
  try {
    events.emit({ id: 40003, context: context(), data: { details: 'Internal error.', status: 500, ...data, reference } });
  } catch (fault) {
    log.error('an internal error could not be journalled', { reference, reason: fault });
  }
  return { reference };
}

/** What a client is told of an internal error. */
export function internalErrorText(reference: string): string {
  return `Internal error. Reference: ${reference}`;
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
