import type { LoggedEvent } from '../../../events/journal/event-log.ts';
import type { FileEventLog } from '../../../events/journal/file-event-log.ts';
import { comparePositions, type LogPosition } from '../../../events/journal/position.ts';
import type { Clock } from '../../../lib/clock.ts';
import { ServiceError } from '../../../lib/errors.ts';
import type { Log } from '../../../lib/log.ts';
import type { RedisLink } from '../../../lib/redis/redis-link.ts';
import { Checkpoints } from './checkpoints.ts';
import { parseStreamId } from './reader.ts';
import { type KnownStream, type StreamKeys, StreamWriter } from './stream.ts';

/** Interval in milliseconds between saves of the checkpoints. */
const saveEveryMs = 1000;

/** Pause in milliseconds after a failure, before the next attempt. */
const retryMs = 500;

/** Maximum size of the events in one script call, in bytes. */
const maxBytes = 1_000_000;

export interface ForwarderOptions {
  link: Pick<RedisLink, 'call' | 'run' | 'isReady' | 'marker' | 'doubt' | 'onRecover'>;
  local: FileEventLog;
  node: string;
  /** File of the checkpoints, which record how far events were forwarded. */
  path: string;
  keys: StreamKeys;
  clock: Clock;
  log: Log;
  /** Called with the last position added to the stream. */
  onForwarded: (last: LogPosition) => void;
  /** Called when the stream has lost events, before they are forwarded again. */
  onEmptied: () => Promise<void>;
}

/**
 * Forwards the events in this node's journal files, in order, to the stream in Redis that all nodes share. Forwards them again when Redis
 * has lost them.
 */
