import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { fdatasyncAsync, openIfThere } from '../../lib/disk/descriptors.ts';
import { syncFolder } from '../../lib/disk/durable-files.ts';
import type { EventMarks } from './event-log.ts';

const chunkBytes = 64 * 1024;

/** One line of a marks file. */
type MarkLine =
  /** The group of the account, for all events from `offset` up to the next such line. */
  | { offset: number; group: string | null }
  /** The handler to which a request sends this event, and for whose answer the request waits. */
  | { uuid: string; taken_by: string };

/** Returns the path of the marks file of a journal file, for example `events-00000001.marks`. */
export function marksPath(segmentPath: string): string {
  return segmentPath.replace(/\.ndjson$/, '.marks');
}

/** Writes the marks of events. A group is written only if it differs from the group of the previous event. */
export class MarksWriter {
  readonly #path: string;
  #fd: number | undefined;
  #group: string | null | undefined;
  #isUnsynced = false;

  constructor(segmentPath: string) {
    this.#path = marksPath(segmentPath);
  }

  /** Writes the marks of one event. @param offset offset of the event in its segment, in bytes */
  write(offset: number, uuid: string, marks: EventMarks, hasAccount: boolean): void {
    const lines: MarkLine[] = [];
    const group = marks.group ?? null;
    if (hasAccount && group !== this.#group) lines.push({ offset, group });
    if (marks.takenBy !== undefined) lines.push({ uuid, taken_by: marks.takenBy });
    if (lines.length === 0) return;
    const isFirst = this.#fd === undefined;
    this.#fd ??= openDurably(this.#path);
    // The leading newline ends a torn line that an earlier process or a full disk may have left.
    const text = `${isFirst || this.#group === undefined ? '\n' : ''}${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`;
    this.#group = undefined;
    writeSync(this.#fd, text);
    if (hasAccount) this.#group = group;
    this.#isUnsynced = true;
  }

  get isUnsynced(): boolean {
    return this.#isUnsynced;
  }

  async sync(): Promise<void> {
    if (this.#fd === undefined) return;
    this.#isUnsynced = false;
    await fdatasyncAsync(this.#fd);
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }
}

function openDurably(path: string): number {
  const fd = openSync(path, 'a', 0o600);
  try {
    syncFolder(dirname(path));
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** Reads the marks of one segment, even while they are written. */
export class MarksReader {
  readonly #path: string;
  /** The groups, sorted by ascending offset. */
  readonly #groups: { offset: number; group: string | null }[] = [];
  readonly #takenBy = new Map<string, string>();
  #readBytes = 0;
  #rest = '';

  constructor(segmentPath: string) {
    this.#path = marksPath(segmentPath);
  }

  /** Reads the marks that were added since the last call. */
  refresh(): void {
    const fd = openIfThere(this.#path);
    if (fd === undefined) return;
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      for (;;) {
        const bytesRead = readSync(fd, chunk, 0, chunkBytes, this.#readBytes);
        if (bytesRead === 0) break;
        this.#readBytes += bytesRead;
        this.#parse(chunk.toString('latin1', 0, bytesRead));
      }
    } finally {
      closeSync(fd);
    }
  }

  /** Finds the group of the account whose event is at an offset in the segment. */
  groupAt(offset: number): string | undefined {
    let low = 0;
    for (let high = this.#groups.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.#groups[middle]?.offset as number) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.#groups[low - 1]?.group ?? undefined;
  }

  takenBy(uuid: string): string | undefined {
    return this.#takenBy.get(uuid);
  }

  // A chunk may end inside a UTF-8 character. Latin-1 keeps every byte, so that complete lines can be decoded as UTF-8 later.
  #parse(latin1: string): void {
    const lines = (this.#rest + latin1).split('\n');
    this.#rest = lines.pop() as string;
    for (const line of lines) {
      const mark = parseMark(Buffer.from(line, 'latin1').toString('utf8'));
      if (mark && 'offset' in mark) {
        // The mark is written before its event. If writing the event fails after that, the mark stays in the file. The next event gets the
        // same offset, so its mark replaces the old one.
        if (this.#groups.at(-1)?.offset === mark.offset) this.#groups.pop();
        this.#groups.push(mark);
      } else if (mark) this.#takenBy.set(mark.uuid, mark.taken_by);
    }
  }
}

function parseMark(line: string): MarkLine | undefined {
  if (line === '') return undefined;
  try {
    const mark = JSON.parse(line) as Partial<{ offset: number; group: string | null; uuid: string; taken_by: string }> | null;
    if (typeof mark?.offset === 'number') return { offset: mark.offset, group: mark.group ?? null };
    if (typeof mark?.uuid === 'string' && typeof mark.taken_by === 'string') return { uuid: mark.uuid, taken_by: mark.taken_by };
  } catch {
    // The line is torn.
  }
  return undefined;
}
