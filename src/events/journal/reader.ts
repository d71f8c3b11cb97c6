import { isUtf8 } from 'node:buffer';
import { deepestJson, isObject, parseJson } from '../../lib/json.ts';
import type { ServiceEvent } from '../event.ts';
import { isSpecialAccount } from '../event-factory.ts';
import type { BadLine, EventBlock, EventReader, LoggedEvent } from './event-log.ts';
import { LineReader } from './lines.ts';
import { MarksReader } from './marks.ts';
import type { LogPosition } from './position.ts';
import type { Segment } from './segments.ts';

/** Deepest nesting of an event: what came from a remote endpoint stands two levels deep in it, as a member of `data`. */
export const deepestEvent = deepestJson + 2;

/** Seconds that a date can show (ECMA-262, "Time Values"), with a fraction. */
const unixTime = /^\d{1,12}(?:\.\d{1,12})?$/;

/** Members that every event has (docs/spec/events.md#event-object). */
const texts = ['id', 'uuid', 'message'] as const;

/** @returns why a value is no event object, or undefined when it is one */
export function eventProblem(value: unknown): string | undefined {
  if (!isObject(value)) return 'not an event object';
  for (const name of texts) if (typeof value[name] !== 'string') return `"${name}" must be a string`;
  if (!isObject(value.timestamp) || !unixTime.test(String(value.timestamp.timestamp)))
    return '"timestamp.timestamp" must be Unix time as a string';
  if (!isObject(value.data)) return '"data" must be an object';
  if (!isObject(value.account) || !hasNames(value.account)) return '"account" must have uuid and name';
  if (!isObject(value.account.peer) || typeof value.account.peer.address !== 'string') return '"account.peer" must have an address';
  if (!isObject(value.component) || typeof value.component.uuid !== 'string') return '"component" must have a uuid';
  if (!isObject(value.server) || typeof value.server.uuid !== 'string') return '"server" must have a uuid';
  return undefined;
}

function hasNames(account: Record<string, unknown>): boolean {
  return typeof account.uuid === 'string' && typeof account.name === 'string';
}

/** Reads events, with what is known beside them, from the journal's files. */
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
      const { segment, lines, next } = await this.#lines.next(position);
      if (!segment || lines.length === 0) return { events: [], next };
      const events: LoggedEvent[] = [];
      const marks = this.#marksOf(segment);
      for (const [index, { line, offset }] of lines.entries()) {
        const event = parseEvent(line);
        if (typeof event === 'string') {
          this.#onBadLine({ path: segment.path, offset, reason: event });
          continue;
        }
        events.push({
          event,
          raw: line,
          position: { segment: segment.number, offset },
          next: { segment: segment.number, offset: lines[index + 1]?.offset ?? next.offset },
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

  #marksOf(segment: Segment): MarksReader {
    if (!this.#marks || this.#marksPath !== segment.path) {
      this.#marks = new MarksReader(segment.path);
      this.#marksPath = segment.path;
    }
    this.#marks.refresh();
    return this.#marks;
  }
}

/** @returns the event of a line, or why it is none */
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
