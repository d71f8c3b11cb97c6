import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import {
  type DeliveryOutcome,
  type DeliveryRecord,
  type DeliveryRecords,
  type RecordKind,
  recordKinds,
  type SearchStep,
} from './delivery-record.ts';

/** How much of the records one page looks through; what it did not find by then is for the next. */
const maxBytesPerPage = 16 * 1024 * 1024;

/** Which deliveries are wanted; without members all. */
export interface DeliveryFilter {
  handlers?: readonly string[] | undefined;
  outcomes?: readonly DeliveryOutcome[] | undefined;
  kinds?: readonly RecordKind[] | undefined;
  /** Unix time in milliseconds. */
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  /** UUIDs of events. */
  eventUuid?: string | undefined;
  /** For example `fileUploaded`. */
  eventId?: string | undefined;
}

/** A delivery with the name by which it is found again. */
export interface NamedDelivery {
  id: string;
  kind: RecordKind;
  record: DeliveryRecord;
}

/** Some deliveries, newest first. */
export interface DeliveryPage {
  deliveries: NamedDelivery[];
  /** Where the next page begins; undefined at the end. A page may be short, or empty, and still have a next. */
  next: string | undefined;
}

const letters = { deliveries: 'd', replays: 'r' } as const;

/** The deliveries that pass a filter, by the service and by hand, newest first. @param cursor `next` of the page before; undefined for one that is malformed */
export async function newestDeliveries(
  records: DeliveryRecords,
  filter: DeliveryFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<DeliveryPage | undefined> {
  const begin = cursor === undefined ? {} : parseCursor(cursor);
  if (!begin) return undefined;
  const rows = recordKinds
    .filter((kind) => filter.kinds === undefined || filter.kinds.includes(kind))
    .map((kind) => new Row(records, kind, begin[kind], filter));
  const deliveries: NamedDelivery[] = [];
  try {
    for (let readBytes = 0; ; ) {
      for (const row of rows) {
        while (!row.hasHead && readBytes < maxBytesPerPage) readBytes += await row.step();
      }
      if (readBytes >= maxBytesPerPage || deliveries.length >= limit) return { deliveries, next: formatCursor(rows) };
      const newest = rows.filter(({ head }) => head !== undefined).sort((a, b) => (a.time < b.time ? 1 : -1))[0];
      if (!newest) return { deliveries, next: undefined };
      deliveries.push(newest.take());
    }
  } finally {
    for (const row of rows) await row.close();
  }
}

/** The delivery with an ID. @returns undefined when there is none, or none any more */
export async function findDelivery(records: DeliveryRecords, id: string): Promise<NamedDelivery | undefined> {
  const place = parsePlace(id);
  const record = place && (await records.at(place.kind, place.position));
  return record && { id, kind: place.kind, record };
}

/** The records of one kind on their way back in time. */
class Row {
  readonly kind: RecordKind;
  readonly #steps: AsyncGenerator<SearchStep>;
  readonly #filter: DeliveryFilter;
  #head: { record: DeliveryRecord; position: LogPosition } | undefined;
  #position: LogPosition | undefined;
  #isDone = false;

  constructor(records: DeliveryRecords, kind: RecordKind, before: LogPosition | undefined, filter: DeliveryFilter) {
    this.kind = kind;
    this.#filter = filter;
    this.#position = before;
    this.#steps = records.newestFirst(kind, { before, sinceMs: filter.sinceMs, needles: signsOf(filter) });
  }

  /** Whether it is known what comes next, or that nothing does. */
  get hasHead(): boolean {
    return this.#isDone || this.#head !== undefined;
  }

  get head(): DeliveryRecord | undefined {
    return this.#head?.record;
  }

  get time(): string {
    return this.#head?.record.time ?? '';
  }

  /** Everything at and behind it is in a page, or passed over. */
  get position(): LogPosition | undefined {
    return this.#isDone ? { segment: 0, offset: 0 } : this.#position;
  }

  /** Looks one step further back. @returns how many bytes were read for it */
  async step(): Promise<number> {
    const { value, done } = await this.#steps.next();
    if (done) {
      this.#isDone = true;
      return 0;
    }
    const { position, record, readBytes } = value;
    if (record && passes(record, this.#filter)) this.#head = { record, position };
    else this.#position = position;
    return readBytes;
  }

  take(): NamedDelivery {
    const { record, position } = this.#head as { record: DeliveryRecord; position: LogPosition };
    this.#head = undefined;
    this.#position = position;
    return { id: formatDeliveryId(this.kind, position), kind: this.kind, record };
  }

  async close(): Promise<void> {
    await this.#steps.return(undefined);
  }
}

/** What stands in the JSON of each record that passes. */
function signsOf({ handlers, outcomes, eventUuid, eventId }: DeliveryFilter): string[] {
  const signOf = (name: string, values: readonly string[] | undefined) =>
    values?.length === 1 ? [`"${name}":${JSON.stringify(values[0])}`] : [];
  return [
    ...signOf('handler', handlers),
    ...signOf('outcome', outcomes),
    ...signOf('uuid', eventUuid === undefined ? undefined : [eventUuid]),
    ...signOf('id', eventId === undefined ? undefined : [eventId]),
  ];
}

function passes(record: DeliveryRecord, { handlers, outcomes, sinceMs, untilMs, eventUuid, eventId }: DeliveryFilter): boolean {
  if (handlers && !handlers.includes(record.handler)) return false;
  if (outcomes && !outcomes.includes(record.outcome)) return false;
  if (eventUuid !== undefined && !record.events.some(({ uuid }) => uuid === eventUuid)) return false;
  if (eventId !== undefined && !record.events.some(({ id }) => id === eventId)) return false;
  const atMs = Date.parse(record.time);
  return !(sinceMs !== undefined && atMs < sinceMs) && !(untilMs !== undefined && atMs >= untilMs);
}

/** The ID of the delivery whose record begins at a position. */
export function formatDeliveryId(kind: RecordKind, { segment, offset }: LogPosition): string {
  return `${letters[kind]}${segment}-${offset}`;
}

function parsePlace(text: string): { kind: RecordKind; position: LogPosition } | undefined {
  const match = /^([dr])(\d{1,15})-(\d{1,15})$/.exec(text);
  const kind = recordKinds.find((candidate) => letters[candidate] === match?.[1]);
  if (!match || !kind) return undefined;
  return { kind, position: { segment: Number(match[2]), offset: Number(match[3]) } };
}

function formatCursor(rows: readonly Row[]): string | undefined {
  const isAtEnd = rows.every(({ position }) => position && comparePositions(position, { segment: 0, offset: 0 }) === 0);
  if (isAtEnd) return undefined;
  return rows.flatMap(({ kind, position }) => (position ? [formatDeliveryId(kind, position)] : [])).join('.');
}

function parseCursor(text: string): Partial<Record<RecordKind, LogPosition>> | undefined {
  const begin: Partial<Record<RecordKind, LogPosition>> = {};
  for (const part of text.split('.', 3)) {
    const place = parsePlace(part);
    if (!place) return undefined;
    begin[place.kind] = place.position;
  }
  return begin;
}
