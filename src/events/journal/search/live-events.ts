import type { Clock } from '../../../lib/clock.ts';
import { FairQueue } from '../../../lib/concurrency/fair-queue.ts';
import { hasNeedles } from '../../../lib/disk/lines-backwards.ts';
import type { ServiceEvent } from '../../event.ts';
import type { EventLog, RawBlock, RawEvent } from '../event-log.ts';
import { Growth } from '../growth.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { parseEvent } from '../reader.ts';
import { type EventSelection, isSelected, selectsAll } from './event-selection.ts';
import { selectionNeedles } from './selection-keys.ts';

/** Limits beyond which the oldest block is dropped. */
const enoughEvents = 1024;
const maxBytes = 4 * 1024 * 1024;

/** An event that is parsed at most once. */
interface KeptEvent extends RawEvent {
  /** @param selection undefined for all events */
  isSelected(selection: LiveSelection | undefined): boolean;
}

function keepEvent(raw: RawEvent, isOwn: boolean): KeptEvent {
  let event: ServiceEvent | string | undefined;
  return {
    ...raw,
    isSelected(selection) {
      if (!selection && isOwn) return true;
      event ??= parseEvent(raw.raw);
      return typeof event !== 'string' && (!selection || isSelected(event, selection));
    },
  };
}

interface KeptBlock {
  block: RawBlock;
  first: number;
  /** Undefined until a follower needs them. */
  events: Promise<KeptEvent[]> | undefined;
}

/** Keeps the newest blocks of a journal, and numbers their events. Events are read only when needed. */
export class KeptEvents {
  #blocks: KeptBlock[] = [];
  #bytes = 0;
  #end = 0;

  /** Number of the oldest kept event; `end` if there is none. */
  get first(): number {
    return this.#blocks[0]?.first ?? this.#end;
  }

  /** Number of the next event. */
  get end(): number {
    return this.#end;
  }

  get begins(): LogPosition | undefined {
    return this.#blocks[0]?.block.position;
  }

  add(block: RawBlock): void {
    this.#blocks.push({ block, first: this.#end, events: undefined });
    this.#bytes += block.bytes;
    this.#end += block.count;
    for (let second = this.#blocks[1]; second; second = this.#blocks[1]) {
      if (this.#end - second.first < enoughEvents && this.#bytes <= maxBytes) break;
      this.#bytes -= this.#blocks.shift()?.block.bytes ?? 0;
    }
  }

  /** Drops all events. Their numbers are not used again. */
  clear(): void {
    this.#blocks = [];
    this.#bytes = 0;
  }

  /** Yields events from a number on. @throws ServiceError `unavailable` if the journal no longer has them */
  async *from(number: number): AsyncGenerator<KeptEvent[]> {
    const index = this.#blocks.findLastIndex(({ first }) => first <= number);
    for (const kept of this.#blocks.slice(index)) yield (await readKept(kept)).slice(Math.max(number - kept.first, 0));
  }

  /** Finds the number of the first event at or after a position. @throws ServiceError `unavailable` if the journal no longer has it */
  async findNumber(position: LogPosition): Promise<number> {
    const last = this.#blocks.at(-1);
    if (!last || comparePositions(last.block.next, position) <= 0) return this.#end;
    const isBehind = (place: { position: LogPosition }) => comparePositions(place.position, position) >= 0;
    const before = this.#blocks.findLast(({ block }) => !isBehind(block));
    if (!before) return this.first;
    const index = (await readKept(before)).findIndex(isBehind);
    return before.first + (index < 0 ? before.block.count : index);
  }
}

async function readKept(kept: KeptBlock): Promise<KeptEvent[]> {
  kept.events ??= kept.block.events().then((events) => events.map((event) => keepEvent(event, kept.block.isOwn)));
  try {
    return await kept.events;
  } catch (error) {
    // The next attempt may succeed.
    kept.events = undefined;
    throw error;
  }
}

/** Pauses of the reader at the end of the journal, and of a follower between batches, in milliseconds. */
const readEveryMs = 50;
const batchEveryMs = 250;

/** Maximum number of events in one batch. A follower gets at most a thousand per second. */
const maxAtOnce = 250;

/** Maximum number of blocks that a returning follower reads again. */
const maxBlocksBack = 64;
/** Maximum number of returning followers that read at once. */
const readersBack = 2;

/** The events since the previous batch. */
export interface LiveBatch {
  events: RawEvent[];
  /** Events that were left out before `events`. `skipped` includes those not selected; undefined if unknown. */
  lag: { from: LogPosition; to: LogPosition; skipped: number | undefined } | undefined;
  /** Position from which the follower can continue. */
  next: LogPosition;
}

/** Live events have no groups of accounts. */
type LiveSelection = Omit<EventSelection, 'userGroup'>;

type FollowedJournal = Pick<EventLog, 'end' | 'openReader' | 'openRawReader' | 'waitForMore'>;

/** The reader for all followers. */
interface Reading {
  stop: AbortController;
  growth: Growth;
  /** The error that ended the reader. The next follower starts a new one. */
  fault: unknown;
}

/** Delivers live events to any number of followers. They share one reader and the newest events. Without followers, nothing is read. */
export class LiveEvents {
  readonly #journal: FollowedJournal;
  readonly #clock: Clock;
  readonly #readersBack = new FairQueue({
    concurrency: readersBack,
    maxWaitingPerParty: Number.POSITIVE_INFINITY,
    maxWaiting: Number.POSITIVE_INFINITY,
  });
  /** A follower that misses some of them gets a batch with `lag`. */
  readonly #kept = new KeptEvents();
  #end: LogPosition;
  #followers = 0;
  #reading: Reading | undefined;
  /** Followers wait for the same promise, so they read up to the same event. */
  #pause: Promise<void> | undefined;

