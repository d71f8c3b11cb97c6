import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import {
  type DeliveryOutcome,
  type DeliveryRecord,
  type DeliveryRecords,
  type RecordKind,
  recordKinds,
  type SearchStep,
} from './delivery-record.ts';

/** Maximum number of bytes of records that are read for one page. The next page continues where the reading stopped. */
const maxBytesPerPage = 16 * 1024 * 1024;

export interface DeliveryFilter {
  handlers?: readonly string[] | undefined;
  outcomes?: readonly DeliveryOutcome[] | undefined;
  kinds?: readonly RecordKind[] | undefined;
  /** Unix time in milliseconds. */
  sinceMs?: number | undefined;
  untilMs?: number | undefined;
  eventUuid?: string | undefined;
  /** Event ID as a string, for example the number of `fileUploaded`. */
  eventId?: string | undefined;
}

export interface NamedDelivery {
  id: string;
  kind: RecordKind;
  record: DeliveryRecord;
}

/** A page of deliveries, newest first. */
export interface DeliveryPage {
  deliveries: NamedDelivery[];
  /** Cursor of the next page; undefined at the end. A short or even empty page may have a next page. */
  next: string | undefined;
}

const letters = { deliveries: 'd', replays: 'r' } as const;

/** Finds the automatic and manual deliveries that pass a filter, newest first. @returns undefined for a malformed cursor */
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
      for (const row of rows) while (!row.isReady && readBytes < maxBytesPerPage) readBytes += await row.step();
      if (readBytes >= maxBytesPerPage || deliveries.length >= limit) return { deliveries, next: formatCursor(rows) };
      const heads = rows.flatMap((row) => (row.head ? { row, head: row.head } : []));
      const [newest] = heads.sort((a, b) => (a.head.record.time < b.head.record.time ? 1 : -1));
      if (!newest) return { deliveries, next: undefined };
      deliveries.push(newest.row.take(newest.head));
    }
  } finally {
    for (const row of rows) await row.close();
  }
}

/** Finds a delivery by its ID. @returns undefined if it does not exist, or if its record was removed */
export async function findDelivery(records: DeliveryRecords, id: string): Promise<NamedDelivery | undefined> {
  const place = parseDeliveryId(id);
  const record = place && (await records.at(place.kind, place.position));
  return record && { id, kind: place.kind, record };
}

/** Reads the records of one kind, newest first. */
class Row {
  readonly kind: RecordKind;
  readonly #steps: AsyncGenerator<SearchStep>;
  readonly #filter: DeliveryFilter;
  /** The next record that passes the filter; undefined until it is found. */
  head: { record: DeliveryRecord; position: LogPosition } | undefined;
  #position: LogPosition | undefined;
  #isDone = false;

  constructor(records: DeliveryRecords, kind: RecordKind, before: LogPosition | undefined, filter: DeliveryFilter) {
    this.kind = kind;
    this.#filter = filter;
    this.#position = before;
    this.#steps = records.newestFirst(kind, { before, sinceMs: filter.sinceMs, needles: filterNeedles(filter) });
  }

  get isReady(): boolean {
    return this.#isDone || this.head !== undefined;
  }

  /** The records from this position on have been returned or filtered out. */
  get position(): LogPosition | undefined {
    return this.#isDone ? { segment: 0, offset: 0 } : this.#position;
  }

  /** Searches one step further back. @returns the number of bytes that were read */
  async step(): Promise<number> {
    const { value, done } = await this.#steps.next();
    if (done) {
      this.#isDone = true;
      return 0;
    }
    const { position, record, readBytes } = value;
    if (record && passes(record, this.#filter)) this.head = { record, position };
    else this.#position = position;
    return readBytes;
  }

  take({ record, position }: NonNullable<Row['head']>): NamedDelivery {
    this.head = undefined;
    this.#position = position;
    return { id: formatDeliveryId(this.kind, position), kind: this.kind, record };
  }

  async close(): Promise<void> {
    await this.#steps.return(undefined);
  }
}

/** Returns texts that the JSON of every matching record contains. */
function filterNeedles({ handlers, outcomes, eventUuid, eventId }: DeliveryFilter): string[] {
  const needle = (name: string, values: readonly string[] | undefined) =>
    values?.length === 1 ? [`"${name}":${JSON.stringify(values[0])}`] : [];
  return [
    ...needle('handler', handlers),
    ...needle('outcome', outcomes),
    ...needle('uuid', eventUuid === undefined ? undefined : [eventUuid]),
    ...needle('id', eventId === undefined ? undefined : [eventId]),
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

/** Returns the ID of the delivery whose record begins at a position. */
export function formatDeliveryId(kind: RecordKind, { segment, offset }: LogPosition): string {
  return `${letters[kind]}${segment}-${offset}`;
}

function parseDeliveryId(text: string): { kind: RecordKind; position: LogPosition } | undefined {
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
    const place = parseDeliveryId(part);
    if (!place) return undefined;
    begin[place.kind] = place.position;
  }
  return begin;
}
