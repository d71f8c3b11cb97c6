import type { Clock } from '../../../lib/clock.ts';
import { FairQueue } from '../../../lib/concurrency/fair-queue.ts';
import { hasNeedles } from '../../../lib/disk/lines-backwards.ts';
import type { ServiceEvent } from '../../event.ts';
import type { EventLog, RawBlock, RawEvent } from '../event-log.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { parseEvent } from '../reader.ts';
import { type EventSelection, isSelected, selectsAll } from './event-selection.ts';
import { selectionNeedles } from './selection-keys.ts';

/** Blocks are dropped, the oldest first, while the others have so many events, or all of them so many bytes. */
const enoughEvents = 1024;
const maxBytes = 4 * 1024 * 1024;

/** An event that is parsed once at most, and only when somebody may want it. */
class KeptEvent {
  readonly raw: Buffer;
  readonly position: LogPosition;
  readonly next: LogPosition;
  readonly #isOwn: boolean;
  #event: ServiceEvent | string | undefined;

  constructor({ raw, position, next }: RawEvent, isOwn: boolean) {
    this.raw = raw;
    this.position = position;
    this.next = next;
    this.#isOwn = isOwn;
  }

  /** @param selection undefined for all; of the groups of accounts nothing is known here */
  isSelected(selection: Omit<EventSelection, 'userGroup'> | undefined): boolean {
    if (!selection && this.#isOwn) return true;
    this.#event ??= parseEvent(this.raw);
    return typeof this.#event !== 'string' && (!selection || isSelected(this.#event, selection));
  }
}

interface KeptBlock {
  block: RawBlock;
  /** Number of its first event. */
  first: number;
  /** Once somebody has looked at them. */
  events: Promise<KeptEvent[]> | undefined;
}

/** The newest events of a journal, numbered in order. Of those that nobody looks at only the number and the place are known. */
export class KeptEvents {
  #blocks: KeptBlock[] = [];
  #bytes = 0;
  #end = 0;

  /** Number of the oldest that is kept; `end` when none is. */
  get first(): number {
    return this.#blocks[0]?.first ?? this.#end;
  }

  /** Number of the next that comes. */
  get end(): number {
    return this.#end;
  }

  /** Where the oldest that is kept begins. */
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

  /** Drops all; numbers go on. */
  clear(): void {
    this.#blocks = [];
    this.#bytes = 0;
  }

  /** The events from a number on, some at a time. @throws ServiceError `unavailable` when they are there no more */
  async *from(number: number): AsyncGenerator<KeptEvent[]> {
    const index = this.#blocks.findLastIndex(({ first }) => first <= number);
    for (const kept of this.#blocks.slice(index)) yield (await eventsOf(kept)).slice(Math.max(number - kept.first, 0));
  }

  /** Number of the first event that begins at a position or behind it. @throws ServiceError `unavailable` when it is there no more */
  async findNumber(position: LogPosition): Promise<number> {
    const last = this.#blocks.at(-1);
    if (!last || comparePositions(last.block.next, position) <= 0) return this.#end;
    const isBehind = (place: { position: LogPosition }) => comparePositions(place.position, position) >= 0;
    const before = this.#blocks.findLast(({ block }) => !isBehind(block));
    if (!before) return this.first;
    const index = (await eventsOf(before)).findIndex(isBehind);
    return before.first + (index < 0 ? before.block.count : index);
  }
}

async function eventsOf(kept: KeptBlock): Promise<KeptEvent[]> {
  kept.events ??= kept.block.events().then((events) => events.map((event) => new KeptEvent(event, kept.block.isOwn)));
  try {
    return await kept.events;
  } catch (error) {
    // Who asks next may have more luck.
    kept.events = undefined;
    throw error;
  }
}

/** The journal is looked at so often while it grows, and who follows hears of it so often, in milliseconds. */
const lookEveryMs = 50;
const tellEveryMs = 250;

/** Most events that are told at once: a thousand a second. */
const maxAtOnce = 250;

/** Most blocks that are read again for one who comes back, and how many are read for at once. */
const maxBlocksBack = 64;
const readersBack = 2;

/** What happened since the last time. */
export interface LiveBatch {
  events: RawEvent[];
  /** Events that were left out, selected or not, and where they stand; before `events`. */
  lag: { from: LogPosition; to: LogPosition; skipped: number | undefined } | undefined;
  /** Where to come back to. */
  next: LogPosition;
}

/** What those who follow want; of the groups of accounts nothing is known here. */
type LiveSelection = Omit<EventSelection, 'userGroup'>;

/** What reads the journal for all who follow meanwhile. */
interface Reading {
  stop: AbortController;
  /** Why it ended: those who follow it are told, and who comes then begins another. */
  fault: unknown;
}

/**
 * The events of a journal as they happen, for any number of those who follow: one reader reads for all of them, and keeps what is newest once,
 * whoever is slow. Nobody reads while nobody follows.
 */
export class LiveEvents {
  readonly #journal: Pick<EventLog, 'end' | 'openReader' | 'openRawReader' | 'waitForMore'>;
  readonly #clock: Clock;
  readonly #turnsBack = new FairQueue({
    concurrency: readersBack,
    maxWaitingPerParty: Number.POSITIVE_INFINITY,
    maxWaiting: Number.POSITIVE_INFINITY,
  });
  /** What all who follow share: who is further behind is told that there were more. */
  readonly #kept = new KeptEvents();
  #end: LogPosition;
  #followers = 0;
  #reading: Reading | undefined;
  readonly #waiting = new Set<() => void>();
  /** Over when those who follow hear of what came meanwhile: all at once, so that they hear of the same events. */
  #turn: Promise<void> | undefined;

