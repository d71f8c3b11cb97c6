import { isUtf8 } from 'node:buffer';
import { open } from 'node:fs/promises';
import { deepestJson, isObject, parseJson } from '../../lib/json.ts';
import type { ServiceEvent } from '../event.ts';
import { isSpecialAccount } from '../event-factory.ts';
import type { Backlog, BadLine, EventBlock, EventReader, LoggedEvent } from './event-log.ts';
import { countLines, LineReader, splitLines } from './lines.ts';
import { MarksReader } from './marks.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { listSegments, type Segment } from './segments.ts';

/** Maximum nesting depth of an event. It is two levels more than for other JSON, because `data` may contain a remote reply. */
export const deepestEvent = deepestJson + 2;

/** Unix time in seconds with an optional fraction, within the range of a JavaScript date (ECMA-262, "Time Values"). */
const unixTime = /^\d{1,12}(?:\.\d{1,12})?$/;

/** Explains why a value is not an event object (docs/spec/events.md#event-object). @returns undefined if it is one */
export function eventProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'not an event object';
  for (const name of ['id', 'uuid', 'message']) if (typeof value[name] !== 'string') return `"${name}" must be a string`;
  if (!isObject(value.timestamp) || !unixTime.test(String(value.timestamp.timestamp)))
    return '"timestamp.timestamp" must be Unix time as a string';
  if (!isObject(value.data)) return '"data" must be an object';
  if (!isObject(value.account) || typeof value.account.uuid !== 'string' || typeof value.account.name !== 'string')
    return '"account" must have uuid and name';
  if (!isObject(value.account.peer) || typeof value.account.peer.address !== 'string') return '"account.peer" must have an address';
  if (!isObject(value.component) || typeof value.component.uuid !== 'string') return '"component" must have a uuid';
  if (!isObject(value.server) || typeof value.server.uuid !== 'string') return '"server" must have a uuid';
  return undefined;
}

/** Reads events and their marks from the files of the journal. */
export class JournalReader implements EventReader {
  readonly #onBadLine: (bad: BadLine) => void;
  readonly #lines: LineReader;
  #marks: MarksReader | undefined;
  #marksPath = '';

  constructor(folder: string, onBadLine: (bad: BadLine) => void) {
    this.#onBadLine = onBadLine;
    this.#lines = new LineReader(folder, 'events', onBadLine);
  }

  async next(from: LogPosition | undefined): Promise<EventBlock> {
    for (let position = from; ; ) {
      const { segment, text, position: start, next } = await this.#lines.next(position);
      if (!segment || text.length === 0) return { events: [], next };
      const events: LoggedEvent[] = [];
      const marks = this.#readMarks(segment);
      for (const { line, offset } of splitLines(text, start.offset)) {
        const event = parseEvent(line);
        if (typeof event === 'string') {
          this.#onBadLine({ path: segment.path, offset, reason: event });
          continue;
        }
        events.push({
          event,
          raw: line,
          position: { segment: segment.number, offset },
          next: { segment: segment.number, offset: offset + line.length + 1 },
          group: isSpecialAccount(event.account.uuid) ? undefined : marks.groupAt(offset),
          takenBy: marks.takenBy(event.uuid),
        });
      }
      if (events.length > 0) return { events, next };
      position = next;
    }
  }

  close(): void {
    this.#lines.close();
  }

  #readMarks(segment: Segment): MarksReader {
    if (!this.#marks || this.#marksPath !== segment.path) {
      this.#marks = new MarksReader(segment.path);
      this.#marksPath = segment.path;
    }
    this.#marks.refresh();
    return this.#marks;
  }
}

/** Parses a line as an event. @returns the event, or the reason why the line is not an event */
export function parseEvent(line: Buffer | string): ServiceEvent | string {
  if (typeof line !== 'string' && !isUtf8(line)) return 'not valid UTF-8';
  let value: unknown;
  try {
    value = parseJson(line.toString('utf8'), { deepest: deepestEvent });
  } catch (error) {
    return (error as Error).message;
  }
  return eventProblem(value) ?? (value as ServiceEvent);
}

const chunkBytes = 1024 * 1024;

/** Number of bytes in which lines are counted exactly. The number of later lines is estimated from the average length of these lines. */
const countedBytes = 64 * chunkBytes;

/** Counts the events from a position to the end of the journal in a folder. */
export async function measureBacklog(folder: string, from: LogPosition, end: LogPosition): Promise<Backlog> {
  if (comparePositions(from, end) >= 0) return { events: 0, oldestMs: undefined };
  const reader = new JournalReader(folder, () => {});
  try {
    const [first] = (await reader.next(from)).events;
    if (!first) return { events: 0, oldestMs: undefined };
    const events = await estimateLines(folder, first.position, end);
    return { events, oldestMs: Number(first.event.timestamp.timestamp) * 1000 };
  } finally {
    reader.close();
  }
}

async function estimateLines(folder: string, from: LogPosition, to: LogPosition): Promise<number> {
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
      while (offset < end && counted < countedBytes) {
        const { bytesRead } = await file.read(chunk, 0, Math.min(chunkBytes, end - offset), offset);
        if (bytesRead === 0) break;
        lines += countLines(chunk.subarray(0, bytesRead));
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
