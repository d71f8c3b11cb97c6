import { setImmediate as nextTurn } from 'node:timers/promises';
import type { WantingHandler } from '../../console/api/schemas/deliveries.ts';
import type { HandlerView } from '../../console/api/schemas/overview.ts';
import type { EventLog } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { Clock } from '../../lib/clock.ts';
import { SharedRuns } from '../../lib/concurrency/shared-runs.ts';
import { isServiceError } from '../../lib/errors.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import { parseStopReason } from '../../webhooks/engine/stop-reasons.ts';
import type { EventHandlerOptions } from '../../webhooks/options.ts';
import type { DeliveryRecord, DeliveryRecords } from '../../webhooks/records/delivery-record.ts';
import { createSubscription, wantedEvents } from '../../webhooks/subscription.ts';
import type { ServerView } from '../monitor-sources.ts';
import type { Others } from '../nodes/installation.ts';

const nothingKnown = {
  state: 'stopped',
  ...shownReason(''),
  waiting_events: 0,
  more_may_wait: false,
  oldest_waiting_seconds: 0,
  rate_per_minute: 0,
  suspended_urls: [],
  is_failing: false,
  last_hour: [],
  last_error: '',
  last_fault: null,
  last_error_time: null,
} satisfies Partial<HandlerView>;

/** Lists the event handlers of an installation for consoles. */
export class HandlerViews {
  readonly #view: () => ServerView;
  readonly #clock: Clock;
  readonly #hour: HourOfDeliveries;
  #known = new Map<string, HandlerView>();
  #waiting = new Map<string, WaitingEvents>();

  /** @param view returns the current state of the server; called only after its core is open */
  constructor(view: () => ServerView, clock: Clock) {
    this.#view = view;
    this.#clock = clock;
    this.#hour = new HourOfDeliveries(() => this.#view().core.records, clock);
  }

  /**
   * Returns all handlers. While Redis is unreachable, it returns the last known views. In these, a handler is `stopped` unless it is
   * disabled or paused.
   *
   * @param readsHour whether to count the deliveries of the last hour; if false, the last counts are used
   */
  async list(others: Others, readsHour = true): Promise<HandlerView[]> {
    try {
      if (readsHour) await this.#hour.refresh();
      const views = await this.#read(others);
      this.#known = new Map(views.map((view) => [view.uuid, view]));
      return views;
    } catch (error) {
      if (!isServiceError(error, 'unavailable')) throw error;
      return this.#remembered(others.incomplete || error.message);
    }
  }

  /** Returns the handlers that want an event, and whether they have not come to it yet. @throws ServiceError `unavailable` */
  async wanting(position: LogPosition): Promise<WantingHandler[]> {
    const { config, core } = this.#view();
    const reader = core.journal.openReader(() => {});
    try {
      const [logged] = (await reader.next(position)).events;
      if (!logged) return [];
      const states = (await core.deliveries.figures()).flatMap((state) => {
        const options = config.event_handlers[state.handler];
        return options && createSubscription(state.handler, options)(logged.event, logged.group) ? [state] : [];
      });
      return states.map(({ handler, position: at }) => ({ handler, waits: comparePositions(at, position) <= 0 }));
    } finally {
      reader.close();
    }
  }

  #remembered(why: string): HandlerView[] {
    return Object.entries(this.#view().config.event_handlers).map(([uuid, { name, enabled, url }]) => {
      const known = this.#known.get(uuid) ?? nothingKnown;
      const common = { ...known, uuid, name: name || uuid, enabled, ...shownReason(''), node: '', urls: url.map(redactedUrl) };
      if (!enabled) return { ...common, state: 'disabled' };
      if (known.state === 'paused') return { ...common, ...shownReason(known.reason), state: 'paused' };
      return { ...common, ...shownReason(why), state: 'stopped' };
    });
  }

  async #read({ nodes, ownName }: Others): Promise<HandlerView[]> {
    const { config, core } = this.#view();
    const { deliveries, journal } = core;
    const nowMs = this.#clock.nowMs();
    const figures = new Map((await deliveries.figures()).map((state) => [state.handler, state]));
    const nodeName = (uuid = '') => nodes.find((node) => node.uuid === uuid)?.node ?? uuid;
    return Promise.all(
      Object.entries(config.event_handlers).map(async ([uuid, options]) => {
        const { name, enabled, url: urls } = options;
        const state = figures.get(uuid);
        const waiting = state && (await this.#waitingFor(uuid, options).after(state.position, journal));
        const suspended = state ? await deliveries.suspendedUrls(uuid) : [];
        return {
          uuid,
          name: name || uuid,
          enabled,
          state: state?.state ?? 'disabled',
          ...shownReason(state?.reason ?? ''),
          waiting_events: waiting?.events ?? 0,
          more_may_wait: waiting?.more ?? false,
          oldest_waiting_seconds: waiting?.oldestMs === undefined ? 0 : Math.max(nowMs - waiting.oldestMs, 0) / 1000,
          rate_per_minute: state?.deliveriesPerMinute ?? 0,
          suspended_urls: suspended.map(({ url, untilMs }) => ({ url: redactedUrl(url), until: new Date(untilMs).toISOString() })),
          urls: urls.map(redactedUrl),
          ...this.#hour.of(uuid),
          node: state?.hasLease === false ? nodeName(state.node) : ownName,
        };
      }),
    );
  }

  #waitingFor(uuid: string, options: EventHandlerOptions): WaitingEvents {
    const known = this.#waiting.get(uuid);
    if (known?.options === options) return known;
    const waiting = new WaitingEvents(uuid, options, this.#clock);
    this.#waiting.set(uuid, waiting);
    return waiting;
  }
}

