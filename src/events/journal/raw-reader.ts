import { closeSync } from 'node:fs';
import { openIfThere, readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { RawBlock, RawEvent, RawReader } from './event-log.ts';
import { countLines, LineBlock, LineReader } from './lines.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { segmentPath } from './segments.ts';

/** A block has so many bytes, but for the last one, and for what is written at once. */
const blockBytes = 64 * 1024;

/** How many are kept: who is further behind reads the files. */
const maxBlocks = 64;

/** Lines that were written in a row, into one file. */
interface WrittenBlock {
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

const newline = 0x0a;

/**
 * Reads the lines of the journal's files. Of what was written a moment ago only the place and the number are taken.
 *
 * @param end where the journal ends now
 */
export function rawJournalReader(folder: string, recent: RecentBlocks, end: () => LogPosition): RawReader {
  const reader = new LineReader(folder, 'events', () => {});
  const release = recent.keep(end());
  return {
    async next(from) {
      if (comparePositions(from, end()) === 0) return blockOf(folder, { count: 0, bytes: 0, position: from, next: from }, true);
      const own = recent.from(from);
      return own ? blockOf(folder, own, true) : blockOf(folder, await readUpTo(reader, from, recent.begins), false);
    },
    close() {
      release();
      reader.close();
    },
  };
}

/** @param known where that begins of which the place and the number are known */
async function readUpTo(reader: LineReader, from: LogPosition, known: LogPosition | undefined): Promise<WrittenBlock> {
  const { text, position, next } = await reader.next(from);
  const isBeyond = known?.segment === position.segment && known.offset > position.offset && known.offset < next.offset;
  const own = isBeyond ? text.subarray(0, known.offset - position.offset) : text;
  return { count: countLines(own), bytes: own.length, position, next: isBeyond ? known : next };
}

function blockOf(folder: string, block: WrittenBlock, isOwn: boolean): RawBlock {
  return { ...block, isOwn, events: () => readAgain(folder, block) };
}

/** @throws ServiceError `unavailable` when they are there no more, or not as they were written */
async function readAgain(folder: string, { count, bytes, position, next }: WrittenBlock): Promise<RawEvent[]> {
  const text = Buffer.allocUnsafe(bytes);
  const fd = openIfThere(segmentPath(folder, position.segment));
  try {
    for (let done = 0; done < bytes; ) {
      const { bytesRead } = fd === undefined ? { bytesRead: 0 } : await readAsync(fd, text, done, bytes - done, position.offset + done);
      if (bytesRead === 0) throw goneEvents();
      done += bytesRead;
    }
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
  if (bytes > 0 && (text.at(-1) !== newline || countLines(text) !== count)) throw goneEvents();
  return new LineBlock(undefined, text, position, next).lines.map(({ line, offset }) => ({
    raw: line,
    position: { segment: position.segment, offset },
    next: { segment: position.segment, offset: offset + line.length + 1 },
  }));
}

function goneEvents(): ServiceError {
  return new ServiceError('unavailable', 'These events are in the journal no more.');
}
