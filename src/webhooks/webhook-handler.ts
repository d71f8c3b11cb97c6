import type { EventComponent, EventServer } from '../events/event.ts';
import { formatPosition, type LogPosition } from '../events/journal/position.ts';
import type { Clock } from '../lib/clock.ts';
import { readCaCertificates } from '../lib/disk/named-file.ts';
import { parseTraceparent } from '../lib/headers/trace-context.ts';
import type { UrlSuspensions } from '../lib/remote/url-health.ts';
import { Delivery, type DeliveryResult, type DeliverySignals, type Sender } from './delivery.ts';
import { Forwarding } from './forward/forwarding.ts';
import type { ForwardMeans } from './forward/means.ts';
import { HttpSender } from './http-sender.ts';
import type { EventHandlerOptions } from './options.ts';
import type { OutgoingEvent, Payload, RenderedPayload } from './payload/create-payload.ts';
import { createPayload } from './payload/create-payload.ts';
import type { DeliveryRecord } from './records/delivery-record.ts';
import type { RecordedBody } from './records/delivery-record-schema.ts';
import { messageId } from './signing.ts';
import { createSubscription, type Subscription } from './subscription.ts';

export interface SentEvent extends OutgoingEvent {
  position?: LogPosition;
}

export interface Delivered {
  events: readonly SentEvent[];
  rendered: RenderedPayload;
  result: DeliveryResult;
}

export interface HandlerDependencies {
  clock: Clock;
  health: UrlSuspensions;
  server: EventServer;
  forward: ForwardMeans;
}

/** An event handler with its subscription, payload and delivery (docs/spec/delivery.md). */
export class WebhookHandler {
  readonly uuid: string;
  readonly options: EventHandlerOptions;
  readonly component: EventComponent;
  readonly wants: Subscription;
  readonly batchSize: number;
  readonly #payload: Payload;
  readonly #delivery: Delivery;
  readonly #clock: Clock;
  readonly health: UrlSuspensions;
  #underWay = 0;
  #isClosing = false;

  /** @throws ServiceError `unavailable` if `ca_certificates_path` cannot be read */
  constructor(uuid: string, options: EventHandlerOptions, { clock, health, server, forward }: HandlerDependencies) {
    this.uuid = uuid;
    this.options = options;
    this.component = { uuid, type: options.type, name: options.name || uuid };
    this.wants = createSubscription(uuid, options);
    this.#payload = createPayload(options, server);
    this.batchSize = this.#payload.isSingle ? 1 : options.batch_size;
    this.#clock = clock;
    this.health = health;
    const caPem = readCaCertificates(options.ca_certificates_path, `The event handler "${uuid}": ca_certificates_path`);
    const sender: Sender =
      options.type === 'forward'
        ? new Forwarding(options, { component: this.component, means: forward, clock, caPem })
        : new HttpSender(options, { clock, caPem });
    this.#delivery = new Delivery(options, { clock, health, sender });
  }

  render(events: readonly OutgoingEvent[]): RenderedPayload {
    return this.#payload.render(events);
  }

  /**
   * Sends events in one request.
   *
   * @param rendered the request to send; by default, it is rendered with the current options
   * @throws DeliveryInterrupted if a signal ends the delivery before its outcome is certain
   */
  async deliver(events: readonly SentEvent[], signals: DeliverySignals = {}, rendered = this.render(events)): Promise<Delivered> {
    const { body, contentType, query } = rendered;
    const id = messageId(events.map(({ event }) => event.uuid));
    this.#underWay++;
    try {
      const message = { id, body, contentType, query, traceparent: sharedTrace(events), events: events.map(({ event }) => event) };
      const result = await this.#delivery.send(message, signals);
      return { events, rendered, result };
    } finally {
      this.#underWay--;
      this.#closeWhenIdle();
    }
  }

  record({ events, rendered, result }: Delivered, where: Pick<DeliveryRecord, 'source' | 'resume'>): DeliveryRecord {
    return {
      time: new Date(this.#clock.nowMs()).toISOString(),
      handler: this.uuid,
      outcome: result.outcome,
      events: events.map(({ event: { id, uuid }, position }) => ({ id, uuid, ...(position && { position: formatPosition(position) }) })),
      attempts: result.attempts,
      ...(result.outcome === 'delivered' ? {} : { details: result.details }),
      ...(result.fault && { fault: result.fault }),
      method: this.options.request_method.toUpperCase(),
      ...(rendered.contentType === undefined ? {} : { content_type: rendered.contentType }),
      ...(isKept(rendered.recorded) && { body: rendered.recorded }),
      ...(result.reply && { reply: result.reply }),
      ...(result.file && { file: result.file }),
      ...where,
    };
  }

  /** Closes the connections when no request is running. */
  close(): void {
    this.#isClosing = true;
    this.#closeWhenIdle();
  }

  #closeWhenIdle(): void {
    if (this.#isClosing && this.#underWay === 0) this.#delivery.close();
  }
}

/** Returns the trace of all events of a request; undefined if they belong to different traces, or to none. */
function sharedTrace(events: readonly SentEvent[]): string | undefined {
  const first = events[0]?.event.data.traceparent;
  const isShared = typeof first === 'string' && events.every(({ event }) => event.data.traceparent === first);
  return isShared ? parseTraceparent(first) : undefined;
}

/**
 * Maximum size of a recorded body in characters. A longer body is not recorded, so it can only be rendered again with the current
 * configuration.
 */
const keptBodyCharacters = 1024 * 1024;

function isKept(body: RecordedBody): boolean {
  const texts = 'text' in body ? [body.text] : 'before' in body ? [body.before, body.after] : body.query.flat();
  return texts.reduce((sum, text) => sum + text.length, 0) <= keptBodyCharacters;
}
