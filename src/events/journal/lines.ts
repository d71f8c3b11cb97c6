import { closeSync, fstatSync } from 'node:fs';
import { openIfThere, readAsync } from '../../lib/disk/descriptors.ts';
import { longestLineBytes, type PlacedLine } from '../../lib/disk/lines-backwards.ts';
import type { BadLine } from './event-log.ts';
import type { LogPosition } from './position.ts';
import { listSegments, type Segment, type SegmentKind } from './segments.ts';

const chunkBytes = 256 * 1024;
const newline = 0x0a;

/** Whole lines in a row. */
export interface LineBlock {
  segment: Segment | undefined;
  lines: PlacedLine[];
  /** Where to go on reading. */
  next: LogPosition;
}

interface OpenSegment extends Segment {
  fd: number;
}

/**
 * Reads the lines of a row of files, also while another process writes them. Memory is bounded by one block, or by the
 * longest line. What has no newline yet is left for the next time.
 */
export class LineReader {
  readonly #folder: string;
  readonly #kind: SegmentKind;
  readonly #onBadLine: (bad: BadLine) => void;
  #open: OpenSegment | undefined;

  constructor(folder: string, kind: SegmentKind, onBadLine: (bad: BadLine) => void) {
    this.#folder = folder;
    this.#kind = kind;
    this.#onBadLine = onBadLine;
  }

  /** The lines from a position on; none at the present end. */
  async next(from: LogPosition | undefined): Promise<LineBlock> {
    let position = from ?? { segment: 0, offset: 0 };
    for (;;) {
      const block = await this.#read(position);
      if (block && block.lines.length > 0) return block;
      if (block && block.next.offset > position.offset) {
        position = block.next;
        continue;
      }
      const later = listSegments(this.#folder, this.#kind).find(({ number }) => number > position.segment);
      if (!later) return { segment: block?.segment, lines: [], next: position };
      if (block) {
        // The segment may have got its last lines between the reading and the look for a later one.
        const last = await this.#read(position);
        if (last && last.lines.length > 0) return last;
        this.#reportTorn(position);
      } else if (position.segment > 0) {
        this.#onBadLine({ path: this.#folder, offset: 0, reason: `file ${position.segment} was removed past its retention` });
      }
      position = { segment: later.number, offset: 0 };
    }
  }

  close(): void {
    if (this.#open) closeSync(this.#open.fd);
    this.#open = undefined;
  }

  /** @returns undefined when there is no such segment */
  async #read(position: LogPosition): Promise<LineBlock | undefined> {
    const segment = this.#segment(position.segment);
    if (!segment) return undefined;
    const { lines, nextOffset } = await this.#lines(segment, position.offset);
    return { segment, lines, next: { segment: position.segment, offset: nextOffset } };
  }

  #segment(number: number): OpenSegment | undefined {
    if (this.#open?.number === number) return this.#open;
    const segment = listSegments(this.#folder, this.#kind).find((candidate) => candidate.number === number);
    if (!segment) return undefined;
    const fd = openIfThere(segment.path);
    if (fd === undefined) return undefined;
    this.close();
    this.#open = { ...segment, fd };
    return this.#open;
  }

  async #lines(segment: OpenSegment, start: number): Promise<{ lines: LineBlock['lines']; nextOffset: number }> {
    for (let sizeBytes = chunkBytes; ; sizeBytes *= 4) {
      const wantedBytes = Math.min(sizeBytes, longestLineBytes + 1, Math.max(fstatSync(segment.fd).size - start, 0));
      const chunk = Buffer.allocUnsafe(wantedBytes);
      const { bytesRead } = wantedBytes === 0 ? { bytesRead: 0 } : await readAsync(segment.fd, chunk, 0, wantedBytes, start);
      const found = splitLines(chunk.subarray(0, bytesRead), start);
      if (found.lines.length > 0) return found;
      if (bytesRead > longestLineBytes) return this.#skipLine(segment, start);
      if (bytesRead < sizeBytes) return found;
    }
  }

  /** Passes over a line that is longer than any that is written. */
  async #skipLine(segment: OpenSegment, start: number): Promise<{ lines: LineBlock['lines']; nextOffset: number }> {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (let position = start; ; ) {
      const { bytesRead } = await readAsync(segment.fd, chunk, 0, chunkBytes, position);
      if (bytesRead === 0) return { lines: [], nextOffset: start };
      const end = chunk.subarray(0, bytesRead).indexOf(newline);
      if (end < 0) {
        position += bytesRead;
        continue;
      }
      this.#onBadLine({ path: segment.path, offset: start, reason: `longer than ${longestLineBytes} bytes` });
      return { lines: [], nextOffset: position + end + 1 };
    }
  }

  #reportTorn({ segment, offset }: LogPosition): void {
    const open = this.#open;
    if (open?.number !== segment || fstatSync(open.fd).size <= offset) return;
    this.#onBadLine({ path: open.path, offset, reason: 'the line has no end' });
  }
}

function splitLines(chunk: Buffer, start: number): { lines: LineBlock['lines']; nextOffset: number } {
  const lines: LineBlock['lines'] = [];
  let lineStart = 0;
  for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, lineStart)) {
    lines.push({ line: chunk.subarray(lineStart, end), offset: start + lineStart });
    lineStart = end + 1;
  }
  return { lines, nextOffset: start + lineStart };
}
