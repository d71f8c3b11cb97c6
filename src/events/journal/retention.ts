import { rmSync, statSync, unlinkSync } from 'node:fs';
import type { Log } from '../../lib/log.ts';
import { marksPath } from './marks.ts';
import type { LogPosition } from './position.ts';
import { summaryPath } from './search/summary.ts';
import { listSegments, type SegmentKind } from './segments.ts';

/** The files of a row that stay. */
export interface Retention {
  folder: string;
  kind: SegmentKind;
  /** Files whose newest line is older are removed, Unix time in milliseconds. */
  oldestMs: number;
  /** Number of the segment being written, which always stays. */
  currentSegment?: number;
  /** The oldest position that a handler still has to read. */
  neededFrom?: LogPosition | undefined;
  /** Largest size of the files that stay past their retention because of it, in bytes. */
  neededLimitBytes: number;
  log: Log;
}

/**
 * Removes the segments past their retention. Those that a handler still needs stay, the newest first, up to a limit: a receiver
 * that never comes back must not fill the disk.
 */
export function removeOldSegments(retention: Retention): void {
  const { folder, kind, oldestMs, currentSegment = Number.POSITIVE_INFINITY, log, neededFrom, neededLimitBytes } = retention;
  let neededBytes = 0;
  for (const { number, path } of listSegments(folder, kind).reverse()) {
    const stats = statSync(path, { throwIfNoEntry: false });
    if (!stats || number >= currentSegment || stats.mtimeMs >= oldestMs) continue;
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
