import { isDeepStrictEqual } from 'node:util';
import type { EventReader } from '../../events/journal/event-log.ts';
import type { OnBadLine } from '../../events/journal/event-search.ts';
import { formatPosition, type LogPosition, parsePosition } from '../../events/journal/position.ts';
import { parseEvent } from '../../events/journal/reader.ts';
import { isJson, isObject } from '../../lib/json.ts';
import type { OutgoingEvent, RenderedPayload } from '../payload/create-payload.ts';
import { mask, publicEvent, queryText, secretMember } from '../payload/create-payload.ts';
import { type DeliveryRecord, recordKinds } from '../records/delivery-record.ts';
import type { SentEvent } from '../webhook-handler.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Receives reports of lines, records and requests that cannot be sent again. */
export interface BadLineReport {
  /** Called for a malformed line or record. May throw an error to end the run. */
  add: OnBadLine;
  /** Called for a delivery or request that cannot be sent again for another reason, usually because it is no longer kept. */
  missing: OnBadLine;
}

export interface RecordedRequest {
  record: DeliveryRecord;
  events: SentEvent[];
  rendered: RenderedPayload;
}

/**
 * Yields the recorded requests of some events, with their original bytes, in the order of the records. If several requests have the same
 * handler and first event, only the newest is yielded.
 *
 * @param isWanted whether a record is wanted; called with the handler and the UUID of each event
 * @param bad called for malformed records, and for records whose events or body are no longer kept
 */
export async function* recordedRequests(
  journal: ReplayedJournal,
  isWanted: (handler: string, uuid: string) => boolean,
  bad: BadLineReport,
): AsyncGenerator<RecordedRequest> {
  const newest = new Map<string, string>();
  for await (const { record, place } of records(journal, (reason) => bad.add('records', reason))) {
    // Events that were replayed from a file are not in the journal, so their requests cannot be restored.
    const isOfJournal = record.events.every(({ position }) => position !== undefined);
    if (isOfJournal && record.events.some(({ uuid }) => isWanted(record.handler, uuid))) newest.set(requestKey(record), place);
  }
  const lines = new JournalLines(journal);
  try {
    for await (const { record, place } of records(journal, () => {})) {
      if (newest.get(requestKey(record)) !== place) continue;
      const events = await readRecordedEvents(record, lines);
      const rendered = events && renderRecord(record, events);
      if (rendered) yield { record, events, rendered };
      else bad.missing(`${record.handler} ${record.events[0]?.uuid}`, 'the request is no longer kept');
    }
  } finally {
    lines.close();
  }
}

async function* records(
  journal: ReplayedJournal,
  onBadLine: (reason: string) => void,
): AsyncGenerator<{ record: DeliveryRecord; place: string }> {
  for (const kind of recordKinds)
    for await (const { record, position } of journal.records.read(kind, undefined, onBadLine))
      yield { record, place: `${kind} ${formatPosition(position)}` };
}

/** Returns a key that is the same for all requests with the same handler and first event. */
export function requestKey({ handler, events }: { handler: string; events: readonly { uuid: string }[] }): string {
  return `${handler} ${events[0]?.uuid}`;
}

/** Reads single lines of the journal. Keeps the last block, because the next line is usually in it. Must be closed. */
export class JournalLines {
  readonly #reader: EventReader;
  readonly #block = new Map<number, Buffer>();
  #segment = 0;

  constructor(journal: Pick<ReplayedJournal, 'openReader'>) {
    this.#reader = journal.openReader(() => {});
  }

