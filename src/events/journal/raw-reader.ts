import { closeSync } from 'node:fs';
import { openIfThere, readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { RawBlock, RawEvent, RawReader } from './event-log.ts';
import { countLines, LineReader, splitLines } from './lines.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { segmentPath } from './segments.ts';

const blockBytes = 64 * 1024;

/** Maximum number of blocks that are kept. A reader that needs older lines reads the files. */
const maxBlocks = 64;

type WrittenBlock = Omit<RawBlock, 'isOwn' | 'events'>;

/** Knows where the newest lines are and how many there are, so that a reader that only counts lines need not read the files. */
export class RecentBlocks {
  #blocks: WrittenBlock[] = [];
  #isLastOpen = false;
  #begins: LogPosition | undefined;
  readonly #readers = new Set<symbol>();

  /**
   * Adds a reader. Blocks are kept while there is at least one reader.
   *
   * @param end current end of the journal
   * @returns a function that removes the reader
   */
  keep(end: LogPosition): () => void {
    const reader = Symbol();
    this.#begins ??= end;
    this.#readers.add(reader);
    return () => {
      if (!this.#readers.delete(reader) || this.#readers.size > 0) return;
      this.#blocks = [];
      this.#begins = undefined;
    };
  }

  get begins(): LogPosition | undefined {
    return this.#begins;
  }

  /** Adds lines. @param position start of the lines @param bytes total length of the lines @param count number of lines */
  add(position: LogPosition, bytes: number, count: number): void {
    if (!this.#begins) return;
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
   * Returns the first block that begins at or after a position. After this call, the block does not grow any more.
   *
   * @returns undefined if the position is unknown or inside a block
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
 * Reads the lines of the journal's files. For the newest lines, it only determines their position and number.
 *
 * @param end returns the current end of the journal
 */
export function rawJournalReader(folder: string, recent: RecentBlocks, end: () => LogPosition): RawReader {
  const reader = new LineReader(folder, 'events', () => {});
  const release = recent.keep(end());
  return {
    async next(from) {
      if (comparePositions(from, end()) === 0) return rawBlock(folder, { count: 0, bytes: 0, position: from, next: from }, true);
      const own = recent.from(from);
      return own ? rawBlock(folder, own, true) : rawBlock(folder, await readUpTo(reader, from, recent.begins), false);
    },
    close() {
      release();
      reader.close();
    },
  };
}

/** Reads lines from the files, up to the first line that `RecentBlocks` knows. @param known position of that line */
async function readUpTo(reader: LineReader, from: LogPosition, known: LogPosition | undefined): Promise<WrittenBlock> {
  const { text, position, next } = await reader.next(from);
  const isBeyond = known?.segment === position.segment && known.offset > position.offset && known.offset < next.offset;
  const own = isBeyond ? text.subarray(0, known.offset - position.offset) : text;
  return { count: countLines(own), bytes: own.length, position, next: isBeyond ? known : next };
}

function rawBlock(folder: string, block: WrittenBlock, isOwn: boolean): RawBlock {
  return { ...block, isOwn, events: () => readAgain(folder, block) };
}

/** Reads the lines of a block from its file. @throws ServiceError `unavailable` if they were removed or changed */
async function readAgain(folder: string, { count, bytes, position }: WrittenBlock): Promise<RawEvent[]> {
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
  return splitLines(text, position.offset).map(({ line, offset }) => ({
    raw: line,
    position: { segment: position.segment, offset },
    next: { segment: position.segment, offset: offset + line.length + 1 },
  }));
}

function goneEvents(): ServiceError {
  return new ServiceError('unavailable', 'These events are no longer in the journal.');
}
