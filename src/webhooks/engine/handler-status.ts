import type { EventDispatcher } from '../../events/dispatcher.ts';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Log } from '../../lib/log.ts';
import { suspensionMs } from '../../lib/remote/url-health.ts';
import { isDeliveryEvent } from '../subscription.ts';
import type { Delivered, WebhookHandler } from '../webhook-handler.ts';
import { failedInRow, stopReasons } from './stop-reasons.ts';

/** Maximum number of event UUIDs in one log line. The delivery record has the UUIDs of all events of the request. */
const maxUuidsInLog = 100;

/** Reports the outcomes of a handler's deliveries as events and in the log. Stops the handler after too many failures. */
export class HandlerStatus {
  readonly handler: WebhookHandler;
  readonly #events: EventDispatcher;
  readonly #log: Log;
  #failures = 0;
  #state: 'running' | 'stopped' | 'ended' = 'running';
  #reason: string | undefined;

  constructor(handler: WebhookHandler, { events, log }: { events: EventDispatcher; log: Log }) {
    this.handler = handler;
    this.#events = events;
    this.#log = log;
  }

  /** Reports that the handler delivers (`componentStarted`). @param reason reason of an operator's request, if it started the handler */
  began(reason?: string): void {
    this.#emitState(eventIds.componentStarted, { reason });
  }

  /** Reports that an operator paused the handler (`componentStopped`). */
  paused(reason: string): void {
    this.end();
    this.#log.info('an event handler was paused', { handler: this.handler.uuid, reason });
    this.#emitState(eventIds.componentStopped, { reason });
  }

  /** The state of the handler. It is `stopped` after too many failures (`fail_after_errors`) or an internal error. */
  get state(): 'running' | 'stopped' | 'ended' {
    return this.#state;
  }

  /** The reason why the handler stopped; undefined if it did not. */
  get stopped(): string | undefined {
    return this.#state === 'stopped' ? (this.#reason ?? '') : undefined;
  }

  /** Ends the handler, unless it has already stopped. */
  end(): void {
    if (this.#state === 'running') this.#state = 'ended';
  }

  /** Reports that an internal error stopped the handler (`componentStopped`). */
  broke(error: unknown): void {
    this.#state = 'stopped';
    this.#log.error('an internal error stopped an event handler', { handler: this.handler.uuid, reason: error });
    this.#stop(stopReasons.fault);
  }

  /** Counts failures towards `fail_after_errors`. At the limit, reports `componentStoppedByFailures` and `componentStopped`. */
  count({ result }: Delivered): void {
    if (result.outcome === 'delivered') this.#failures = 0;
    if (result.outcome !== 'failed') return;
    this.#failures++;
    const limit = this.handler.options.fail_after_errors;
    if (limit === 0 || this.#failures < limit || this.#state !== 'running') return;
    const { uuid, component } = this.handler;
    const reason = failedInRow(this.#failures);
    this.#state = 'stopped';
    this.#log.error('an event handler stopped; the console, a reload or a restart starts it again', { handler: uuid, reason });
    this.#emit(eventIds.componentStoppedByFailures, { name: component.name, type: component.type, uuid, failures: this.#failures });
    this.#stop(reason);
  }

  #stop(reason: string): void {
    this.#reason = reason;
    this.#emitState(eventIds.componentStopped, { reason });
  }

  /** Reports a delivery. Emits `eventDelivered` or `deliveryFailed` for each event, and `urlSuspended` for each suspended URL. */
  tell({ events, result }: Delivered): void {
    const { uuid, component } = this.handler;
    for (const { url, details } of result.suspended)
      this.#emit(eventIds.urlSuspended, { uuid, name: component.name, url, retry_interval: suspensionMs / 1000, details });
    const isDelivered = result.outcome === 'delivered';
    const url = result.attempts.at(-1)?.url;
    for (const { event } of events) {
      // The delivery of an event about a delivery causes no `eventDelivered`, because that event would cause the next one, without end. A
      // forwarded file causes none either, because it has the event `fileForwarded`. Both kinds of deliveries are in the delivery records.
      if (isDelivered && (isDeliveryEvent(event) || component.type === 'forward')) continue;
      const data = { event_id: event.id, event_uuid: event.uuid, uuid, name: component.name, url, details: result.details };
      this.#emit(isDelivered ? eventIds.eventDelivered : eventIds.deliveryFailed, { ...data, status: result.status });
    }
    if (!isDelivered)
      this.#log.warn('events were not delivered', {
        handler: uuid,
        outcome: result.outcome,
        events: events.length,
        event_ids: [...new Set(events.map(({ event }) => event.id))],
        event_uuids: events.slice(0, maxUuidsInLog).map(({ event }) => event.uuid),
        reason: result.details,
      });
  }

  #emitState(id: number, data: Record<string, unknown>): void {
    const { uuid, component } = this.handler;
    this.#emit(id, { uuid, family: 'event-handler', kind: component.type, name: component.name, type: component.type, ...data });
  }

  #emit(id: number, data: Record<string, unknown>): void {
    this.#events.emit({ id, context: { account: processAccount(), component: this.handler.component }, data });
  }
}
