import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { fdatasyncAsync } from '../../lib/disk/descriptors.ts';
import { syncFolder } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { EventMarks } from './event-log.ts';

const chunkBytes = 64 * 1024;

/** One line of a marks file. */
type MarkLine =
  /** The group of the accounts of all events from `offset` of the segment on. */
  | { offset: number; group: string | null }
  /** The handler that a request waits for with this event. */
  | { uuid: string; taken_by: string };

/** The marks file that belongs to a journal file, for example `events-00000001.marks`: no NDJSON for people to trip over. */
export function marksPath(segmentPath: string): string {
  return segmentPath.replace(/\.ndjson$/, '.marks');
}

/**
 * Writes what is known of events beside the event objects. A group is written when it is another than that of the event
 * before, so most events need no mark.
 */
export class MarksWriter {
  readonly #path: string;
  #fd: number | undefined;
  #group: string | null | undefined;
  #isUnsynced = false;

  constructor(segmentPath: string) {
    this.#path = marksPath(segmentPath);
  }

  /** @param offset where the event will stand in its segment, in bytes */
  write(offset: number, uuid: string, marks: EventMarks, hasAccount: boolean): void {
    const lines: MarkLine[] = [];
    const group = marks.group ?? null;
    if (hasAccount && group !== this.#group) lines.push({ offset, group });
    if (marks.takenBy !== undefined) lines.push({ uuid, taken_by: marks.takenBy });
    if (lines.length === 0) return;
    const isFirst = this.#fd === undefined;
    this.#fd ??= openDurably(this.#path);
    // A line that an earlier process, or a full disk, left torn ends here.
    const text = `${isFirst || this.#group === undefined ? '\n' : ''}${lines.map((line) => `${JSON.stringify(line)}\n`).join('')}`;
    this.#group = undefined;
    writeSync(this.#fd, text);
    if (hasAccount) this.#group = group;
    this.#isUnsynced = true;
  }

  get isUnsynced(): boolean {
    return this.#isUnsynced;
  }

  /** Resolves when all marks so far are on disk. */
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

/** The marks of one segment, read as far as they are written. */
export class MarksReader {
  readonly #path: string;
  readonly #offsets: number[] = [];
  readonly #groups: (string | null)[] = [];
  readonly #takenBy = new Map<string, string>();
  #readBytes = 0;
  #rest = '';

  constructor(segmentPath: string) {
    this.#path = marksPath(segmentPath);
  }

  /** Reads what was added since the last time. */
  refresh(): void {
    let fd: number;
    try {
      fd = openSync(this.#path, 'r');
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return;
      throw error;
    }
    try {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      for (;;) {
        const bytesRead = readSync(fd, chunk, 0, chunkBytes, this.#readBytes);
        if (bytesRead === 0) break;
        this.#readBytes += bytesRead;
        this.#take(chunk.toString('latin1', 0, bytesRead));
      }
    } finally {
      closeSync(fd);
    }
  }

  /** The group of the account of an event at an offset of the segment. */
  groupAt(offset: number): string | undefined {
    let low = 0;
    for (let high = this.#offsets.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.#offsets[middle] as number) <= offset) low = middle + 1;
      else high = middle;
    }
    return this.#groups[low - 1] ?? undefined;
  }

  takenBy(uuid: string): string | undefined {
    return this.#takenBy.get(uuid);
  }

  // Bytes come as Latin-1 so that a character that a chunk cuts in two stays whole; JSON is decoded a line at a time.
  #take(latin1: string): void {
    const lines = (this.#rest + latin1).split('\n');
    this.#rest = lines.pop() as string;
    for (const line of lines) {
      const mark = parseMark(Buffer.from(line, 'latin1').toString('utf8'));
      if (mark && 'offset' in mark) this.#takeGroup(mark.offset, mark.group);
      else if (mark) this.#takenBy.set(mark.uuid, mark.taken_by);
    }
  }

  // An event that failed to be written leaves its mark; the next event at the same offset has one of its own.
  #takeGroup(offset: number, group: string | null): void {
    if (this.#offsets.at(-1) === offset) {
      this.#groups[this.#groups.length - 1] = group;
      return;
    }
    this.#offsets.push(offset);
    this.#groups.push(group);
  }
}

function parseMark(line: string): MarkLine | undefined {
  if (line === '') return undefined;
  try {
    const mark = JSON.parse(line) as Partial<{ offset: number; group: string | null; uuid: string; taken_by: string }> | null;
    if (typeof mark?.offset === 'number') return { offset: mark.offset, group: mark.group ?? null };
    if (typeof mark?.uuid === 'string' && typeof mark.taken_by === 'string') return { uuid: mark.uuid, taken_by: mark.taken_by };
  } catch {
    // A torn line.
  }
  return undefined;
}
