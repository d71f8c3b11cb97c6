import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { type RedisLink, redisScript } from '../lib/redis-link.ts';
import type { LoggedEvent } from './event-log.ts';
import type { FileEventLog } from './event-log-file.ts';
import { comparePositions, type LogPosition } from './event-log-position.ts';
import { Checkpoints } from './event-log-redis-checkpoints.ts';
import { fieldOf, positionOfId, type StreamEntry } from './event-log-redis-reader.ts';

/**
 * KEYS stream, counter; ARGV node, then event, group and waiting handler of each. Adds all or none; entries are numbered in a row, so
 * that what lies between two of them is known without counting. Returns their IDs.
 */
const addScript = redisScript(`
local ids = {}
for index = 2, #ARGV, 3 do
  local fields = {'number', redis.call('INCR', KEYS[2]), 'node', ARGV[1], 'event', ARGV[index]}
  if ARGV[index + 1] ~= '' then table.insert(fields, 'group') table.insert(fields, ARGV[index + 1]) end
  if ARGV[index + 2] ~= '' then table.insert(fields, 'taken_by') table.insert(fields, ARGV[index + 2]) end
  table.insert(ids, redis.call('XADD', KEYS[1], '*', unpack(fields)))
end
return ids`);

/** How often what was forwarded is noted on disk. */
const noteEveryMs = 1000;

/** Pause after a failure that is not that of the connection. */
const retryMs = 500;

/** Entries read at once while looking for what the stream has already. */
const pageEntries = 1000;

/** How far back a new node looks for what it sent itself. */
const newNodeMs = 3_600_000;

/** Most bytes of events in one script call. */
const mostBytes = 1_000_000;

export interface ForwarderOptions {
  link: RedisLink;
  local: FileEventLog;
  node: string;
  /** File of the checkpoints. */
  path: string;
  stream: string;
  counter: string;
  clock: Clock;
  log: Log;
  /** Told of the last position of the stream that was added. */
  onForwarded: (last: LogPosition) => void;
}

/** The server that a node's name belongs to: each of its processes adds eight digits of its own. */
function serverOf(node: string): string {
  return node.replace(/\.[0-9a-f]{8}$/, '');
}

/** Brings the events of this node's files into the stream, in order, and again when Redis lost them. */
export class EventForwarder {
  readonly #options: ForwarderOptions;
  readonly #checkpoints: Checkpoints;
  readonly #waiting = new Map<string, (position: LogPosition | undefined) => void>();
  readonly #ending = new AbortController();
  readonly #flushing = new Set<() => void>();
  #cursor: LogPosition;
  #lastId: string;
  #notedMs = 0;
  #mustLook = true;
  /** Own events that the stream has already, of those that are gone through again. */
  #present = new Set<string>();
  /** Ends the wait for more events. */
  #idle = new AbortController();
  #wasEmptied = false;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ForwarderOptions) {
    this.#options = options;
    this.#checkpoints = Checkpoints.open(options.path, options.local.end);
    const { position, id } = this.#checkpoints.recent(options.clock.monotonicMs());
    this.#cursor = position;
    this.#lastId = id;
    options.link.onRecover(async () => {
      this.#mustLook = true;
      this.#idle.abort();
    });
  }

  start(): void {
    this.#running = this.#run();
  }

  /** Up to here the files are in the stream. */
  get position(): LogPosition {
    return this.#cursor;
  }

  get neededFrom(): LogPosition {
    return this.#checkpoints.oldest.position;
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
  }

  async close(): Promise<void> {
    await this.flush();
    this.#ending.abort();
    this.#settle();
    await this.#running;
    await this.#note(true);
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
        if (this.#mustLook) await this.#lookBack();
        const { events, next } = await reader.next(this.#cursor);
        await this.#add(events);
        this.#cursor = next;
        await this.#note(false);
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
      while (end < missing.length && (end === begin || bytes + (missing[end] as LoggedEvent).raw.length <= mostBytes))
        bytes += (missing[end++] as LoggedEvent).raw.length;
      await this.#addBlock(missing.slice(begin, end));
      begin = end;
    }
  }

  async #addBlock(events: readonly LoggedEvent[]): Promise<void> {
    const { link, stream, counter, node, onForwarded } = this.#options;
    const values = events.flatMap(({ raw, group, takenBy }) => [raw, group ?? '', takenBy ?? '']);
    const ids = (await link.run(addScript, [stream, counter], [node, ...values])) as string[];
    this.#lastId = ids.at(-1) as string;
    for (const [index, { event }] of events.entries()) {
      this.#waiting.get(event.uuid)?.(positionOfId(ids[index] as string));
      this.#waiting.delete(event.uuid);
    }
    onForwarded(positionOfId(this.#lastId));
  }

  /**
   * Goes back to where the stream is known to be whole, and finds out what it has from there on: after a connection broke in the
   * middle of a command, a Redis that lost its last second, or one that lost everything.
   */
  async #lookBack(): Promise<void> {
    const { link, stream, node, clock, log } = this.#options;
    this.#mustLook = false;
    const recent = this.#checkpoints.recent(clock.monotonicMs());
    const isWhole = recent.id === '0-0' || ((await link.call(['XRANGE', stream, recent.id, recent.id])) as unknown[]).length > 0;
    const from = isWhole ? recent : this.#checkpoints.oldest;
    this.#present = new Set();
    // Without a checkpoint the node is new, and whatever it sent was sent a moment ago.
    const recentId = recent.id === '0-0' ? String(Math.floor(clock.nowMs() - newNodeMs)) : recent.id;
    for (let start = isWhole ? recentId : '-'; ; ) {
      const entries = (await link.call(['XRANGE', stream, start, '+', 'COUNT', String(pageEntries)])) as StreamEntry[];
      for (const entry of entries) {
        if (serverOf(fieldOf(entry, 'node') ?? '') !== serverOf(node)) continue;
        const uuid = /"uuid":"([^"]+)"/.exec(fieldOf(entry, 'event') ?? '')?.[1];
        if (uuid !== undefined) this.#present.add(uuid);
      }
      const last = entries.at(-1);
      if (!last || entries.length < pageEntries) break;
      start = `(${last[0]}`;
    }
    if (!isWhole) {
      this.#wasEmptied = true;
      log.warn('the journal in Redis was emptied; what may not have been delivered is forwarded again', { from: from.position });
    }
    if (comparePositions(from.position, this.#cursor) < 0) this.#cursor = from.position;
  }

  #settle(): void {
    for (const resolve of this.#waiting.values()) resolve(undefined);
    this.#waiting.clear();
    for (const wake of this.#flushing) wake();
    this.#flushing.clear();
  }

  async #note(isLast: boolean): Promise<void> {
    const { clock, log } = this.#options;
    const nowMs = clock.monotonicMs();
    if (!isLast && nowMs - this.#notedMs < noteEveryMs) return;
    this.#notedMs = nowMs;
    this.#checkpoints.add({ position: this.#cursor, id: this.#lastId, atMs: nowMs });
    await this.#checkpoints.save(nowMs).catch((error) => log.warn('what was forwarded could not be noted', { reason: error }));
  }
}