/** Maximum number of events that are counted for a handler. */
const maxWaiting = 10_000;

/** After this time, in milliseconds, counting ends. The next count continues there. */
const countForMs = 50;

/**
 * Counts the events that wait for a handler: those at or after its position that pass its filter. They are kept, so that each count reads
 * only what was written since the last one.
 */
class WaitingEvents {
  readonly options: EventHandlerOptions;
  readonly #uuid: string;
  readonly #clock: Clock;
  readonly #counting = new SharedRuns<[LogPosition, EventLog]>((counted) => this.#count(...counted));
  #found: { position: LogPosition; atMs: number }[] = [];
  #from: LogPosition | undefined;
  #next: LogPosition | undefined;
  #more = false;

  constructor(uuid: string, options: EventHandlerOptions, clock: Clock) {
    this.#uuid = uuid;
    this.options = options;
    this.#clock = clock;
  }

  /** @returns their number, whether there may be more, and the time of the oldest. @throws ServiceError `unavailable` */
  async after(position: LogPosition, journal: EventLog): Promise<{ events: number; more: boolean; oldestMs: number | undefined }> {
    await this.#counting.run([position, journal]);
    return { events: Math.min(this.#found.length, maxWaiting), more: this.#more, oldestMs: this.#found[0]?.atMs };
  }

  async #count(from: LogPosition, journal: EventLog): Promise<void> {
    const isBehind = this.#from !== undefined && comparePositions(from, this.#from) < 0;
    this.#found = isBehind ? [] : this.#found.filter(({ position }) => comparePositions(position, from) >= 0);
    if (isBehind || !this.#next || comparePositions(this.#next, from) < 0) this.#next = from;
    this.#from = from;
    this.#more = true;
    const wants = createSubscription(this.#uuid, this.options);
    const reader = journal.openReader(() => {}, { id: wantedEvents(this.options).map(({ id }) => id), uuid: [] });
    const endMs = this.#clock.monotonicMs() + countForMs;
    try {
      while (this.#found.length < maxWaiting && this.#clock.monotonicMs() <= endMs) {
        const { events, next } = await reader.next(this.#next);
        this.#more = events.length > 0 || comparePositions(next, this.#next) > 0;
        if (!this.#more) return;
        for (const { event, group, position } of events)
          if (wants(event, group)) this.#found.push({ position, atMs: Number(event.timestamp.timestamp) * 1000 });
        this.#next = next;
        await nextTurn();
      }
    } finally {
      reader.close();
    }
  }
}

/** The hour is divided into parts. The length of a part and of the hour is in milliseconds; `parts` is the number of parts. */
const partMs = 300_000;
const parts = 12;
const hourMs = parts * partMs;

/**
 * Maximum age of the last reading, in milliseconds. If the last reading is older, the records are read backwards from their end, because a
 * busy service can have written very many records since then.
 */
const longestRestMs = 120_000;

const maxBytes = 16 * 1024 * 1024;

/** Number of successive failures after which a handler is shown as failing, even if it had a success within the hour. */
const failuresInRow = 3;

type Counts = HandlerView['last_hour'][number];

/** The results of one handler's deliveries in the last hour. */
type HourOfHandler = Pick<HandlerView, 'last_hour' | 'is_failing' | 'last_error' | 'last_fault' | 'last_error_time'>;

interface Handler {
  /** Counts by the number of the part. Parts are numbered since 1970. */
  parts: Map<number, Counts>;
  failuresInRow: number;
  lastError: string;
  lastFault: HandlerView['last_fault'];
  lastErrorTime: string | null;
}

/**
 * Counts the deliveries of the last hour by handler. It reads their records, which all nodes share. Deliveries started by hand are omitted.
 */
class HourOfDeliveries {
  readonly #records: () => DeliveryRecords;
  readonly #clock: Clock;
  readonly #reading = new SharedRuns(() => this.#read());
  #handlers = new Map<string, Handler>();
  /** Position at which the next reading begins, and position of the last record that `#readOn` read. */
  #from: LogPosition | undefined;
  #last: LogPosition | undefined;
  #readMs = Number.NEGATIVE_INFINITY;

  /** @param records returns the records; called only after they are open */
  constructor(records: () => DeliveryRecords, clock: Clock) {
    this.#records = records;
    this.#clock = clock;
  }

  /** Reads the new records. Concurrent callers share one reading. @throws ServiceError `unavailable` */
  refresh(): Promise<void> {
    return this.#reading.run();
  }

  of(handler: string): HourOfHandler {
    const now = Math.floor(this.#clock.nowMs() / partMs);
    const known = this.#handlers.get(handler);
    const last_hour = Array.from({ length: parts }, (_, index) => {
      const { delivered, failed } = known?.parts.get(now - parts + 1 + index) ?? { delivered: 0, failed: 0 };
      return { delivered, failed };
    });
    const delivered = last_hour.reduce((sum, part) => sum + part.delivered, 0);
    const failed = last_hour.reduce((sum, part) => sum + part.failed, 0);
    const inRow = known?.failuresInRow ?? 0;
    const is_failing = failed > 0 && inRow >= (delivered === 0 ? 1 : failuresInRow);
    const { lastError = '', lastFault = null, lastErrorTime = null } = known ?? {};
    return { last_hour, is_failing, last_error: lastError, last_fault: lastFault, last_error_time: lastErrorTime };
  }

  async #read(): Promise<void> {
    const nowMs = this.#clock.nowMs();
    if (!this.#from || this.#clock.monotonicMs() - this.#readMs > longestRestMs) await this.#readBack(nowMs - hourMs);
    else await this.#readOn(this.#from);
    this.#readMs = this.#clock.monotonicMs();
    const oldest = Math.floor(nowMs / partMs) - parts;
    for (const { parts: counted } of this.#handlers.values()) for (const part of counted.keys()) if (part <= oldest) counted.delete(part);
  }

  /** Reads the records of the hour from the end. If there are too many, it reads only the newest. */
  async #readBack(sinceMs: number): Promise<void> {
    const found: ShortRecord[] = [];
    let end: LogPosition | undefined;
    let bytes = 0;
    for await (const { position, record, readBytes } of this.#records().newestFirst('deliveries', {
      before: undefined,
      sinceMs,
      needles: [],
    })) {
      end ??= position;
      bytes += readBytes;
      if (record && Date.parse(record.time) < sinceMs) break;
      if (record) found.push(shortRecord(record));
      if (bytes > maxBytes) break;
    }
    this.#handlers = new Map();
    this.#from = end;
    this.#last = undefined;
    for (const record of found.reverse()) this.#count(record);
  }

  async #readOn(from: LogPosition): Promise<void> {
    for await (const { record, position } of this.#records().read('deliveries', from, () => {})) {
      // Except for the first time, reading starts with a record that was already read. That record is skipped.
      if (this.#last && comparePositions(position, this.#last) <= 0) continue;
      this.#from = position;
      this.#last = position;
      this.#count(record);
    }
  }

  #count({ handler: uuid, outcome, time, details, fault }: ShortRecord): void {
    const handler = this.#handlers.get(uuid) ?? { parts: new Map(), failuresInRow: 0, lastError: '', lastFault: null, lastErrorTime: null };
    this.#handlers.set(uuid, handler);
    const part = Math.floor(Date.parse(time) / partMs);
    const counts = handler.parts.get(part) ?? { delivered: 0, failed: 0 };
    handler.parts.set(part, counts);
    if (outcome === 'delivered') {
      counts.delivered++;
      handler.failuresInRow = 0;
      return;
    }
    counts.failed++;
    handler.failuresInRow++;
    handler.lastError = details ?? '';
    handler.lastFault = fault ?? null;
    handler.lastErrorTime = time;
  }
}

/** A record without its bodies, which would need too much memory. */
type ShortRecord = Pick<DeliveryRecord, 'handler' | 'outcome' | 'time' | 'details' | 'fault'>;

function shortRecord({ handler, outcome, time, details, fault }: DeliveryRecord): ShortRecord {
  return { handler, outcome, time, ...(details !== undefined && { details }), ...(fault && { fault }) };
}

function shownReason(reason: string): Pick<HandlerView, 'reason' | 'reason_code' | 'reason_value'> {
  const { code = '', value = '' } = parseStopReason(reason) ?? {};
  return { reason, reason_code: code, reason_value: value };
}
