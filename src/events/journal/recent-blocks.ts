import { comparePositions, type LogPosition } from './position.ts';

/** A block has so many bytes, but for the last one, and for what is written at once. */
const blockBytes = 64 * 1024;

/** How many are kept: who is further behind reads the files. */
const maxBlocks = 64;

/** Lines that were written in a row, into one file. */
export interface WrittenBlock {
  count: number;
  bytes: number;
  /** Where the first begins. */
  position: LogPosition;
  /** Where the last ends. */
  next: LogPosition;
}

/** Where the newest lines stand, and how many they are, so that who only counts them need not read what was written a moment ago. */
export class RecentBlocks {
  #blocks: WrittenBlock[] = [];
  #isLastOpen = false;
  /** Where what is known begins. */
  #begins: LogPosition | undefined;
  #readers = 0;

  /** Blocks are kept while somebody reads. @param end where the journal ends now @returns a function that ends it */
  keep(end: LogPosition): () => void {
    if (this.#readers++ === 0) this.#begins = end;
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#readers > 0) return;
      this.#blocks = [];
      this.#begins = undefined;
    };
  }

  /** Whether anybody reads. */
  get isKept(): boolean {
    return this.#begins !== undefined;
  }

  /** Where what is known begins; nobody has to read what is behind it. */
  get begins(): LogPosition | undefined {
    return this.#begins;
  }

  /** @param position where the lines begin @param bytes their length */
  add(position: LogPosition, bytes: number, count: number): void {
    const next = { segment: position.segment, offset: position.offset + bytes };
    const last = this.#blocks.at(-1);
    if (last && this.#isLastOpen && last.bytes < blockBytes && comparePositions(last.next, position) === 0) {
      last.count += count;
      last.bytes += bytes;
      last.next = next;
      return;
    }
    this.#blocks.push({ count, bytes, position, next });
    this.#isLastOpen = true;
    if (this.#blocks.length > maxBlocks) this.#begins = this.#blocks.shift()?.next;
  }

  /**
   * The first block from a position on; nothing is added to it any more.
   *
   * @returns undefined when none is known that begins there, or is the next that does
   */
  from(position: LogPosition): WrittenBlock | undefined {
    if (this.#begins === undefined || comparePositions(position, this.#begins) < 0) return undefined;
    const index = this.#blocks.findLastIndex(({ next }) => comparePositions(next, position) <= 0) + 1;
    const block = this.#blocks[index];
    if (!block || comparePositions(block.position, position) < 0) return undefined;
    if (index === this.#blocks.length - 1) this.#isLastOpen = false;
    return block;
  }
}