  constructor(journal: FollowedJournal, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
    this.#end = journal.end;
  }

  get followers(): number {
    return this.#followers;
  }

  /** Position up to which the journal was read. */
  get end(): LogPosition {
    return this.#end;
  }

  /**
   * Follows the journal until the signal aborts. Nothing is queued for a slow follower.
   *
   * @param from `next` of an earlier batch, or any other position; undefined for new events only
   * @throws ServiceError `unavailable` if the journal cannot be read at present
   */
  async *follow(selection: LiveSelection, from: LogPosition | undefined, signal: AbortSignal): AsyncGenerator<LiveBatch> {
    const reading = this.#begin();
    const needles = selectionNeedles(selection);
    const wanted = selectsAll(selection) ? undefined : selection;
    try {
      let position = from && comparePositions(from, this.#end) < 0 ? from : this.#end;
      let number = await this.#kept.findNumber(position);
      if (comparePositions(position, this.#begins) < 0)
        for await (const { number: reached, batch } of this.#missed(selection, position, signal)) {
          number = reached;
          position = batch.next;
          yield batch;
        }
      while (!signal.aborted) {
        if (reading.fault !== undefined) throw reading.fault;
        if (number === this.#kept.end) {
          await reading.growth.beyond(this.#end, signal).catch(() => {});
          continue;
        }
        const skipped = Math.max(this.#kept.first - number, 0);
        number += skipped;
        const lag = skipped === 0 ? undefined : { from: position, to: this.#begins, skipped };
        const events: RawEvent[] = [];
        for await (const kept of this.#kept.from(number)) {
          for (const logged of kept) {
            if (events.length === maxAtOnce) break;
            if (hasNeedles(logged.raw, needles) && logged.isSelected(wanted)) events.push(logged);
            position = logged.next;
            number++;
          }
          if (events.length === maxAtOnce) break;
        }
        if (events.length > 0 || lag) yield { events, lag, next: position };
        await this.#pauseTogether();
      }
    } finally {
      this.#leave();
    }
  }

  get #begins(): LogPosition {
    return this.#kept.begins ?? this.#end;
  }

  /** Yields the events between an earlier batch and the kept events, and the number with which to continue. */
  async *#missed(selection: LiveSelection, from: LogPosition, signal: AbortSignal): AsyncGenerator<{ number: number; batch: LiveBatch }> {
    let isBroken = false;
    const reader = this.#journal.openReader(() => {
      isBroken = true;
    }, selection);
    try {
      for (let position = from, blocks = 1, isThere = false; !isThere && !signal.aborted; blocks++) {
        // Released after each read, so that a slow follower does not block others.
        const endTurn = await this.#readersBack.take('');
        const { events, next } = await reader.next(position).finally(endTurn);
        // No `await` from here to the use of `#kept.first`, because the kept events could change.
        const to = this.#begins;
        const isAtHand = comparePositions(next, position) > 0 || comparePositions(position, to) >= 0;
        const isLast = comparePositions(next, to) >= 0 || !isAtHand;
        const isTooFar = !isLast && blocks === maxBlocksBack;
        isThere = isLast || isTooFar;
        const own = events.filter((logged) => comparePositions(logged.position, to) < 0 && isSelected(logged.event, selection));
        const reached = isLast ? to : next;
        const number = this.#kept.first;
        const lag = isBroken || !isAtHand ? { from: position, to: events[0]?.position ?? reached, skipped: undefined } : undefined;
        isBroken = false;
        yield { number, batch: { events: own, lag, next: reached } };
        if (isTooFar) yield { number, batch: { events: [], lag: { from: reached, to, skipped: undefined }, next: to } };
        position = next;
      }
    } finally {
      reader.close();
    }
  }

  #pauseTogether(): Promise<void> {
    this.#pause ??= this.#clock
      .sleep(batchEveryMs, this.#reading?.stop.signal)
      .catch(() => {})
      .then(() => {
        this.#pause = undefined;
      });
    return this.#pause;
  }

  #begin(): Reading {
    this.#followers++;
    if (this.#reading && this.#reading.fault === undefined) return this.#reading;
    this.#kept.clear();
    this.#end = this.#journal.end;
    const reading: Reading = { stop: new AbortController(), growth: new Growth(() => this.#end), fault: undefined };
    this.#reading = reading;
    void this.#read(reading);
    return reading;
  }

  #leave(): void {
    if (--this.#followers > 0) return;
    this.#reading?.stop.abort();
    this.#reading = undefined;
    this.#kept.clear();
  }

  async #read(reading: Reading): Promise<void> {
    const { signal } = reading.stop;
    const reader = this.#journal.openRawReader();
    try {
      for (;;) {
        await this.#journal.waitForMore(this.#end, signal);
        for (;;) {
          const block = await reader.next(this.#end);
          if (signal.aborted) return;
          this.#end = block.next;
          if (block.count === 0) break;
          this.#kept.add(block);
          reading.growth.wake();
        }
        await this.#clock.sleep(readEveryMs, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      reading.fault = error;
      reading.growth.close();
    } finally {
      reader.close();
    }
  }
}
