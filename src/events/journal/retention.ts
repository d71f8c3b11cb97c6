import { rmSync, statSync, unlinkSync } from 'node:fs';
import type { Log } from '../../lib/log.ts';
import { marksPath } from './marks.ts';
import type { LogPosition } from './position.ts';
import { summaryPath } from './search/summary.ts';
import { listSegments, type SegmentKind } from './segments.ts';

const dayMs = 86_400_000;

/** What is kept of a row of files. */
export interface Retention {
  folder: string;
  kind: SegmentKind;
  retentionDays: number;
  /** Number of the segment that is written, which always stays. */
  currentSegment: number;
  /** The oldest position that somebody still has to read. */
  neededFrom: LogPosition | undefined;
  /** Largest size of what stays past its retention because it is needed, in bytes. */
  neededLimitBytes: number;
  nowMs: number;
  log: Log;
}

/**
 * Removes the segments whose newest event is past its retention. What a handler still needs stays, the newest first, up
 * to a limit: a receiver that is never there again must not fill the disk.
 */
export function removeOldSegments(retention: Retention): void {
  const { folder, kind, log, neededFrom, neededLimitBytes } = retention;
  const oldestMs = retention.nowMs - retention.retentionDays * dayMs;
  let neededBytes = 0;
  for (const { number, path } of listSegments(folder, kind).reverse()) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats || number >= retention.currentSegment || stats.mtimeMs >= oldestMs) continue;
    const isNeeded = neededFrom !== undefined && number >= neededFrom.segment;
    if (isNeeded) neededBytes += stats.size;
    if (isNeeded && neededBytes <= neededLimitBytes) continue;
    try {
      unlinkSync(path);
      for (const beside of [marksPath(path), summaryPath(path)]) rmSync(beside, { force: true });
    } catch (error) {
      log.warn('a journal file past its retention could not be removed', { path, reason: error });
      continue;
    }
    if (isNeeded)
      log.error('removed a journal file with undelivered events: the limit of what waits is reached', { path, neededLimitBytes });
    else log.info('removed a journal file past its retention', { path });
  }
}
