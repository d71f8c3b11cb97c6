import { isUtf8 } from 'node:buffer';
import { closeSync, fstatSync, openSync, read } from 'node:fs';
import { promisify } from 'node:util';
import { systemErrorCode } from '../lib/errors.ts';
import type { ServiceEvent } from './event.ts';
import { isSpecialAccount } from './event-factory.ts';
import type { BadLine, EventBlock, EventReader, LoggedEvent } from './event-log.ts';
import { MarksReader } from './event-log-marks.ts';
import type { LogPosition } from './event-log-position.ts';
import { listSegments, longestLineBytes, type Segment } from './event-log-segments.ts';

const readAsync = promisify(read);
const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** Whole lines of a segment, and where they end. */
interface Lines {
  lines: { line: Buffer; offset: number }[];
  nextOffset: number;
  /** Bytes behind the last newline, which a writer may still complete. */
  restBytes: number;
}

interface OpenSegment extends Segment {
  fd: number;
  marks: MarksReader;
}

/**
 * Reads the journal's files, also while another process writes them. Memory is bounded by one block, or by the longest
 * line. What has no newline yet is left for the next time.
 */
export class JournalReader implements EventReader {
  readonly #folder: string;
  readonly #onBadLine: (bad: BadLine) => void;
  #open: OpenSegment | undefined;

  constructor(folder: string, onBadLine: (bad: BadLine) => void) {
    this.#folder = folder;
    this.#onBadLine = onBadLine;
  }

  async next(from: LogPosition | undefined): Promise<EventBlock> {
    let position = from ?? { segment: 0, offset: 0 };
    for (;;) {
      const block = await this.#read(position);
      if (block && (block.events.length > 0 || block.next.offset > position.offset)) return block;
      const later = listSegments(this.#folder).find(({ number }) => number > position.segment);
      if (!later) return { events: [], next: position };
      if (block) {
        // The segment may have got its last lines between the reading and the look for a later one.
        const last = await this.#read(position);
        if (last && (last.events.length > 0 || last.next.offset > position.offset)) return last;
        this.#reportTorn(position);
      } else if (from && from.segment > 0) {
        this.#onBadLine({ path: this.#folder, offset: 0, reason: `the file ${position.segment} was removed past its retention` });
      }
      position = { segment: later.number, offset: 0 };
    }
  }

  close(): void {
    if (this.#open) closeSync(this.#open.fd);
    this.#open = undefined;
  }

  /** @returns undefined when there is no such segment */
  async #read(position: LogPosition): Promise<EventBlock | undefined> {
    const segment = this.#segment(position.segment);
    if (!segment) return undefined;
    const { lines, nextOffset } = await this.#lines(segment, position.offset);
    if (lines.length > 0) segment.marks.refresh();
    const events: LoggedEvent[] = [];
    for (const [index, { line, offset }] of lines.entries()) {
      const event = parseEvent(line);
      if (typeof event === 'string') {
        this.#onBadLine({ path: segment.path, offset, reason: event });
        continue;
      }
      events.push({
        event,
        raw: line,
        position: { segment: position.segment, offset },
        next: { segment: position.segment, offset: lines[index + 1]?.offset ?? nextOffset },
        group: isSpecialAccount(event.account?.uuid) ? undefined : segment.marks.groupAt(offset),
        takenBy: segment.marks.takenBy(event.uuid),
      });
    }
    return { events, next: { segment: position.segment, offset: nextOffset } };
  }

  #segment(number: number): OpenSegment | undefined {
    if (this.#open?.number === number) return this.#open;
    const segment = listSegments(this.#folder).find((candidate) => candidate.number === number);
    if (!segment) return undefined;
    try {
      const fd = openSync(segment.path, 'r');
      this.close();
      this.#open = { ...segment, fd, marks: new MarksReader(segment.path) };
      return this.#open;
    } catch (error) {
      // Past its retention and removed meanwhile.
      if (systemErrorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  async #lines(segment: OpenSegment, start: number): Promise<Lines> {
    for (let sizeBytes = chunkBytes; ; sizeBytes *= 4) {
      const wantedBytes = Math.min(sizeBytes, longestLineBytes + 1, Math.max(fstatSync(segment.fd).size - start, 0));
      const chunk = Buffer.allocUnsafe(wantedBytes);
      const { bytesRead } = wantedBytes === 0 ? { bytesRead: 0 } : await readAsync(segment.fd, chunk, 0, wantedBytes, start);
      const found = splitLines(chunk.subarray(0, bytesRead), start);
      if (found.lines.length > 0 || bytesRead < sizeBytes) {
        if (found.lines.length > 0 || bytesRead <= longestLineBytes) return found;
        return this.#skipLine(segment, start);
      }
    }
  }

  /** Passes over a line that is longer than any event. */
  async #skipLine(segment: OpenSegment, start: number): Promise<Lines> {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (let position = start; ; ) {
      const { bytesRead } = await readAsync(segment.fd, chunk, 0, chunkBytes, position);
      if (bytesRead === 0) return { lines: [], nextOffset: start, restBytes: position - start };
      const end = chunk.subarray(0, bytesRead).indexOf(newline);
      if (end < 0) {
        position += bytesRead;
        continue;
      }
      this.#onBadLine({ path: segment.path, offset: start, reason: `longer than ${longestLineBytes} bytes` });
      return { lines: [], nextOffset: position + end + 1, restBytes: 0 };
    }
  }

  #reportTorn({ segment, offset }: LogPosition): void {
    const open = this.#open;
    if (open?.number !== segment || fstatSync(open.fd).size <= offset) return;
    this.#onBadLine({ path: open.path, offset, reason: 'the line has no end' });
  }
}

/**
 * Reads a journal from a position to its present end.
 *
 * @param from where to begin; undefined for the oldest event that is kept
 */
export async function* readEvents(
  folder: string,
  from: LogPosition | undefined,
  onBadLine: (bad: BadLine) => void,
): AsyncGenerator<LoggedEvent> {
  const reader = new JournalReader(folder, onBadLine);
  try {
    for (let position = from; ; ) {
      const { events, next } = await reader.next(position);
      yield* events;
      if (events.length === 0 && next.segment === position?.segment && next.offset === position.offset) return;
      position = next;
    }
  } finally {
    reader.close();
  }
}

function splitLines(chunk: Buffer, start: number): Lines {
  const lines: Lines['lines'] = [];
  let lineStart = 0;
  for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, lineStart)) {
    lines.push({ line: chunk.subarray(lineStart, end), offset: start + lineStart });
    lineStart = end + 1;
  }
  return { lines, nextOffset: start + lineStart, restBytes: chunk.length - lineStart };
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
