import { open } from 'node:fs/promises';
import type { Backlog } from './event-log.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { JournalReader } from './reader.ts';
import { listSegments } from './segments.ts';

const chunkBytes = 1024 * 1024;
const newline = 0x0a;

/** Bytes counted line by line; what is behind them is reckoned from their average. */
const countedBytes = 64 * chunkBytes;

/** What lies between a position of the journal in a folder and its end. */
export async function measureBacklog(folder: string, from: LogPosition, end: LogPosition): Promise<Backlog> {
  if (comparePositions(from, end) >= 0) return { events: 0, oldestMs: undefined };
  const reader = new JournalReader(folder, () => {});
  try {
    const [first] = (await reader.next(from)).events;
    if (!first) return { events: 0, oldestMs: undefined };
    const events = await countLines(folder, first.position, end);
    return { events, oldestMs: Number(first.event.timestamp.timestamp) * 1000 };
  } finally {
    reader.close();
  }
}

/**
 * Counts the lines of a row of files between two positions: exactly up to 64 MiB, beyond that by the average line.
 *
 * @param to end of the journal
 */
async function countLines(folder: string, from: LogPosition, to: LogPosition): Promise<number> {
  let lines = 0;
  let counted = 0;
  let left = 0;
  const chunk = Buffer.allocUnsafe(chunkBytes);
  for (const { number, path } of listSegments(folder)) {
    if (number < from.segment || number > to.segment) continue;
    const file = await open(path, 'r').catch(() => undefined);
    if (!file) continue;
    try {
      const end = number === to.segment ? to.offset : (await file.stat()).size;
      let offset = number === from.segment ? from.offset : 0;
      for (; offset < end && counted < countedBytes; ) {
        const { bytesRead } = await file.read(chunk, 0, Math.min(chunkBytes, end - offset), offset);
        if (bytesRead === 0) break;
        lines += linesOf(chunk.subarray(0, bytesRead));
        counted += bytesRead;
        offset += bytesRead;
      }
      left += Math.max(end - offset, 0);
    } finally {
      await file.close();
    }
  }
  return counted === 0 ? 0 : Math.round(lines + (left * lines) / counted);
}

function linesOf(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1)) lines++;
  return lines;
}