  constructor(journal: Pick<EventLog, 'end' | 'openReader' | 'openRawReader' | 'waitForMore'>, clock: Clock) {
    this.#journal = journal;
    this.#clock = clock;
    this.#end = journal.end;
  }

  /** How many follow at present. */
  get followers(): number {
    return this.#followers;
  }

  /** How far the journal was read for those who follow. */
  get end(): LogPosition {
    return this.#end;
  }

  /**
   * Follows the journal until the signal aborts. The next batch is made when it is asked for: nothing is kept for one who is slow.
   *
   * @param from `next` of a batch before, to hear what came meanwhile; any place will do
   * @throws ServiceError `unavailable` when the journal cannot be read at present
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
          await this.#grown(signal);
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
        await this.#nextTurn();
      }
    } finally {
      this.#leave();
    }
  }

  /** Where the events that are kept begin. */
  get #begins(): LogPosition {
    return this.#kept.begins ?? this.#end;
  }

  /** What came since somebody followed before, up to the events that are kept, and the number of the event to go on with. */
  async *#missed(selection: LiveSelection, from: LogPosition, signal: AbortSignal): AsyncGenerator<{ number: number; batch: LiveBatch }> {
    let isBroken = false;
    const reader = this.#journal.openReader(() => {
      isBroken = true;
    }, selection);
    try {
      for (let position = from, blocks = 1, isThere = false; !isThere && !signal.aborted; blocks++) {
        // Of the reading alone: who takes nothing keeps nobody waiting.
        const endTurn = await this.#turnsBack.take('');
        const { events, next } = await reader.next(position).finally(endTurn);
        // From here to the reckoning of the number nothing may be waited for: the events that are kept go on.
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

  #nextTurn(): Promise<void> {
    this.#turn ??= this.#clock
      .sleep(tellEveryMs, this.#reading?.stop.signal)
      .catch(() => {})
      .then(() => {
        this.#turn = undefined;
      });
    return this.#turn;
  }

  #begin(): Reading {
    this.#followers++;
    if (this.#reading && this.#reading.fault === undefined) return this.#reading;
    this.#kept.clear();
    this.#end = this.#journal.end;
    const reading: Reading = { stop: new AbortController(), fault: undefined };
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
          this.#wake();
        }
        await this.#clock.sleep(lookEveryMs, signal);
      }
    } catch (error) {
      if (signal.aborted) return;
      reading.fault = error;
      this.#wake();
    } finally {
      reader.close();
    }
  }

  #wake(): void {
    for (const resolve of [...this.#waiting]) resolve();
  }

  #grown(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const settle = () => {
        this.#waiting.delete(settle);
        signal.removeEventListener('abort', settle);
        resolve();
      };
      if (signal.aborted) return resolve();
      this.#waiting.add(settle);
      signal.addEventListener('abort', settle);
    });
  }
}
