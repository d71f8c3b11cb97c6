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

/** The oldest block is dropped if the other blocks have enough events, or if all blocks together have too many bytes. */
const enoughEvents = 1024;
const maxBytes = 4 * 1024 * 1024;

/** An event that is parsed only once, and only if a follower may want it. */
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
  /** The events; undefined until a follower needs them. */
  events: Promise<KeptEvent[]> | undefined;
}

/**
 * Keeps the newest blocks of a journal, and numbers their events in order. The events of a block are read only when a follower needs them.
 */
export class KeptEvents {
  #blocks: KeptBlock[] = [];
  #bytes = 0;
  #end = 0;

  /** Number of the oldest kept event; equal to `end` if there is none. */
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

  /** Drops all events. The numbers of later events continue as before. */
  clear(): void {
    this.#blocks = [];
    this.#bytes = 0;
  }

  /** Yields the events from a number on, block by block. @throws ServiceError `unavailable` if the journal no longer has them */
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
    // The failed promise is dropped, because the next attempt to read may succeed.
    kept.events = undefined;
    throw error;
  }
}

/** Pause of the reader at the end of the journal, and of a follower between two batches, in milliseconds. */
const readEveryMs = 50;
const batchEveryMs = 250;

/** Maximum number of events in one batch. With `batchEveryMs`, a follower gets at most a thousand events per second. */
const maxAtOnce = 250;

/** Maximum number of blocks that are read again for a follower that returns. */
const maxBlocksBack = 64;
/** Maximum number of returning followers that read at the same time. */
const readersBack = 2;

/** The events since the previous batch. */
export interface LiveBatch {
  events: RawEvent[];
  /**
   * Describes the events that were left out before `events`. `skipped` is their number, including those that are not selected. It is
   * undefined if the number is unknown.
   */
  lag: { from: LogPosition; to: LogPosition; skipped: number | undefined } | undefined;
  /** Position from which the follower can continue later. */
  next: LogPosition;
}

/** A selection without groups of accounts, which live events do not contain. */
type LiveSelection = Omit<EventSelection, 'userGroup'>;

type FollowedJournal = Pick<EventLog, 'end' | 'openReader' | 'openRawReader' | 'waitForMore'>;

/** A running reader of the journal for all current followers. */
interface Reading {
  stop: AbortController;
  growth: Growth;
  /** The error that ended the reader. The current followers throw the error, and the next follower starts a new reader. */
  fault: unknown;
}

/**
 * Delivers the live events of a journal to any number of followers. One reader serves all followers, and the newest events are kept only
 * once, even if a follower is slow. Without followers, the journal is not read.
 */
export class LiveEvents {
  readonly #journal: FollowedJournal;
  readonly #clock: Clock;
  readonly #readersBack = new FairQueue({
    concurrency: readersBack,
    maxWaitingPerParty: Number.POSITIVE_INFINITY,
    maxWaiting: Number.POSITIVE_INFINITY,
  });
  /** The newest events, shared by all followers. If a follower is so slow that it misses some of them, its next batch has a `lag`. */
  readonly #kept = new KeptEvents();
  #end: LogPosition;
  #followers = 0;
  #reading: Reading | undefined;
  /** Resolves when the followers may get their next batch. All followers wait for the same promise, so they read up to the same event. */
  #pause: Promise<void> | undefined;

  constructor(journal: FollowedJournal, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
    this.#end = journal.end;
  }

  get followers(): number {
    return this.#followers;
  }

  /** Position up to which the journal was read for the followers. */
  get end(): LogPosition {
    return this.#end;
  }

  /**
   * Follows the journal until the signal aborts. A batch is created only when the caller asks for it, so no events are queued for a slow
   * follower.
   *
   * @param from `next` of an earlier batch, or any other position, to get the events since then; undefined for new events only
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

  /** Yields the events between an earlier batch and the kept events, and the number of the kept event with which to continue. */
  async *#missed(selection: LiveSelection, from: LogPosition, signal: AbortSignal): AsyncGenerator<{ number: number; batch: LiveBatch }> {
    let isBroken = false;
    const reader = this.#journal.openReader(() => {
      isBroken = true;
    }, selection);
    try {
      for (let position = from, blocks = 1, isThere = false; !isThere && !signal.aborted; blocks++) {
        // The slot is released after each read, so that a follower that does not take its batch does not block others.
        const endTurn = await this.#readersBack.take('');
        const { events, next } = await reader.next(position).finally(endTurn);
        // There must be no `await` between this line and the use of `#kept.first` below, because the kept events could change meanwhile.
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
