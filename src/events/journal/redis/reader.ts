import type { RedisCaller } from '../../../lib/redis/redis-link.ts';
import type { ServiceEvent } from '../../event.ts';
import { isSpecialAccount } from '../../event-factory.ts';
import type { BadLine, EventBlock, EventReader, LoggedEvent } from '../event-log.ts';
import { signOfAccount } from '../newest-first.ts';
import type { LogPosition } from '../position.ts';
import { parseEvent } from '../reader.ts';

/** Most events of one block. */
const blockEvents = 256;

/** One entry of a stream: its ID, then names and values. */
export type StreamEntry = [string, string[]];

/** The position of an entry: milliseconds and sequence number of its ID. */
export function positionOfId(id: string): LogPosition {
  const [segment = '0', offset = '0'] = id.split('-');
  return { segment: Number(segment), offset: Number(offset) };
}

/** Where to begin reading events that are not older than a time (Unix time in milliseconds); undefined for all. */
export function streamSince(sinceMs: number | undefined): LogPosition | undefined {
  return sinceMs === undefined ? undefined : { segment: Math.max(Math.floor(sinceMs), 0), offset: 0 };
}

/** The ID of the entry at a position. */
export function idOfPosition({ segment, offset }: LogPosition): string {
  return `${segment}-${offset}`;
}

/** The first position behind an entry. */
export function positionAfter({ segment, offset }: LogPosition): LogPosition {
  return { segment, offset: offset + 1 };
}

/** The largest ID before a position: what a consumer group that goes on there has read. */
export function idBefore({ segment, offset }: LogPosition): string {
  if (offset > 0) return `${segment}-${offset - 1}`;
  return segment > 0 ? `${segment - 1}-18446744073709551615` : '0-0';
}

/** The position behind the last ID that a consumer group has read. */
export function positionAfterId(id: string): LogPosition {
  const [segment = '0', sequence = '0'] = id.split('-');
  if (id === '0-0') return { segment: 0, offset: 0 };
  return sequence === '18446744073709551615' ? { segment: Number(segment) + 1, offset: 0 } : positionAfter(positionOfId(id));
}

/** The value of a field of an entry. */
export function fieldOf([, fields]: StreamEntry, name: string): string | undefined {
  for (let index = 0; index < fields.length; index += 2) if (fields[index] === name) return fields[index + 1];
  return undefined;
}

/** Entries that are looked at when somebody's page waits for it. */
const mostLookedAt = 20_000;

/** The events of one account in the journal's stream, the newest first, as far back as `mostLookedAt` entries. @throws ServiceError `unavailable` */
export async function* newestInStream(
  caller: Pick<RedisCaller, 'call'>,
  stream: string,
  accountUuid: string,
): AsyncGenerator<ServiceEvent> {
  const sign = signOfAccount(accountUuid);
  let before = '+';
  for (let looked = 0; looked < mostLookedAt; looked += blockEvents) {
    const entries = (await caller.call(['XREVRANGE', stream, before, '-', 'COUNT', String(blockEvents)])) as StreamEntry[];
    for (const entry of entries) {
      const text = fieldOf(entry, 'event') ?? '';
      const event = text.includes(sign) ? parseEvent(text) : '';
      if (typeof event !== 'string' && event.account.uuid === accountUuid) yield event;
    }
    const last = entries.at(-1);
    if (!last || entries.length < blockEvents) return;
    before = `(${last[0]}`;
  }
}

/** Reads events from the journal's stream. */
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
    const entries = (await this.#caller.call([
      'XRANGE',
      this.#stream,
      idOfPosition(start),
      '+',
      'COUNT',
      String(blockEvents),
    ])) as StreamEntry[];
    const events = entries.flatMap((entry) => this.#eventOf(entry) ?? []);
    const last = entries.at(-1);
    const next = last ? positionAfter(positionOfId(last[0])) : start;
    return { events, next };
  }

  close(): void {
    // There is nothing open.
  }

  #eventOf(entry: StreamEntry): LoggedEvent | undefined {
    const raw = Buffer.from(fieldOf(entry, 'event') ?? '');
    const position = positionOfId(entry[0]);
    const event: ServiceEvent | string = parseEvent(raw);
    if (typeof event === 'string') {
      this.#onBadLine({ path: `${this.#stream} ${entry[0]}`, offset: 0, reason: event });
      return undefined;
    }
    const group = fieldOf(entry, 'group');
    return {
      event,
      raw,
      position,
      next: positionAfter(position),
      group: isSpecialAccount(event.account.uuid) ? undefined : group,
      takenBy: fieldOf(entry, 'taken_by'),
      node: fieldOf(entry, 'node'),
    };
  }
}
