import type { ServiceEvent } from '../../../events/event.ts';
import { isSpecialAccount } from '../../../events/event-factory.ts';
import type {
  BadLine,
  CandidateBlock,
  EventBlock,
  EventReader,
  LoggedEvent,
  RawBlock,
  RawEvent,
  RawReader,
} from '../../../events/journal/event-log.ts';
import type { LogPosition } from '../../../events/journal/position.ts';
import { parseEvent } from '../../../events/journal/reader.ts';
import type { EventSelection } from '../../../events/journal/search/event-selection.ts';
import { selectionNeedles } from '../../../events/journal/search/selection-keys.ts';
import { hasNeedles } from '../../../lib/disk/lines-backwards.ts';
import type { RedisCaller } from '../../../lib/redis/redis-link.ts';

const blockEvents = 256;

/** An entry of a stream. It has an ID, and a list in which field names and values alternate. */
export type StreamEntry = [string, string[]];

/** Parses an ID, which consists of milliseconds and a sequence number. */
export function parseStreamId(id: string): LogPosition {
  const [segment = '0', offset = '0'] = id.split('-');
  return { segment: Number(segment), offset: Number(offset) };
}

/** Returns the position from which to read events since a time (Unix time in milliseconds); undefined for all events. */
export function streamSince(sinceMs: number): LogPosition;
export function streamSince(sinceMs: number | undefined): LogPosition | undefined;
export function streamSince(sinceMs: number | undefined): LogPosition | undefined {
  return sinceMs === undefined ? undefined : { segment: Math.max(Math.floor(sinceMs), 0), offset: 0 };
}

export function formatStreamId({ segment, offset }: LogPosition): string {
  return `${segment}-${offset}`;
}

/** Returns the first position after an entry. */
export function positionAfter({ segment, offset }: LogPosition): LogPosition {
  return { segment, offset: offset + 1 };
}

/** Returns the largest ID before a position. A consumer group that has read up to this ID continues at the position. */
export function idBefore({ segment, offset }: LogPosition): string {
  if (offset > 0) return `${segment}-${offset - 1}`;
  return segment > 0 ? `${segment - 1}-18446744073709551615` : '0-0';
}

/** Returns the position after the last ID that a consumer group has read. */
export function positionAfterId(id: string): LogPosition {
  const [segment = '0', sequence = '0'] = id.split('-');
  if (id === '0-0') return { segment: 0, offset: 0 };
  return sequence === '18446744073709551615' ? { segment: Number(segment) + 1, offset: 0 } : positionAfter(parseStreamId(id));
}

export function streamField([, fields]: StreamEntry, name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2) if (fields[index] === name) return fields[index + 1];
  return undefined;
}

/**
 * Reads from the journal's stream all events that may match a selection, newest first.
 *
 * @param before position to read backwards from; the end of the stream by default
 * @throws ServiceError `unavailable`
 */
export async function* newestInStream(
  caller: Pick<RedisCaller, 'call'>,
  stream: string,
  selection: EventSelection,
  before?: LogPosition,
): AsyncGenerator<CandidateBlock> {
  const needles = selectionNeedles(selection);
  // The time of an event is never after the time in the ID of its entry, because the entry is added later.
  const oldest = selection.since === undefined ? '-' : formatStreamId(streamSince(selection.since));
  for (let end = before ? idBefore(before) : '+'; ; ) {
    const entries = (await caller.call(['XREVRANGE', stream, end, oldest, 'COUNT', String(blockEvents)])) as StreamEntry[];
    const last = entries.at(-1);
    if (!last) return;
    const candidates = entries.map((entry) => ({
      raw: Buffer.from(streamField(entry, 'event') ?? ''),
      position: parseStreamId(entry[0]),
      userGroup: () => streamField(entry, 'group'),
      node: streamField(entry, 'node'),
    }));
    yield {
      candidates: candidates.filter(({ raw }) => hasNeedles(raw, needles)),
      from: parseStreamId(last[0]),
      readBytes: candidates.reduce((sum, { raw }) => sum + raw.length, 0),
    };
    if (entries.length < blockEvents) return;
    end = idBefore(parseStreamId(last[0]));
  }
}

async function entriesFrom(caller: Pick<RedisCaller, 'call'>, stream: string, from: LogPosition): Promise<StreamEntry[]> {
  return (await caller.call(['XRANGE', stream, formatStreamId(from), '+', 'COUNT', String(blockEvents)])) as StreamEntry[];
}

/** Reads the events of the journal's stream as unparsed text. */
export function rawStreamReader(caller: Pick<RedisCaller, 'call'>, stream: string): RawReader {
  return {
    async next(from) {
      const entries = await entriesFrom(caller, stream, from);
      const events = entries.map((entry) => {
        const position = parseStreamId(entry[0]);
        return { raw: Buffer.from(streamField(entry, 'event') ?? ''), position, next: positionAfter(position) };
      });
      return makeRawBlock(events, from);
    },
    close() {
      // Nothing has to be closed.
    },
  };
}

/** @param from position where reading began */
export function makeRawBlock(events: RawEvent[], from: LogPosition): RawBlock {
  return {
    count: events.length,
    bytes: events.reduce((sum, { raw }) => sum + raw.length, 0),
    position: events[0]?.position ?? from,
    next: events.at(-1)?.next ?? from,
    isOwn: false,
    events: () => Promise.resolve(events),
  };
}

/** Reads parsed events from the journal's stream. */
export class StreamReader implements EventReader {
  readonly #caller: Pick<RedisCaller, 'call'>;
  readonly #stream: string;
  readonly #onBadLine: (bad: BadLine) => void;

  constructor(caller: Pick<RedisCaller, 'call'>, stream: string, onBadLine: (bad: BadLine) => void) {
    this.#caller = caller;
    this.#stream = stream;
    this.#onBadLine = onBadLine;
  }

  async next(from: LogPosition | undefined): Promise<EventBlock> {
    const start = from ?? { segment: 0, offset: 0 };
    const entries = await entriesFrom(this.#caller, this.#stream, start);
    const events = entries.flatMap((entry) => this.#parseEntry(entry) ?? []);
    const last = entries.at(-1);
    const next = last ? positionAfter(parseStreamId(last[0])) : start;
    return { events, next };
  }

  close(): void {
    // Nothing has to be closed.
  }

  #parseEntry(entry: StreamEntry): LoggedEvent | undefined {
    const raw = Buffer.from(streamField(entry, 'event') ?? '');
    const position = parseStreamId(entry[0]);
    const event: ServiceEvent | string = parseEvent(raw);
    if (typeof event === 'string') {
      this.#onBadLine({ path: `${this.#stream} ${entry[0]}`, offset: 0, reason: event });
      return undefined;
    }
    const group = streamField(entry, 'group');
    return {
      event,
      raw,
      position,
      next: positionAfter(position),
      group: isSpecialAccount(event.account.uuid) ? undefined : group,
      takenBy: streamField(entry, 'taken_by'),
      node: streamField(entry, 'node'),
    };
  }
}
