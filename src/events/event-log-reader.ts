import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../lib/errors.ts';
import type { ServiceEvent } from './event.ts';
import type { BadLine, LoggedEvent } from './event-log.ts';
import type { LogPosition } from './event-log-position.ts';
import { listSegments, longestLineBytes } from './event-log-segments.ts';

const readAsync = promisify(read);
const chunkBytes = 256 * 1024;
const newline = 0x0a;

interface Line {
  /** Undefined for a line that is longer than any event. */
  line: Buffer | undefined;
  offset: number;
  nextOffset: number;
}

/**
 * Reads a journal from a position to its present end, also while another process writes it. Memory is bounded by one
 * line. Bad lines are reported and skipped; what has no newline yet is left for the next time.
 *
 * @param from where to begin; undefined for the oldest event that is kept
 */
export async function* readEvents(
  folder: string,
  from: LogPosition | undefined,
  onBadLine: (bad: BadLine) => void,
): AsyncGenerator<LoggedEvent> {
  for (const { number: segment, path } of listSegments(folder)) {
    if (from && segment < from.segment) continue;
    const start = from?.segment === segment ? from.offset : 0;
    for await (const { line, offset, nextOffset } of readLines(path, start)) {
      const event = line ? parseEvent(line) : `longer than ${longestLineBytes} bytes`;
      if (line && typeof event !== 'string')
        yield { event, raw: line, position: { segment, offset }, next: { segment, offset: nextOffset } };
      else onBadLine({ path, offset, reason: String(event) });
    }
  }
}

async function* readLines(path: string, start: number): AsyncGenerator<Line> {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    // Past its retention and removed meanwhile.
    if (systemErrorCode(error) === 'ENOENT') return;
    throw error;
  }
  try {
    let offset = start;
    let parts: Buffer[] = [];
    let partsBytes = 0;
    for (let position = start; ; ) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const { bytesRead } = await readAsync(fd, chunk, 0, chunkBytes, position);
      position += bytesRead;
      let lineStart = 0;
      for (let end = chunk.indexOf(newline); end >= 0 && end < bytesRead; end = chunk.indexOf(newline, lineStart)) {
        const piece = chunk.subarray(lineStart, end);
        const lineBytes = partsBytes + piece.length;
        const line = partsBytes === 0 ? piece : Buffer.concat([...parts, piece]);
        yield { line: lineBytes > longestLineBytes ? undefined : line, offset, nextOffset: offset + lineBytes + 1 };
        offset += lineBytes + 1;
        parts = [];
        partsBytes = 0;
        lineStart = end + 1;
      }
      // A line that is half there at the end may be cut back and written anew by its writer: it is not waited for here.
      if (bytesRead < chunkBytes) return;
      partsBytes += bytesRead - lineStart;
      if (partsBytes > longestLineBytes) parts = [];
      else parts.push(chunk.subarray(lineStart, bytesRead));
    }
  } finally {
    closeSync(fd);
  }
}

/** @returns the event of a line, or why it is none */
export function parseEvent(line: Buffer | string): ServiceEvent | string {
  if (typeof line !== 'string' && !isUtf8(line)) return 'not valid UTF-8';
  let value: unknown;
  try {
    value = JSON.parse(line.toString('utf8'));
  } catch (error) {
    return (error as Error).message;
  }
  const event = value as Partial<ServiceEvent> | null;
  const isEvent = typeof event === 'object' && event !== null && typeof event.id === 'string' && typeof event.uuid === 'string';
  return isEvent ? (event as ServiceEvent) : 'not an event object';
}
