import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { LineReader } from '../../events/journal/lines.ts';
import type { LogPosition } from '../../events/journal/position.ts';
import { removeOldSegments } from '../../events/journal/retention.ts';
import { SegmentWriter } from '../../events/journal/segment-writer.ts';
import { listSegments, repairSegment, type Segment, type SegmentKind, segmentPath } from '../../events/journal/segments.ts';
import type { Clock } from '../../lib/clock.ts';
import { makeFolders } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { type DeliveryRecord, parseDeliveryRecord, type RecordKind } from './delivery-record.ts';

/** How often a file that could not be written is tried anew, and lost records are reported. */
const retryEveryMs = 1000;

export interface DeliveryLogOptions {
  folder: string;
  /** Size at which a new file is begun. */
  maximumFileSizeBytes: number;
  clock: Clock;
  log: Log;
  /** Writes to a descriptor at its end; replaced in tests that fill the disk. */
  write?: (fd: number, bytes: Buffer) => number;
}

/** The folder of the record of deliveries inside the data folder. */
export function deliveriesFolder(dataFolderPath: string): string {
  return join(dataFolderPath, 'deliveries');
}

/**
 * The record of deliveries in NDJSON files: one line a request. It is written at once, so that a killed process knows what
 * it delivered, and synced within 100 ms. A record that cannot be written is counted and logged; delivering goes on.
 */
export class DeliveryLog {
  readonly #options: DeliveryLogOptions;
  readonly #kind: SegmentKind;
  #writer: SegmentWriter;
  #isWritten = true;
  #lost = 0;
  #troubleAtMs = Number.NEGATIVE_INFINITY;
  readonly #ending = new Set<Promise<void>>();

  private constructor(kind: SegmentKind, segment: Segment, options: DeliveryLogOptions) {
    this.#kind = kind;
    this.#options = options;
    this.#writer = new SegmentWriter(segment, options);
  }

  /** Opens the service's own record, which one process writes. */
  static open(options: DeliveryLogOptions): DeliveryLog {
    const { folder, log } = options;
    makeFolders(folder, { mode: 0o700 });
    const last = listSegments(folder, 'deliveries').at(-1);
    if (last) repairSegment(last.path, log);
    return new DeliveryLog('deliveries', last ?? { number: 1, path: segmentPath(folder, 1, 'deliveries') }, options);
  }

  /** Begins a file of its own for deliveries made by hand, also while a service writes its record. */
  static create(options: DeliveryLogOptions): DeliveryLog {
    makeFolders(options.folder, { mode: 0o700 });
    for (let number = (listSegments(options.folder, 'replays').at(-1)?.number ?? 0) + 1; ; number++) {
      const path = segmentPath(options.folder, number, 'replays');
      try {
        writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
      } catch (error) {
        if (systemErrorCode(error) === 'EEXIST') continue;
        throw error;
      }
      return new DeliveryLog('replays', { number, path }, options);
    }
  }

  /** Where the next record will begin. */
  get end(): LogPosition {
    return { segment: this.#writer.segment.number, offset: this.#writer.sizeBytes };
  }

  append(record: DeliveryRecord): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    try {
      this.#beginSegmentIfNeeded(line.length);
      this.#writer.append(line);
      this.#writer.syncSoon();
      this.#isWritten = true;
    } catch (error) {
      this.#lost++;
      this.#reportTrouble('an outcome of a delivery could not be recorded', { lost: this.#lost, reason: error });
    }
  }

  /** Removes files whose newest record is past its retention. */
  removeOld(retentionDays: number): void {
    const { folder, clock, log } = this.#options;
    for (const kind of ['deliveries', 'replays'] as const) {
      const currentSegment = kind === this.#kind ? this.#writer.segment.number : Number.POSITIVE_INFINITY;
      try {
        removeOldSegments({
          folder,
          kind,
          retentionDays,
          currentSegment,
          neededFrom: undefined,
          neededLimitBytes: 0,
          nowMs: clock.nowMs(),
          log,
        });
      } catch (error) {
        log.warn('files past their retention could not be removed', { kind, reason: error });
      }
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.#ending);
    await this.#end(this.#writer);
  }

  #beginSegmentIfNeeded(lineBytes: number): void {
    const { failure, sizeBytes, segment } = this.#writer;
    const isFull = sizeBytes > 0 && sizeBytes + lineBytes > this.#options.maximumFileSizeBytes;
    if (failure === undefined && !isFull) return;
    if (failure !== undefined && this.#options.clock.monotonicMs() - this.#troubleAtMs < retryEveryMs) throw failure;
    const number = segment.number + 1;
    const next = new SegmentWriter({ number, path: segmentPath(this.#options.folder, number, this.#kind) }, this.#options);
    const ending = this.#end(this.#writer).finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    this.#writer = next;
  }

  async #end(writer: SegmentWriter): Promise<void> {
    try {
      await writer.close();
    } catch (error) {
      this.#options.log.error('a file of delivery records could not be ended', { path: writer.segment.path, reason: error });
    }
  }

  #reportTrouble(message: string, fields: Record<string, unknown>): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (!this.#isWritten && nowMs - this.#troubleAtMs < retryEveryMs) return;
    this.#isWritten = false;
    this.#troubleAtMs = nowMs;
    this.#options.log.error(message, fields);
  }
}

/**
 * Reads records of deliveries, also while a service writes them. Lines that are none are reported and skipped.
 *
 * @param from where to begin; undefined for the oldest that is kept
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
      const { segment, lines, next } = await reader.next(position);
      if (!segment || lines.length === 0) return;
      for (const { line, offset } of lines) {
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

/** Where to begin reading records that are not older than a time, in Unix milliseconds. */
export function recordsSince(folder: string, kind: RecordKind, sinceMs: number): LogPosition | undefined {
  const first = listSegments(folder, kind).find(({ path }) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= sinceMs);
  return first && { segment: first.number, offset: 0 };
}
