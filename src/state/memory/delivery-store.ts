import type { EventLog, LoggedEvent } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type {
  AwaitedDeliveries,
  AwaitedOutcome,
  DeliveryStore,
  HandlerOrder,
  KeptProgress,
  KnownHandler,
  Ownership,
} from '../../webhooks/engine/delivery-store.ts';
import { pausedBy } from '../../webhooks/engine/stop-reasons.ts';
import { DeliveryLog, readDeliveries, recordsSince } from '../../webhooks/records/delivery-log.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import type { WaitingRetry } from '../../webhooks/retries.ts';
import type { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import { type HandlerPositions, Pauses } from './handler-positions.ts';

/** Maximum number of outcomes that are kept in memory for each handler. The record of deliveries has all outcomes. */
const maxRemembered = 20_000;

/**
 * Knows, for one handler, the outcomes of the deliveries for which uploads wait. If an event was delivered while its upload waited,
 * background delivery skips the event.
 */
class UploadDeliveries implements AwaitedDeliveries {
  readonly #handlerUuid: string;
  readonly #folder: string;
  readonly #journalEnd: () => LogPosition;
  readonly #pending = new Map<string, { willBeMade: Promise<boolean>; resolve: (isMade: boolean) => void }>();
  readonly #settled = new Map<string, { isMade: boolean; position: LogPosition }>();
  /** Outcomes of events before this position are only in the record of deliveries. */
  #rememberedFrom: LogPosition;
  #recorded: Promise<Set<string>> | undefined;

  /**
   * @param journalEnd returns the current end of the journal. Events that are in the journal at the time of the construction belong to an
   *   earlier process
   */
  constructor(handlerUuid: string, folder: string, journalEnd: () => LogPosition) {
    this.#handlerUuid = handlerUuid;
    this.#folder = folder;
    this.#journalEnd = journalEnd;
    this.#rememberedFrom = journalEnd();
  }

  /**
   * Reports the outcome of a delivery. @param isMade whether the delivery was made and recorded. If not, the upload has stopped waiting,
   * and the handler makes the delivery in the background
   */
  settle(eventUuid: string, isMade: boolean, position = this.#journalEnd()): void {
    const pending = this.#pending.get(eventUuid);
    this.#pending.delete(eventUuid);
    this.#settled.set(eventUuid, { isMade, position });
    pending?.resolve(isMade);
    if (this.#settled.size <= maxRemembered) return;
    this.#settled.clear();
    this.#recorded = undefined;
    this.#rememberedFrom = this.#journalEnd();
  }

  async awaitOutcome({ event, position }: LoggedEvent): Promise<AwaitedOutcome> {
    const settled = this.#settled.get(event.uuid);
    if (settled) return { isMade: settled.isMade };
    const known = this.#pending.get(event.uuid);
    if (known) return known;
    if (comparePositions(position, this.#rememberedFrom) < 0) {
      this.#recorded ??= this.#readRecorded(Number(event.timestamp.timestamp) * 1000);
      return { isMade: (await this.#recorded).has(event.uuid) };
    }
    let resolve: (isMade: boolean) => void = () => {};
    const willBeMade = new Promise<boolean>((settle) => {
      resolve = settle;
    });
    const pending = { willBeMade, resolve };
    this.#pending.set(event.uuid, pending);
    return pending;
  }

  /**
   * Forgets the outcomes of events before a handler's position. A reload never moves the position back, so these outcomes are no longer
   * needed.
   */
  forgetBefore(position: LogPosition): void {
    for (const [uuid, settled] of this.#settled) if (comparePositions(settled.position, position) < 0) this.#settled.delete(uuid);
  }

  async #readRecorded(sinceMs: number): Promise<Set<string>> {
    const uuids = new Set<string>();
    const from = recordsSince(this.#folder, 'deliveries', sinceMs);
    for await (const { record } of readDeliveries(this.#folder, 'deliveries', from, () => {})) {
      if (record.handler !== this.#handlerUuid || record.source !== 'upload') continue;
      for (const { uuid } of record.events) uuids.add(uuid);
    }
    return uuids;
  }
}

export interface FileDeliveryOptions {
  journal: EventLog;
  /** The folder that contains the positions, pauses and records. */
  folder: string;
  maximumFileSizeBytes: number;
  retentionDays: number;
  clock: Clock;
  log: Log;
}

/** Stores the delivery state of a single process in files of its data folder. */
export class FileDeliveryStore implements DeliveryStore {
  readonly isShared = false;
  readonly #options: FileDeliveryOptions;
  readonly #deliveries: DeliveryLog;
  readonly #positions: HandlerPositions;
  readonly #pauses: Pauses;
  /** Requests to resume or start a handler. Requests to pause are in `#pauses`. */
  readonly #orders = new Map<string, HandlerOrder>();
  /** The position at which the handlers of the first configuration start. */
  readonly #begin: LogPosition;
  readonly #uploads = new Map<string, UploadDeliveries>();
  readonly #stopped = new Set<string>();
  /** Handlers that should run; undefined until the first `declare`. */
  #placed: ReadonlySet<string> | undefined;
  #known: ReadonlySet<string> = new Set();

  constructor(positions: HandlerPositions, options: FileDeliveryOptions) {
    const { journal, folder, log } = options;
    this.#options = options;
    this.#positions = positions;
    this.#pauses = new Pauses(folder, log);
    this.#begin = journal.end;
    this.#deliveries = DeliveryLog.open(options);
  }

  /** Returns the oldest position that any handler still has to read. Handlers that stopped without being paused are not counted. */
  neededFrom(): LogPosition | undefined {
    const waiting = [...(this.#placed ?? this.#positions.handlers())].filter((uuid) => !this.#stopped.has(uuid) || this.#pauses.get(uuid));
    return waiting.map((uuid) => this.#findPosition(uuid)).sort(comparePositions)[0];
  }

  async declare(handlers: readonly string[], known: readonly string[]): Promise<void> {
    const { journal } = this.#options;
    const begin = this.#placed ? journal.end : this.#begin;
    this.#placed = new Set(handlers);
    this.#known = new Set(known);
    for (const uuid of handlers) {
      if (!this.#positions.get(uuid)) this.#positions.set(uuid, begin);
      this.#findUploads(uuid);
    }
    for (const uuid of this.#uploads.keys()) if (!this.#known.has(uuid)) this.#uploads.delete(uuid);
    this.#positions.keepOnly(this.#known);
    await this.#pauses.keepOnly(this.#known);
    await this.beat();
  }

  async acquire({ uuid }: WebhookHandler): Promise<Ownership> {
    this.#stopped.delete(uuid);
    return {
      position: this.#findPosition(uuid),
      lost: new AbortController().signal,
      uploads: this.#findUploads(uuid),
      waiting: this.#positions.waiting(uuid),
      record: (record) => this.record(record),
      keep: async (progress) => {
        this.#keepProgress(uuid, progress);
        return undefined;
      },
      release: async ({ position, waiting }) => this.#move(uuid, position, waiting),
    };
  }

  order(handler: string): HandlerOrder | undefined {
    const pause = this.#pauses.get(handler);
    return pause ? { state: 'paused', reason: pausedBy(pause.by), atMs: Date.parse(pause.since) } : this.#orders.get(handler);
  }

  async refresh(): Promise<void> {}

  async give(handler: string, { state, reason }: Omit<HandlerOrder, 'atMs'>, by: string): Promise<void> {
    const atMs = Math.max(this.#options.clock.nowMs(), (this.order(handler)?.atMs ?? 0) + 1);
    if (state === 'paused') return this.#pauses.add(handler, { since: new Date(atMs).toISOString(), by });
    await this.#pauses.remove(handler);
    this.#orders.set(handler, { state, reason, atMs });
  }

  async states(handlers: readonly string[]): Promise<Map<string, KnownHandler>> {
    const state = (uuid: string) => ({ position: this.#findPosition(uuid), deliveriesPerMinute: 0, isOwned: true });
    return new Map(handlers.map((uuid) => [uuid, state(uuid)]));
  }

  record(record: DeliveryRecord): void {
    this.#deliveries.append(record);
  }

  settle(handler: string, eventUuid: string, isMade: boolean, position?: LogPosition): void {
    this.#findUploads(handler).settle(eventUuid, isMade, position);
  }

  async beat(): Promise<void> {
    await this.#positions.save(this.#deliveries.end);
  }

  async leave(): Promise<void> {}

  async close(): Promise<void> {
    await this.beat();
    await this.#deliveries.close();
  }

  #keepProgress(uuid: string, { position, stopped, waiting }: KeptProgress): void {
    this.#move(uuid, position, waiting);
    this.#uploads.get(uuid)?.forgetBefore(position);
    if (stopped === undefined) this.#stopped.delete(uuid);
    else this.#stopped.add(uuid);
  }

  #move(uuid: string, position: LogPosition, waiting: readonly WaitingRetry[]): void {
    if (this.#known.has(uuid)) this.#positions.set(uuid, position, waiting);
  }

  #findUploads(uuid: string): UploadDeliveries {
    const { journal, folder } = this.#options;
    const uploads = this.#uploads.get(uuid) ?? new UploadDeliveries(uuid, folder, () => journal.end);
    this.#uploads.set(uuid, uploads);
    return uploads;
  }

  // After a power cut, the journal may end before the saved position.
  #findPosition(uuid: string): LogPosition {
    const { end } = this.#options.journal;
    const position = this.#positions.get(uuid) ?? end;
    return comparePositions(position, end) > 0 ? end : position;
  }
}
