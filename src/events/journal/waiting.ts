import type { ServiceEvent } from '../event.ts';
import { isSpecialAccount } from '../event-factory.ts';
import { eventJson } from '../event-json.ts';
import type { EventMarks } from './event-log.ts';

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

/** Serialises an event for the journal. */
export function lineOf(event: ServiceEvent, marks: EventMarks): WaitingLine {
  const text = `${eventJson(event)}\n`;
  return { event, marks, hasAccount: !isSpecialAccount(event.account.uuid), text, sizeBytes: Buffer.byteLength(text) };
}
