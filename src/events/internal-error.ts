import { randomUUID } from 'node:crypto';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import type { EventDispatcher } from './dispatcher.ts';
import type { EventContext } from './event.ts';
import { eventIds } from './event-ids.ts';

/**
 * Logs an internal error, and emits event `internalError`. Never throws.
 *
 * @param details.logged fields of the log line
 * @param details.context returns the context of the event
 * @param details.data data of the event
 * @returns the reference that identifies the error in the log and in the event
 */
export function reportInternalError(
  { log, events }: { log: Log; events: Pick<EventDispatcher, 'emit'> },
  error: unknown,
  { logged, context, data }: { logged: Record<string, unknown>; context: () => EventContext; data: Record<string, unknown> },
): { reference: string } {
  const reference = randomUUID();
  const reason = isServiceError(error) ? (error.cause ?? error) : error;
  const stack = reason instanceof Error ? reason.stack : undefined;
  log.error('internal error', { reference, ...logged, reason, stack });
  try {
    events.emit({ id: eventIds.internalError, context: context(), data: { details: 'Internal error.', ...data, reference } });
  } catch (fault) {
    log.error('an internal error could not be journalled', { reference, reason: fault });
  }
  return { reference };
}

/**
 * Logs that a change took effect but may not survive a power cut, and emits event `internalError` with the fault. Never throws.
 *
 * @param data further members of the event's data
 * @returns the error for the client
 */
export function notDurable(
  dependencies: { log: Log; events: Pick<EventDispatcher, 'emit'> },
  fault: unknown,
  context: EventContext,
  data: Record<string, unknown> = {},
): ServiceError {
  const reason = fault instanceof Error ? fault.message : String(fault);
  const { reference } = reportInternalError(dependencies, fault, {
    logged: { request_id: context.request?.id },
    context: () => context,
    data: { ...data, details: `${doneOnly}: ${reason}` },
  });
  return new ServiceError('not-durable', `${doneOnly}. Reference: ${reference}`, { cause: fault });
}

const doneOnly = 'Done, but not safe on disk';
