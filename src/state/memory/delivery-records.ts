import { closeSync, fstatSync } from 'node:fs';
import { LineReader, splitLines } from '../../events/journal/lines.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import { listSegments } from '../../events/journal/segments.ts';
import { openIfThere } from '../../lib/disk/descriptors.ts';
import { linesBackwards } from '../../lib/disk/lines-backwards.ts';
import { readDeliveries, recordsSince } from '../../webhooks/records/delivery-log.ts';
import {
  type DeliveryRecord,
  type DeliveryRecords,
  parseDeliveryRecord,
  type RecordKind,
  type RecordSearch,
  type SearchStep,
} from '../../webhooks/records/delivery-record.ts';

/** Reads the delivery records from the files in a folder. */
export function fileRecords(folder: string): DeliveryRecords {
  return {
    read: (kind, from, onBadLine) => readDeliveries(folder, kind, from, onBadLine),
    since: (kind, sinceMs) => recordsSince(folder, kind, sinceMs),
    at: (kind, position) => recordAt(folder, kind, position),
    newestFirst: (kind, search) => newestInFiles(folder, kind, search),
  };
}

async function recordAt(folder: string, kind: RecordKind, position: LogPosition): Promise<DeliveryRecord | undefined> {
  const reader = new LineReader(folder, kind, () => {});
  try {
    const { segment, text, position: start } = await reader.next(position);
    const [first] = splitLines(text, start.offset);
    if (segment?.number !== position.segment || first?.offset !== position.offset) return undefined;
    return parseDeliveryRecord(first.line.toString('utf8'));
  } finally {
    reader.close();
  }
}

async function* newestInFiles(
  folder: string,
  kind: RecordKind,
  { before, sinceMs, needles: texts }: RecordSearch,
): AsyncGenerator<SearchStep> {
  const needles = texts.map((text) => [Buffer.from(text)]);
  const oldest = sinceMs === undefined ? '' : new Date(sinceMs).toISOString();
  for (const { number, path } of listSegments(folder, kind).toReversed()) {
    if (before && number > before.segment) continue;
    const fd = openIfThere(path);
    if (fd === undefined) continue;
    try {
      const { size, mtimeMs } = fstatSync(fd);
      // Several manual deliveries may write files at the same time, so a file with a lower number may contain newer records. Therefore an
      // old file is only skipped, and does not end the search.
      if (sinceMs !== undefined && mtimeMs < sinceMs) continue;
      const end = number === before?.segment ? Math.min(before.offset, size) : size;
      yield { position: { segment: number, offset: end }, readBytes: 0 };
      search: for await (const { lines, start, readBytes } of linesBackwards(fd, { start: 0, end }, needles)) {
        for (const { line, offset } of lines) {
          const record = parseDeliveryRecord(line.toString('utf8'));
          if (!record) continue;
          if (record.time < oldest) break search;
          yield { position: { segment: number, offset }, record, readBytes: 0 };
        }
        yield { position: { segment: number, offset: start }, readBytes };
      }
      yield { position: { segment: number, offset: 0 }, readBytes: 0 };
    } finally {
      closeSync(fd);
    }
  }
}