export class EventForwarder {
  readonly #options: ForwarderOptions;
  readonly #stream: StreamWriter;
  readonly #checkpoints: Checkpoints;
  readonly #waiting = new Map<string, (position: LogPosition | undefined) => void>();
  readonly #ending = new AbortController();
  readonly #flushing = new Set<() => void>();
  #cursor: LogPosition;
  /** The stream as it was last read or written; undefined until it has been checked. */
  #known: KnownStream | undefined;
  #savedMs = Number.NEGATIVE_INFINITY;
  #mustCheck = true;
  #isChecking = false;
  /** UUIDs of events that the stream already has. When they are read again from the files, they are skipped. */
  #present = new Set<string>();
  #sentTo: LogPosition;
  /**
   * Events before this position are being read again from the files. Until that is done, `#cursor` is behind the last event of the stream,
   * so no checkpoint is added.
   */
  #againTo: LogPosition | undefined;
  /** Aborted to end the wait for more events. */
  #idle = new AbortController();
  #wasEmptied = false;
  #forwardedEvents = 0;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#checkpoints = Checkpoints.open(options.path, options.local.end);
    this.#stream = new StreamWriter(options.link, options.keys, options.node);
    this.#cursor = this.#checkpoints.recent(options.clock.monotonicMs()).position;
    this.#sentTo = options.local.end;
    options.link.onRecover(async () => {
      this.#mustCheck = true;
      this.#idle.abort();
    });
  }

  /** Saves the start position before any event is sent, so that a later process starts there, too. */
  async start(): Promise<void> {
    await this.#save();
    this.#running = this.#run();
  }

  /** The position up to which the stream certainly has all events of the files. */
  get position(): LogPosition {
    const isCertain = !this.#mustCheck && !this.#isChecking;
    return isCertain ? this.#cursor : this.#checkpoints.recent(this.#options.clock.monotonicMs()).position;
  }

  get neededFrom(): LogPosition {
    return this.#checkpoints.neededFrom;
  }

  get forwardedEvents(): number {
    return this.#forwardedEvents;
  }

  get wasEmptied(): boolean {
    return this.#wasEmptied;
  }

  /** Resolves with the position of an event in the stream, or with undefined if Redis is unreachable. */
  waitFor(uuid: string): Promise<LogPosition | undefined> {
    if (!this.#options.link.isReady) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#waiting.set(uuid, resolve));
  }

  giveUp(uuid: string): void {
    this.#waiting.get(uuid)?.(undefined);
    this.#waiting.delete(uuid);
  }

  /** Resolves when the stream has all events that were written before the call, or when Redis is unreachable. */
  async flush(): Promise<void> {
    const { local, link } = this.#options;
    const { end } = local;
    while (link.isReady && !this.#ending.signal.aborted && comparePositions(this.#cursor, end) < 0)
      await new Promise<void>((resolve) => this.#flushing.add(resolve));
  }

  /**
   * Resolves when the stream has all events that were written before the call. There is no timeout.
   *
   * @throws ServiceError `unavailable` if the journal is closed
   */
  async untilForwarded(): Promise<void> {
    const { local, clock } = this.#options;
    const { end } = local;
    while (this.#mustCheck || this.#isChecking || comparePositions(this.#cursor, end) < 0) {
      await clock.sleep(retryMs / 5, this.#ending.signal).catch(() => {});
      if (this.#ending.signal.aborted) throw new ServiceError('unavailable', 'The journal of all nodes is closed.');
    }
  }

  noteDelivered(delivered: LogPosition): void {
    this.#checkpoints.forget(this.#options.clock.monotonicMs(), delivered);
    this.#idle.abort();
  }

  async close(): Promise<void> {
    await this.flush();
    this.#ending.abort();
    this.#settle();
    await this.#running;
    await this.#save();
  }

  async #run(): Promise<void> {
    const { local, link, clock, log } = this.#options;
    const reader = local.openReader((bad) => log.warn('a line of the journal was skipped', { ...bad }));
    const { signal } = this.#ending;
    while (!signal.aborted) {
      try {
        if (!link.isReady) {
          this.#settle();
          await clock.sleep(retryMs / 5, signal);
          continue;
        }
        if (this.#mustCheck) await this.#checkStream().finally(() => (this.#isChecking = false));
        const { events, next } = await reader.next(this.#cursor);
        this.#sentTo = later(this.#sentTo, next);
        await this.#add(events);
        this.#advance(next);
        if (clock.monotonicMs() - this.#savedMs >= saveEveryMs) await this.#save();
        for (const wake of this.#flushing) wake();
        this.#flushing.clear();
        if (events.length === 0) await this.#waitForMore();
      } catch (error) {
        if (signal.aborted) break;
        this.#mustCheck = true;
        this.#settle();
        log.warn('events could not be forwarded to Redis; they stay on disk and are forwarded later', { reason: error });
        await clock.sleep(retryMs, signal).catch(() => {});
      }
    }
    reader.close();
  }

  async #waitForMore(): Promise<void> {
    const { signal } = this.#ending;
    this.#idle = new AbortController();
    if (this.#mustCheck) return;
    await this.#options.local.waitForMore(this.#cursor, AbortSignal.any([signal, this.#idle.signal])).catch(() => {});
  }

  async #add(events: readonly LoggedEvent[]): Promise<void> {
    const missing = events.filter(({ event }) => !this.#present.delete(event.uuid));
    for (let begin = 0; begin < missing.length; ) {
      let bytes = 0;
      let end = begin;
      while (end < missing.length && (end === begin || bytes + (missing[end] as LoggedEvent).raw.length <= maxBytes))
        bytes += (missing[end++] as LoggedEvent).raw.length;
      await this.#addBlock(missing.slice(begin, end));
      begin = end;
    }
  }

  async #addBlock(events: readonly LoggedEvent[]): Promise<void> {
    const { link, onForwarded } = this.#options;
    const known = this.#known as KnownStream;
    const ids = await this.#stream.add(events, known);
    if (!ids) {
      // The error causes a check of the stream, and the lost events are then forwarded first. So each node's events stay in order.
      link.doubt('its journal was replaced');
      throw new Error('the journal in Redis was replaced');
    }
    this.#forwardedEvents += ids.length;
    const lastId = ids.at(-1) as string;
    this.#known = { ...known, lastId };
    for (const [index, { event }] of events.entries()) {
      this.#waiting.get(event.uuid)?.(parseStreamId(ids[index] as string));
      this.#waiting.delete(event.uuid);
    }
    onForwarded(parseStreamId(lastId));
  }

  #advance(position: LogPosition): void {
    const isFurther = comparePositions(position, this.#cursor) > 0;
    this.#cursor = position;
    const isAgain = this.#againTo !== undefined;
    if (this.#againTo && comparePositions(position, this.#againTo) < 0) return;
    this.#againTo = undefined;
    this.#present.clear();
    if (isFurther || isAgain)
      this.#checkpoints.add({ position, id: (this.#known as KnownStream).lastId, atMs: this.#options.clock.monotonicMs() });
  }

  /**
   * Returns to the last position up to which the stream is known to be complete, and finds out which later events the stream has. This is
   * necessary because a connection may have failed during a command, and Redis may have lost the data of its last second, or all data.
   */
  async #checkStream(): Promise<void> {
    const { link, clock, log } = this.#options;
    const marker = link.marker;
    if (marker === undefined) throw new Error('Redis is unreachable');
    this.#mustCheck = false;
    this.#isChecking = true;
    if (await this.#isWhole(marker)) {
      if (this.#checkpoints.marker !== marker) this.#checkpoints.belongTo(marker, await this.#stream.lastId());
    } else {
      await this.#options.onEmptied();
      this.#wasEmptied = true;
      this.#checkpoints.restart(marker);
      log.warn('the journal in Redis was emptied; events that may not have been delivered are forwarded again', {
        from: this.#checkpoints.undelivered.position,
      });
    }
    await this.#save();
    const { position, id } = this.#checkpoints.recent(clock.monotonicMs());
    const { uuids, lastId } = await this.#stream.own(id);
    this.#present = uuids;
    this.#known = { marker, lastId: lastId ?? id };
    this.#cursor = position;
    this.#againTo = this.#sentTo;
  }

  async #isWhole(marker: string): Promise<boolean> {
    const { id } = this.#checkpoints.recent(this.#options.clock.monotonicMs());
    const known = this.#checkpoints.marker;
    return known === undefined ? this.#stream.has(id) : known === marker && this.#stream.isWhole({ marker, lastId: id });
  }

  #settle(): void {
    for (const resolve of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
    for (const wake of this.#flushing) wake();
    this.#flushing.clear();
  }

  async #save(): Promise<void> {
    const { clock, log } = this.#options;
    this.#savedMs = clock.monotonicMs();
    await this.#checkpoints
      .save(this.#savedMs)
      .catch((error) => log.warn('the progress of forwarding could not be saved', { reason: error }));
  }
}

function later(a: LogPosition, b: LogPosition): LogPosition {
  return comparePositions(a, b) < 0 ? b : a;
}
