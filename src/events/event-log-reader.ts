import { closeSync, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../lib/errors.ts';
import type { ServiceEvent } from './event.ts';
import type { LoggedEvent, LogPosition } from './event-log.ts';
import { listSegments } from './event-log-segments.ts';

const readAsync = promisify(read);
const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** A line of the journal that is no event. */
export interface BadLine {
  path: string;
  /** Bytes from the start of the file. */
  offset: number;
  reason: string;
}

/**
 * Reads a journal from a position to its present end, also while another process writes it. Memory is bounded by one
 * line. Bad lines are reported and skipped.
 *
 * @param from where to begin; undefined for the oldest event that is kept
 */
export async function* readEvents(
  folder: string,
  from: LogPosition | undefined,
  onBadLine: (bad: BadLine) => void,
): AsyncGenerator<LoggedEvent> {
  for (const segment of listSegments(folder)) {
    if (from && segment.number < from.segment) continue;
    const start = from?.segment === segment.number ? from.offset : 0;
    for await (const { line, offset } of readLines(segment.path, start)) {
      const event = parseEvent(line);
      if (typeof event === 'string') onBadLine({ path: segment.path, offset, reason: event });
      else
        yield { event, position: { segment: segment.number, offset }, next: { segment: segment.number, offset: offset + line.length + 1 } };
    }
  }
}

async function* readLines(path: string, start: number): AsyncGenerator<{ line: Buffer; offset: number }> {
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    // Past its retention and removed meanwhile.
    if (systemErrorCode(error) === 'ENOENT') return;
    throw error;
  }
  try {
    let rest: Buffer = Buffer.alloc(0);
    let restOffset = start;
    for (let position = start; ; ) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const { bytesRead } = await readAsync(fd, chunk, 0, chunkBytes, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      const bytes = rest.length === 0 ? chunk.subarray(0, bytesRead) : Buffer.concat([rest, chunk.subarray(0, bytesRead)]);
      let lineStart = 0;
      for (let end = bytes.indexOf(newline); end >= 0; end = bytes.indexOf(newline, lineStart)) {
        yield { line: bytes.subarray(lineStart, end), offset: restOffset + lineStart };
        lineStart = end + 1;
      }
      rest = bytes.subarray(lineStart);
      restOffset += lineStart;
    }
  } finally {
    closeSync(fd);
  }
}

/** @returns the event of a line, or why it is none */
export function parseEvent(line: Buffer | string): ServiceEvent | string {
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