  async at(position: LogPosition): Promise<Buffer | undefined> {
    if (this.#segment !== position.segment || !this.#block.has(position.offset)) {
      const { events } = await this.#reader.next(position);
      this.#block.clear();
      this.#segment = events[0]?.position.segment ?? 0;
      for (const { raw, position: at } of events) if (at.segment === this.#segment) this.#block.set(at.offset, raw);
    }
    return this.#segment === position.segment ? this.#block.get(position.offset) : undefined;
  }

  close(): void {
    this.#reader.close();
  }
}

/** Reads the events of a record from the journal. @returns undefined if one of them is not in the journal */
export async function readRecordedEvents(record: Pick<DeliveryRecord, 'events'>, lines: JournalLines): Promise<SentEvent[] | undefined> {
  const events: SentEvent[] = [];
  for (const { uuid, position: text } of record.events) {
    const position = text === undefined ? undefined : parsePosition(text);
    const raw = position && (await lines.at(position));
    const event = raw && parseEvent(raw);
    if (!raw || typeof event !== 'object' || event.uuid !== uuid) return undefined;
    events.push({ event, raw, position });
  }
  return events;
}

/** Returns a request with its secrets masked. */
export function maskSecrets(rendered: RenderedPayload, events: readonly OutgoingEvent[]): RenderedPayload {
  return renderMasked(rendered, events);
}

/**
 * Inserts the secrets of the current configuration into a recorded request, because records contain no secrets.
 *
 * @param today request that the current configuration makes for the same events
 * @returns undefined if the secrets cannot be inserted
 */
export function withSecrets(rendered: RenderedPayload, today: RenderedPayload): RenderedPayload | undefined {
  const { recorded } = rendered;
  if (isDeepStrictEqual(recorded, today.recorded)) return { ...rendered, body: today.body, query: today.query };
  if (!JSON.stringify(recorded).includes(mask)) return rendered;
  if ('query' in recorded) {
    const members = fillSecrets(parseQuery(recorded.query), parseQuery(today.query));
    return isObject(members) ? { ...rendered, query: Object.entries(members).map(([name, value]) => [name, queryText(value)]) } : undefined;
  }
  if (!('before' in recorded) || !rendered.body || !today.body || !isJson(today.body.toString('utf8'))) return undefined;
  const tail = fillSecrets(JSON.parse(recorded.before + recorded.after), JSON.parse(today.body.toString('utf8')));
  if (tail === undefined) return undefined;
  const head = rendered.body.subarray(0, rendered.body.length - Buffer.byteLength(recorded.after));
  return { ...rendered, body: Buffer.concat([head, Buffer.from(JSON.stringify(tail).slice(recorded.before.length))]) };
}

/** Returns the parameters of a query as members. Lists and objects are parsed as JSON. */
function parseQuery(query: RenderedPayload['query']): Record<string, unknown> {
  return Object.fromEntries(query.map(([name, value]) => [name, /^[[{]/.test(value) && isJson(value) ? JSON.parse(value) : value]));
}

/** Replaces each masked member by the secret with the same name. @returns undefined if a secret is missing */
function fillSecrets(value: unknown, secrets: unknown, isSecret = false): unknown {
  if (isSecret && value === mask) return secrets;
  if (Array.isArray(value)) {
    const items = value.map((item, index) => fillSecrets(item, Array.isArray(secrets) ? secrets[index] : undefined, isSecret));
    return items.includes(undefined) ? undefined : items;
  }
  if (!isObject(value)) return value;
  const findSecrets = (name: string) => (isObject(secrets) && Object.hasOwn(secrets, name) ? secrets[name] : undefined);
  const members = Object.entries(value).map(([name, member]) => [
    name,
    fillSecrets(member, findSecrets(name), isSecret || secretMember.test(name)),
  ]);
  return members.some(([, member]) => member === undefined) ? undefined : Object.fromEntries(members);
}

/** Restores the request of a record, with its secrets masked. @returns undefined if the body was too long to be recorded */
export function renderRecord({ body, content_type }: DeliveryRecord, events: readonly SentEvent[]): RenderedPayload | undefined {
  return body && renderMasked({ contentType: content_type, recorded: body }, events);
}

function renderMasked(
  { contentType, recorded: body }: Pick<RenderedPayload, 'contentType' | 'recorded'>,
  events: readonly OutgoingEvent[],
): RenderedPayload {
  const shared = { contentType, query: [], recorded: body };
  if ('text' in body) return { ...shared, body: Buffer.from(body.text) };
  if ('query' in body) return { ...shared, body: undefined, query: body.query };
  const lines = events.map((event) => publicEvent(event).raw.toString('utf8')).join(',');
  return { ...shared, body: Buffer.from(body.before + lines + body.after) };
}
