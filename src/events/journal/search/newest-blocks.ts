import { closeSync, fstatSync } from 'node:fs';
import { openIfThere } from '../../../lib/disk/descriptors.ts';
import { linesBackwards } from '../../../lib/disk/lines-backwards.ts';
import type { CandidateBlock, Suffices } from '../event-log.ts';
import { MarksReader } from '../marks.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { listSegments } from '../segments.ts';
import type { EventSelection } from './event-selection.ts';
import { selectionNeedles } from './selection-keys.ts';
import { readSummary } from './summary.ts';

/**
 * Searches the files of a journal, newest first, for events that may be selected. Skips the parts that cannot contain selected events
 * according to the summary of their file. Files that are torn, rotated or removed meanwhile are read as far as possible.
 *
 * @param before position at which to begin instead of the end
 * @param suffices whether the event counts of a part are enough; if so, the part is not read
 */
export async function* newestBlocks(
  folder: string,
  selection: EventSelection,
  before?: LogPosition,
  suffices?: Suffices,
): AsyncGenerator<CandidateBlock> {
  const needles = selectionNeedles(selection);
  for (const segment of listSegments(folder).toReversed()) {
    if (before && comparePositions({ segment: segment.number, offset: 0 }, before) >= 0) continue;
    const fd = openIfThere(segment.path);
    if (fd === undefined) continue;
    try {
      const sizeBytes = fstatSync(fd).size;
      const end = before?.segment === segment.number ? Math.min(before.offset, sizeBytes) : sizeBytes;
      const summary = await readSummary(segment.path, async (read) => ({
        ranges: await read.findRanges(selection, suffices),
        readBytes: read.readBytes,
      }));
      const groupAt = groupLookup(segment.path);
      for (const range of summary?.ranges?.toReversed() ?? [{ start: 0, end, counted: undefined }]) {
        if (range.counted && range.end <= end) {
          yield { candidates: [], counted: range.counted, from: { segment: segment.number, offset: range.start }, readBytes: 0 };
          continue;
        }
        for await (const block of linesBackwards(fd, { start: range.start, end: Math.min(range.end, end) }, needles))
          yield {
            candidates: block.lines.map(({ line, offset }) => ({
              raw: line,
              position: { segment: segment.number, offset },
              userGroup: () => groupAt(offset),
            })),
            from: { segment: segment.number, offset: block.start },
            readBytes: block.readBytes,
          };
      }
      yield { candidates: [], from: { segment: segment.number, offset: 0 }, readBytes: summary?.readBytes ?? 0 };
    } finally {
      closeSync(fd);
    }
  }
}

/** Returns a function that finds the group of an event's account. The groups are read at its first call. */
function groupLookup(path: string): (offset: number) => string | undefined {
  let marks: MarksReader | undefined;
  return (offset) => {
    if (!marks) {
      marks = new MarksReader(path);
      marks.refresh();
    }
    return marks.groupAt(offset);
  };
}
