import { closeSync } from 'node:fs';
import { openIfThere, readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { RawBlock, RawEvent, RawReader } from './event-log.ts';
import { countLines, LineBlock, LineReader } from './lines.ts';
import { comparePositions, type LogPosition } from './position.ts';
import type { RecentBlocks, WrittenBlock } from './recent-blocks.ts';
import { segmentPath } from './segments.ts';

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
