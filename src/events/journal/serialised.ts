import type { ServiceEvent } from '../event.ts';
import { isSpecialAccount } from '../event-factory.ts';
import type { EventMarks, LoggedEvent } from './event-log.ts';
import type { LogPosition } from './position.ts';

/** The JSON of what many events share: the server, a component, the account of a client's connection. */
const sharedJson = new WeakMap<object, string>();

function sharedJsonOf(part: object): string {
  const known = sharedJson.get(part);
  if (known !== undefined) return known;
  const json = JSON.stringify(part);
  sharedJson.set(part, json);
  return json;
}

/**
 * The JSON of an event, byte for byte what `JSON.stringify` gives, at half the cost: what events share is written once.
 *
 * @param event its `account`, `component` and `server` are not changed any more
 * @param dataJson the JSON of its `data`, where that is known
 */
export function eventJson(event: ServiceEvent, dataJson = JSON.stringify(event.data)): string {
  const { id, uuid, message, timestamp, account, component, server } = event;
  return `{"id":"${id}","uuid":"${uuid}","message":${JSON.stringify(message)},"timestamp":{"timestamp":"${timestamp.timestamp}","cwa_14051":"${timestamp.cwa_14051}"},"data":${dataJson},"account":${sharedJsonOf(account)},"component":${sharedJsonOf(component)},"server":${sharedJsonOf(server)}}`;
}

const newline = 0x0a;

/** An event on its way into the journal. */
export interface WaitingLine {
  event: ServiceEvent;
  marks: EventMarks;
  /** Whether it belongs to an account, not to the process or to a client that nobody knows yet. */
  hasAccount: boolean;
  /** Its JSON, newline included. */
  text: string;
  /** Of the text as UTF-8. */
  sizeBytes: number;
}

/** Serialises an event for the journal. @param dataJson the JSON of its `data`, where that is known */
export function lineOf(event: ServiceEvent, marks: EventMarks, dataJson?: string): WaitingLine {
  const text = `${eventJson(event, dataJson)}\n`;
  return { event, marks, hasAccount: !isSpecialAccount(event.account.uuid), text, sizeBytes: Buffer.byteLength(text) };
}

/** An event that came as text, parsed when somebody looks at it. */
class SerialisedEvent implements LoggedEvent {
  readonly raw: Buffer;
  readonly position: LogPosition;
  readonly next: LogPosition;
  readonly takenBy = undefined;
  readonly #group: string | undefined;
  #event: ServiceEvent | undefined;

  constructor(raw: Buffer, position: LogPosition, group: string | undefined) {
    this.raw = raw;
    this.position = position;
    this.next = { segment: position.segment, offset: position.offset + raw.length + 1 };
    this.#group = group;
  }

  get event(): ServiceEvent {
    this.#event ??= JSON.parse(this.raw.toString('utf8')) as ServiceEvent;
    return this.#event;
  }

  get group(): string | undefined {
    return isSpecialAccount(this.event.account.uuid) ? undefined : this.#group;
  }
}

/**
 * The events of lines that were written in one piece.
 *
 * @param lines whole lines of one group
 * @param position where the first begins
 */
export function serialisedEvents(lines: Buffer, position: LogPosition, group: string | undefined): LoggedEvent[] {
  const events: LoggedEvent[] = [];
  let start = 0;
  for (let end = lines.indexOf(newline); end >= 0; end = lines.indexOf(newline, start)) {
    // A view of the whole piece would keep all of it in memory.
    const raw = Buffer.from(lines.subarray(start, end));
    events.push(new SerialisedEvent(raw, { segment: position.segment, offset: position.offset + start }, group));
    start = end + 1;
  }
  return events;
}
