import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LineReader, splitLines } from '../../events/journal/lines.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import { SegmentChain, type SegmentChainOptions } from '../../events/journal/segment-chain.ts';
import { listSegments, segmentPath } from '../../events/journal/segments.ts';
import { makeFolders } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import { type DeliveryRecord, parseDeliveryRecord, type RecordKind } from './delivery-record.ts';

/** Minimum time between two log entries about lost records, in milliseconds. */
const reportEveryMs = 1000;

export type DeliveryLogOptions = Pick<SegmentChainOptions, 'folder' | 'maximumFileSizeBytes' | 'retentionDays' | 'clock' | 'log' | 'write'>;

/** Returns the folder with the delivery records in the data folder. */
export function deliveriesFolder(dataFolderPath: string): string {
  return join(dataFolderPath, 'deliveries');
}

/**
 * Writes the delivery records to NDJSON files, with one line for each request. Lines are written immediately and synced within 100 ms, so
 * that a restarted process knows which events were delivered. If a record cannot be written, it is counted and logged, and deliveries
 * continue.
 */
export class DeliveryLog {
  readonly #options: DeliveryLogOptions;
  readonly #segments: SegmentChain;
  #isWritten = true;
  #lost = 0;
  #reportedAtMs = Number.NEGATIVE_INFINITY;

  private constructor(options: DeliveryLogOptions, segments: Pick<SegmentChainOptions, 'kind' | 'segment' | 'alsoRemoves'>) {
    this.#options = options;
    this.#segments = new SegmentChain({ ...options, ...segments });
  }

  /** Opens the service's record of deliveries, which only one process writes. Its retention also removes records of manual deliveries. */
  static open(options: DeliveryLogOptions): DeliveryLog {
    return new DeliveryLog(options, { kind: 'deliveries', alsoRemoves: ['replays'] });
  }

  /**
   * Creates a new file for the records of manual deliveries, because a command can make such deliveries while a service writes to its own
   * file.
   */
  static create(options: DeliveryLogOptions): DeliveryLog {
    const kind = 'replays';
    makeFolders(options.folder, { mode: 0o700 });
    for (let number = (listSegments(options.folder, kind).at(-1)?.number ?? 0) + 1; ; number++) {
      const path = segmentPath(options.folder, number, kind);
      try {
        writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
      } catch (error) {
        if (systemErrorCode(error) === 'EEXIST') continue;
        throw error;
      }
      return new DeliveryLog(options, { kind, segment: { number, path } });
    }
  }

  get end(): LogPosition {
    return this.#segments.end;
  }

  append(record: DeliveryRecord): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    try {
      this.#segments.rotateFor(line.length);
      this.#segments.writer.append(line);
      this.#segments.writer.syncSoon();
      this.#isWritten = true;
    } catch (error) {
      this.#lost++;
      const nowMs = this.#options.clock.monotonicMs();
      if (!this.#isWritten && nowMs - this.#reportedAtMs < reportEveryMs) return;
      this.#isWritten = false;
      this.#reportedAtMs = nowMs;
      this.#options.log.error('an outcome of a delivery could not be recorded', { lost: this.#lost, reason: error });
    }
  }

  async close(): Promise<void> {
    try {
      await this.#segments.close();
    } catch (error) {
      this.#options.log.error('a file of delivery records could not be ended', { folder: this.#options.folder, reason: error });
    }
  }
}

/**
 * Yields records, even while a service writes them. Malformed lines are reported and skipped. @param from undefined for the oldest record
 */
export async function* readDeliveries(
  folder: string,
  kind: RecordKind,
  from: LogPosition | undefined,
  onBadLine: (reason: string) => void,
): AsyncGenerator<{ record: DeliveryRecord; position: LogPosition }> {
  const report = (bad: { path: string; offset: number; reason: string }) => onBadLine(`${bad.path}:${bad.offset}: ${bad.reason}`);
  const reader = new LineReader(folder, kind, report);
  try {
    for (let position = from; ; ) {
      const { segment, text, position: start, next } = await reader.next(position);
      if (!segment || text.length === 0) return;
      for (const { line, offset } of splitLines(text, start.offset)) {
        const record = parseDeliveryRecord(line.toString('utf8'));
        if (record) yield { record, position: { segment: segment.number, offset } };
        else report({ path: segment.path, offset, reason: 'not a record of a delivery' });
      }
      position = next;
    }
  } finally {
    reader.close();
  }
}

/** Finds the position from which to read the records since a time (Unix time in milliseconds). */
export function recordsSince(folder: string, kind: RecordKind, sinceMs: number): LogPosition | undefined {
  const first = listSegments(folder, kind).find(({ path }) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= sinceMs);
  return first && { segment: first.number, offset: 0 };
}
