import { journalEvents } from '../../events/journal/event-search.ts';
import type { RenderedPayload } from '../payload/create-payload.ts';
import { DeliveryHistory } from '../records/delivery-history.ts';
import type { DeliveryLog } from '../records/delivery-log.ts';
import type { Delivered, SentEvent, WebhookHandler } from '../webhook-handler.ts';
import { type BadLineReport, recordedRequests, withSecrets } from './recorded-requests.ts';
import type { ReplaySelection, SelectedEvent } from './selected-events.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

interface LaneOptions {
  /** Maximum number of concurrent requests. */
  concurrency: number;
  /** The lane ends after this number of failed requests in a row; 0 for never. */
  stopAfterFailures: number;
  signal: AbortSignal;
  /** Returns the log for records of deliveries; undefined if the handler is not configured. */
  record: (() => Pick<DeliveryLog, 'append'>) | undefined;
  onDelivered: (handler: WebhookHandler, delivered: Delivered) => void;
  /** If set, it gets each request instead of the receiver. */
  preview: ((handler: WebhookHandler, events: readonly SentEvent[], rendered: RenderedPayload) => void) | undefined;
}

/** Sends events to one handler in batches. */
export class ReplayLane {
  readonly handler: WebhookHandler;
  readonly #options: LaneOptions;
  readonly #underWay = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  #batch: SentEvent[] = [];
  #fault: unknown;
  #failedInRow = 0;
  /** Number of requests that were not sent, or not answered, because the lane had ended. */
  notSent = 0;

  constructor(handler: WebhookHandler, options: LaneOptions) {
    this.handler = handler;
    this.#options = options;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  /** Whether the lane ended because of failures. */
  get isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Adds an event. Resolves when the next event may be added. */
  async add(sent: SentEvent): Promise<void> {
    this.#batch.push(sent);
    if (this.#batch.length >= this.handler.batchSize) await this.#flush();
  }

  /** Resolves when all events are sent. @throws the first error that was not caused by a receiver */
  async finish(): Promise<void> {
    if (this.#batch.length > 0) await this.#flush();
    await Promise.all(this.#underWay);
    this.handler.close();
    if (this.#fault !== undefined) throw this.#fault;
  }

  async #flush(): Promise<void> {
    const events = this.#batch;
    this.#batch = [];
    if (this.#signal.aborted) this.notSent++;
    else await this.send(events, this.handler.render(events));
  }

  /** Sends events in one request. Resolves when the request has begun. */
  async send(events: readonly SentEvent[], rendered: RenderedPayload): Promise<void> {
    if (this.#options.preview) {
      this.#options.preview(this.handler, events, rendered);
      return;
    }
    while (this.#underWay.size >= this.#options.concurrency) await Promise.race(this.#underWay);
    if (this.#signal.aborted) this.notSent++;
    if (this.#fault !== undefined || this.#signal.aborted) return;
    const request = this.#deliver(events, rendered)
      .catch((error) => {
        if (this.#signal.aborted) this.notSent++;
        else this.#fault ??= error;
      })
      .finally(() => this.#underWay.delete(request));
    this.#underWay.add(request);
  }

  async #deliver(events: readonly SentEvent[], rendered: RenderedPayload): Promise<void> {
    const { stopAfterFailures, record, onDelivered } = this.#options;
    const signal = this.#signal;
    const delivered = await this.handler.deliver(events, { abort: signal, noRetry: signal }, rendered);
    record?.().append(this.handler.record(delivered, { source: 'replay' }));
    this.#failedInRow = delivered.result.outcome === 'delivered' ? 0 : this.#failedInRow + 1;
    if (stopAfterFailures > 0 && this.#failedInRow >= stopAfterFailures) this.#stop.abort();
    onDelivered(this.handler, delivered);
  }
}

/** Sends selected events to their handlers. @returns the number of events */
export async function replayEvents(events: AsyncIterable<SelectedEvent>, lanes: readonly ReplayLane[]): Promise<number> {
  const byHandler = new Map(lanes.map((lane) => [lane.handler.uuid, lane]));
  let matched = 0;
  for await (const { sent, takers } of events) {
    matched++;
    for (const { uuid } of takers) await byHandler.get(uuid)?.add(sent);
  }
  return matched;
}

/** Sends recorded requests to their handlers again. @returns the number of events */
export async function replayRecorded(
  journal: ReplayedJournal,
  lanes: readonly ReplayLane[],
  options: ReplaySelection,
  bad: BadLineReport,
  signal: AbortSignal,
): Promise<number> {
  const history = await DeliveryHistory.read(journal.records, (reason) => bad.add('records', reason));
  const selected = new Set<string>();
  for await (const { event } of journalEvents(journal, options, (place, reason) => bad.add(place, reason))) selected.add(event.uuid);
  const byHandler = new Map(lanes.map((lane) => [lane.handler.uuid, lane]));
  let matched = 0;
  const requests = recordedRequests(journal, (handler, uuid) => byHandler.has(handler) && selected.has(uuid), bad);
  for await (const { record, events, rendered } of requests) {
    if (signal.aborted) break;
    const lane = byHandler.get(record.handler) as ReplayLane;
    if (options.failed && events.every(({ event, position }) => history.isDelivered(record.handler, event.uuid, position))) continue;
    if (options.limit !== undefined && matched + events.length > options.limit && matched > 0) break;
    matched += events.length;
    const whole = withSecrets(rendered, lane.handler.render(events));
    if (whole) await lane.send(events, whole);
    else bad.missing(`${record.handler} ${events[0]?.event.uuid}`, 'the secrets of its body are not kept; send it without --exact');
  }
  return matched;
}
