import type { ServiceEvent } from '../../event.ts';
import type { RawBlock, RawEvent } from '../event-log.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { parseEvent } from '../reader.ts';
import { type EventSelection, isSelected } from './event-selection.ts';

/** Blocks are dropped, the oldest first, while the others have so many events, or all of them so many bytes. */
const enoughEvents = 1024;
const maxBytes = 4 * 1024 * 1024;

/** An event that is parsed once at most, and only when somebody may want it. */
export class KeptEvent {
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
  async numberOf(position: LogPosition): Promise<number> {
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
