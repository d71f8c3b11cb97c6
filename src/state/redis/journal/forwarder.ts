import type { LoggedEvent } from '../../../events/journal/event-log.ts';
import type { FileEventLog } from '../../../events/journal/file-event-log.ts';
import { comparePositions, type LogPosition } from '../../../events/journal/position.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Log } from '../../../lib/log.ts';
import type { RedisLink } from '../../../lib/redis/redis-link.ts';
import { Checkpoints } from './checkpoints.ts';
import { positionOfId } from './reader.ts';
import { type KnownStream, type StreamKeys, StreamWriter } from './stream.ts';

/** How often what was forwarded is noted on disk. */
const saveEveryMs = 1000;

/** Pause after a failure that is not that of the connection. */
const retryMs = 500;

/** Most bytes of events in one script call. */
const maxBytes = 1_000_000;

export interface ForwarderOptions {
  link: Pick<RedisLink, 'call' | 'run' | 'isReady' | 'marker' | 'doubt' | 'onRecover'>;
  local: FileEventLog;
  node: string;
  /** File of the checkpoints. */
  path: string;
  keys: StreamKeys;
  clock: Clock;
  log: Log;
  /** Told of the last position of the stream that was added. */
  onForwarded: (last: LogPosition) => void;
  /** Told of a stream that lost what was forwarded, before it is forwarded again. */
  onEmptied: () => Promise<void>;
}

/** Brings the events of this node's files into the stream, in order, and again when Redis lost them. */
export class EventForwarder {
  readonly #options: ForwarderOptions;
  readonly #stream: StreamWriter;
  readonly #checkpoints: Checkpoints;
  readonly #waiting = new Map<string, (position: LogPosition | undefined) => void>();
  readonly #ending = new AbortController();
  readonly #flushing = new Set<() => void>();
  #cursor: LogPosition;
  /** The stream as it was found, or left by what was added; undefined until it was looked at. */
  #known: KnownStream | undefined;
  #savedMs = Number.NEGATIVE_INFINITY;
  #mustLook = true;
  #isLooking = false;
  /** Own events that the stream has already, of those that are gone through again. */
  #present = new Set<string>();
  /** Nothing behind it was ever sent. */
  #sentTo: LogPosition;
  /** What lies before it is gone through again: as long as that lasts, position and last ID do not belong together. */
  #againTo: LogPosition | undefined;
  /** Ends the wait for more events. */
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
      this.#mustLook = true;
      this.#idle.abort();
    });
  }

  /** Notes where it begins before anything is sent or taken in, so that a later process begins there, too. */
  async start(): Promise<void> {
    await this.#save();
    this.#running = this.#run();
  }

  /** Up to here the files are in the stream for certain. */
  get position(): LogPosition {
    const isCertain = !this.#mustLook && !this.#isLooking;
    return isCertain ? this.#cursor : this.#checkpoints.recent(this.#options.clock.monotonicMs()).position;
  }

  get neededFrom(): LogPosition {
    return this.#checkpoints.neededFrom;
  }

  /** How many events this process has brought into the stream. */
  get forwardedEvents(): number {
    return this.#forwardedEvents;
  }

  get wasEmptied(): boolean {
    return this.#wasEmptied;
  }

  /** Resolves with the position of an event once the stream has it; with undefined as soon as Redis is found away. */
  waitFor(uuid: string): Promise<LogPosition | undefined> {
    if (!this.#options.link.isReady) return Promise.resolve(undefined);
    return new Promise((resolve) => this.#waiting.set(uuid, resolve));
  }

  giveUp(uuid: string): void {
    this.#waiting.get(uuid)?.(undefined);
    this.#waiting.delete(uuid);
  }

  /** Resolves when what is written by now is in the stream, or Redis is found away. */
  async flush(): Promise<void> {
    const { local, link } = this.#options;
    const { end } = local;
    while (link.isReady && !this.#ending.signal.aborted && comparePositions(this.#cursor, end) < 0)
      await new Promise<void>((resolve) => this.#flushing.add(resolve));
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
        if (this.#mustLook) await this.#lookBack().finally(() => (this.#isLooking = false));
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
        this.#mustLook = true;
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
    if (this.#mustLook) return;
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
      // Nothing more is added before it is known what was lost, and that comes first: each node's events stay in order.
      link.doubt('its journal is not what it was');
      throw new Error('the journal in Redis is not what it was');
    }
    this.#forwardedEvents += ids.length;
    const lastId = ids.at(-1) as string;
    this.#known = { ...known, lastId };
    for (const [index, { event }] of events.entries()) {
      this.#waiting.get(event.uuid)?.(positionOfId(ids[index] as string));
      this.#waiting.delete(event.uuid);
    }
    onForwarded(positionOfId(lastId));
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
   * Goes back to where the stream is known to be whole, and finds out what it has from there on: after a connection broke in the
   * middle of a command, a Redis that lost its last second, or one that lost everything.
   */
  async #lookBack(): Promise<void> {
    const { link, clock, log } = this.#options;
    const marker = link.marker;
    if (marker === undefined) throw new Error('Redis is away');
    this.#mustLook = false;
    this.#isLooking = true;
    if (await this.#isWhole(marker)) {
      if (this.#checkpoints.marker !== marker) this.#checkpoints.belongTo(marker, await this.#stream.lastId());
    } else {
      await this.#options.onEmptied();
      this.#wasEmptied = true;
      this.#checkpoints.restart(marker);
      log.warn('the journal in Redis was emptied; what may not have been delivered is forwarded again', {
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
    await this.#checkpoints.save(this.#savedMs).catch((error) => log.warn('what was forwarded could not be noted', { reason: error }));
  }
}

function later(a: LogPosition, b: LogPosition): LogPosition {
  return comparePositions(a, b) < 0 ? b : a;
}
