import type { RedisLink } from '../../lib/redis/redis-link.ts';
import {
  type DeliveryRecord,
  type DeliveryRecords,
  parseDeliveryRecord,
  type RecordKind,
  type RecordSearch,
  type SearchStep,
} from '../../webhooks/records/delivery-record.ts';
import { formatStreamId, idBefore, parseStreamId, positionAfter, type StreamEntry, streamField } from './journal/reader.ts';

const pageRecords = 500;

/** Returns the name of the stream of delivery records. */
export function recordStream(link: Pick<RedisLink, 'key'>, kind: RecordKind): string {
  return link.key(kind);
}

/** Reads the delivery records of all nodes. */
export function redisRecords(link: Pick<RedisLink, 'key' | 'call' | 'values'>): DeliveryRecords {
  return {
    async *read(kind, from, onBadLine) {
      for (let position = from ?? { segment: 0, offset: 0 }; ; ) {
        const range = ['XRANGE', recordStream(link, kind), formatStreamId(position), '+', 'COUNT', String(pageRecords)];
        const entries = (await link.call(range)) as StreamEntry[];
        for (const entry of entries) {
          const record = parseDeliveryRecord(streamField(entry, 'record') ?? '');
          position = positionAfter(parseStreamId(entry[0]));
          if (record) yield { record, position: parseStreamId(entry[0]) };
          else {
            skipBad(link, kind, entry);
            onBadLine(`${recordStream(link, kind)} ${entry[0]}: not a record of a delivery`);
          }
        }
        if (entries.length < pageRecords) return;
      }
    },
    since: (_, sinceMs) => ({ segment: Math.max(Math.floor(sinceMs), 0), offset: 0 }),
    async at(kind, position) {
      const id = formatStreamId(position);
      const [entry] = (await link.call(['XRANGE', recordStream(link, kind), id, id])) as StreamEntry[];
      const record = entry && parseDeliveryRecord(streamField(entry, 'record') ?? '');
      if (entry && !record) skipBad(link, kind, entry);
      return record;
    },
    newestFirst: (kind, search) => newestInStream(link, kind, search),
  };
}

function skipBad(link: Pick<RedisLink, 'key' | 'values'>, kind: RecordKind, [id]: StreamEntry): void {
  link.values.skip(`${recordStream(link, kind)} ${id}`, 'it is not a record of a delivery');
}

async function* newestInStream(
  link: Pick<RedisLink, 'key' | 'call' | 'values'>,
  kind: RecordKind,
  { before, sinceMs, needles: signs }: RecordSearch,
): AsyncGenerator<SearchStep> {
  const stream = recordStream(link, kind);
  let end = before ? idBefore(before) : '+';
  // An entry is added after its record is created, so the time in its ID is never before the time of the record.
  const oldest = String(Math.max(Math.floor(sinceMs ?? 0), 0));
  if (before) yield { position: before, readBytes: 0 };
  for (;;) {
    const entries = (await link.call(['XREVRANGE', stream, end, oldest, 'COUNT', String(pageRecords)])) as StreamEntry[];
    const [newest] = entries;
    if (newest && end === '+') yield { position: positionAfter(parseStreamId(newest[0])), readBytes: 0 };
    for (const entry of entries) {
      const text = streamField(entry, 'record') ?? '';
      const isSought = signs.every((sign) => text.includes(sign));
      const record = isSought ? parseDeliveryRecord(text) : undefined;
      if (isSought && !record) skipBad(link, kind, entry);
      yield { position: parseStreamId(entry[0]), ...(record && { record }), readBytes: text.length };
    }
    const last = entries.at(-1);
    if (!last || entries.length < pageRecords) return;
    end = idBefore(parseStreamId(last[0]));
  }
}

/** Creates a log for records of manual deliveries. @param oldestMs Unix time in milliseconds; older records are removed */
export function redisReplayLog(link: RedisLink, oldestMs: number): { append(record: DeliveryRecord): void; close(): Promise<void> } {
  const running = new Set<Promise<unknown>>();
  return {
    append(record) {
      const added = link.call([
        ...['XADD', recordStream(link, 'replays'), 'MINID', '~', String(Math.max(Math.floor(oldestMs), 0))],
        ...['*', 'record', JSON.stringify(record)],
      ]);
      running.add(added);
      // A failed promise stays in `running`, so that `close` throws its error.
      added.then(
        () => running.delete(added),
        () => {},
      );
    },
    async close() {
      await Promise.all(running);
    },
  };
}
