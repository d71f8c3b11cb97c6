import { closeSync, fstatSync } from 'node:fs';
import { openIfThere, readAsync } from '../../lib/disk/descriptors.ts';
import { type LineWithOffset, longestLineBytes } from '../../lib/disk/lines-backwards.ts';
import type { BadLine } from './event-log.ts';
import type { LogPosition } from './position.ts';
import { listSegments, type Segment, type SegmentKind } from './segments.ts';

/** Number of bytes of one read. A longer line is read again with a larger buffer. */
const chunkBytes = 256 * 1024;
const newline = 0x0a;
const noText = Buffer.alloc(0);

export interface LineBlock {
  /** The file of the lines; undefined if there is no file at the position. */
  segment: Segment | undefined;
  /** The lines, each with its newline; empty at the current end of the journal. */
  text: Buffer;
  position: LogPosition;
  next: LogPosition;
}

/** Splits complete lines and removes their newlines. @param offset offset of the text in its file, in bytes */
export function splitLines(text: Buffer, offset: number): LineWithOffset[] {
  const lines: LineWithOffset[] = [];
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf(newline, start);
    lines.push({ line: text.subarray(start, end), offset: offset + start });
    start = end + 1;
  }
  return lines;
}

/** Counts lines. @param text complete lines, each with its newline */
export function countLines(text: Buffer): number {
  let count = 0;
  for (let end = text.indexOf(newline); end >= 0; end = text.indexOf(newline, end + 1)) count++;
  return count;
}

interface OpenSegment extends Segment {
  fd: number;
}

/**
 * Reads the lines of consecutive files, even while another process writes them. It uses memory for one block or for the longest line. A
 * line that has no newline yet is left for the next call.
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

  async next(from: LogPosition | undefined): Promise<LineBlock> {
    let position = from ?? { segment: 0, offset: 0 };
    for (;;) {
      const block = await this.#read(position);
      if (block && block.text.length > 0) return block;
      if (block && block.next.offset > position.offset) {
        position = block.next;
        continue;
      }
      const later = listSegments(this.#folder, this.#kind).find(({ number }) => number > position.segment);
      if (!later) return { segment: block?.segment, text: noText, position, next: position };
      if (block) {
        // The writer may have added its last lines after the read above, before it created the later segment.
        const last = await this.#read(position);
        if (last && last.text.length > 0) return last;
        this.#reportTorn(position);
      } else if (position.segment > 0) {
        this.#onBadLine({
          path: this.#folder,
          offset: 0,
          reason: `file ${position.segment} is missing; its retention period is probably over`,
        });
      }
      position = { segment: later.number, offset: 0 };
    }
  }

  close(): void {
    if (this.#open) closeSync(this.#open.fd);
    this.#open = undefined;
  }

  /** Reads lines at a position. @returns undefined when there is no such segment */
  async #read(position: LogPosition): Promise<LineBlock | undefined> {
    const segment = this.#openSegment(position.segment);
    if (!segment) return undefined;
    const { text, nextOffset } = await this.#readLines(segment, position.offset);
    return { segment, text, position, next: { segment: segment.number, offset: nextOffset } };
  }

  #openSegment(number: number): OpenSegment | undefined {
    if (this.#open?.number === number) return this.#open;
    const segment = listSegments(this.#folder, this.#kind).find((candidate) => candidate.number === number);
    if (!segment) return undefined;
    const fd = openIfThere(segment.path);
    if (fd === undefined) return undefined;
    this.close();
    this.#open = { ...segment, fd };
    return this.#open;
  }

  async #readLines(segment: OpenSegment, start: number): Promise<{ text: Buffer; nextOffset: number }> {
    for (let sizeBytes = chunkBytes; ; sizeBytes *= 4) {
      const wantedBytes = Math.min(sizeBytes, longestLineBytes + 1, Math.max(fstatSync(segment.fd).size - start, 0));
      const chunk = Buffer.allocUnsafe(wantedBytes);
      const { bytesRead } = wantedBytes === 0 ? { bytesRead: 0 } : await readAsync(segment.fd, chunk, 0, wantedBytes, start);
      const text = chunk.subarray(0, chunk.subarray(0, bytesRead).lastIndexOf(newline) + 1);
      if (text.length > 0) return { text, nextOffset: start + text.length };
      if (bytesRead > longestLineBytes) return { text, nextOffset: await this.#skipLine(segment, start) };
      if (bytesRead < sizeBytes) return { text, nextOffset: start };
    }
  }

  /**
   * Skips a line that is longer than any line that svc writes. @returns the offset after the line, or the offset of its start if it has no
   * newline yet
   */
  async #skipLine(segment: OpenSegment, start: number): Promise<number> {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    for (let position = start; ; ) {
      const { bytesRead } = await readAsync(segment.fd, chunk, 0, chunkBytes, position);
      if (bytesRead === 0) return start;
      const end = chunk.subarray(0, bytesRead).indexOf(newline);
      if (end < 0) {
        position += bytesRead;
        continue;
      }
      this.#onBadLine({ path: segment.path, offset: start, reason: `longer than ${longestLineBytes} bytes` });
      return position + end + 1;
    }
  }

  #reportTorn({ segment, offset }: LogPosition): void {
    const open = this.#open;
    if (open?.number !== segment || fstatSync(open.fd).size <= offset) return;
    this.#onBadLine({ path: open.path, offset, reason: 'the line has no end' });
  }
}
