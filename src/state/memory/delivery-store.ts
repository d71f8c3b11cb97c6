import type { EventLog } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { DeliveryStore, HandlerOrder, HandlerProgress, KnownHandler, Ownership } from '../../webhooks/engine/delivery-store.ts';
import { pausedBy } from '../../webhooks/engine/handler-status.ts';
import { DeliveryLog } from '../../webhooks/records/delivery-log.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import type { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import type { HandlerPositions } from './handler-positions.ts';
import { Pauses } from './pauses.ts';
import { UploadDeliveries } from './upload-deliveries.ts';

export interface FileDeliveryOptions {
  journal: EventLog;
  /** Folder of positions, pauses and records. */
  folder: string;
  maximumFileSizeBytes: number;
  retentionDays: number;
  clock: Clock;
  log: Log;
}

/** What the delivery engine of a process that is alone remembers, in files of its data folder. */
export class FileDeliveryStore implements DeliveryStore {
  readonly isShared = false;
  readonly #options: FileDeliveryOptions;
  readonly #deliveries: DeliveryLog;
  readonly #positions: HandlerPositions;
  readonly #pauses: Pauses;
  /** Orders of this process to go on. */
  readonly #orders = new Map<string, HandlerOrder>();
  /** Where handlers begin that come with the first configuration. */
  readonly #begin: LogPosition;
  readonly #uploads = new Map<string, UploadDeliveries>();
  readonly #stopped = new Set<string>();
  /** Handlers that are to run; undefined until they are named. */
  #placed: ReadonlySet<string> | undefined;
  #known: ReadonlySet<string> = new Set();

  /** @param positions as the process before left them */
  constructor(positions: HandlerPositions, options: FileDeliveryOptions) {
    const { journal, folder, log } = options;
    this.#options = options;
    this.#positions = positions;
    this.#pauses = new Pauses(folder, log);
    this.#begin = journal.end;
    this.#deliveries = DeliveryLog.open(options);
  }

  /** The oldest position that a handler still has to read, unless it stopped. */
  neededFrom(): LogPosition | undefined {
    const waiting = [...(this.#placed ?? this.#positions.handlers())].filter((uuid) => !this.#stopped.has(uuid) || this.#pauses.get(uuid));
    return waiting.map((uuid) => this.#positionOf(uuid)).sort(comparePositions)[0];
  }

  async declare(handlers: readonly string[], known: readonly string[]): Promise<void> {
    const { journal } = this.#options;
    const begin = this.#placed ? journal.end : this.#begin;
    this.#placed = new Set(handlers);
    this.#known = new Set(known);
    for (const uuid of handlers) {
      if (!this.#positions.get(uuid)) this.#positions.set(uuid, begin);
      this.#uploadsOf(uuid);
    }
    for (const uuid of this.#uploads.keys()) if (!this.#known.has(uuid)) this.#uploads.delete(uuid);
    this.#positions.keepOnly(this.#known);
    await this.#pauses.keepOnly(this.#known);
    await this.beat();
  }

  async acquire({ uuid }: WebhookHandler): Promise<Ownership> {
    this.#stopped.delete(uuid);
    return {
      position: this.#positionOf(uuid),
      lost: new AbortController().signal,
      uploads: this.#uploadsOf(uuid),
      record: (record) => this.record(record),
      keep: async (progress) => {
        this.#note(uuid, progress);
        return false;
      },
      release: async (position) => this.#move(uuid, position),
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
    const state = (uuid: string) => ({ position: this.#positionOf(uuid), deliveriesPerMinute: 0, isOwned: true });
    return new Map(handlers.map((uuid) => [uuid, state(uuid)]));
  }

  record(record: DeliveryRecord): void {
    this.#deliveries.append(record);
  }

  settle(handler: string, eventUuid: string, isMade: boolean, position?: LogPosition): void {
    this.#uploadsOf(handler).settle(eventUuid, isMade, position);
  }

  /** Never throws: what is lost is sent again. */
  async beat(): Promise<void> {
    await this.#positions.save(this.#deliveries.end);
  }

  async leave(): Promise<void> {}

  async close(): Promise<void> {
    await this.beat();
    await this.#deliveries.close();
  }

  #note(uuid: string, { position, stopped }: HandlerProgress): void {
    this.#move(uuid, position);
    this.#uploads.get(uuid)?.forgetBefore(position);
    if (stopped === undefined) this.#stopped.delete(uuid);
    else this.#stopped.add(uuid);
  }

  #move(uuid: string, position: LogPosition): void {
    if (this.#known.has(uuid)) this.#positions.set(uuid, position);
  }

  #uploadsOf(uuid: string): UploadDeliveries {
    const { journal, folder } = this.#options;
    const uploads = this.#uploads.get(uuid) ?? new UploadDeliveries(uuid, folder, () => journal.end);
    this.#uploads.set(uuid, uploads);
    return uploads;
  }

  // After a power cut the journal may end before a position that was saved.
  #positionOf(uuid: string): LogPosition {
    const { end } = this.#options.journal;
    const position = this.#positions.get(uuid) ?? end;
    return comparePositions(position, end) > 0 ? end : position;
  }
}
