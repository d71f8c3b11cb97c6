import { closeSync, fstatSync } from 'node:fs';
import { openIfThere } from '../../../lib/disk/descriptors.ts';
import { linesBackwards } from '../../../lib/disk/lines-backwards.ts';
import type { CandidateBlock } from '../event-log.ts';
import { MarksReader } from '../marks.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { listSegments, type Segment } from '../segments.ts';
import type { EventSelection } from './event-selection.ts';
import { selectionNeedles } from './selection-keys.ts';
import { type Range, Summary } from './summary.ts';

/**
 * Looks through the files of a journal from its end: what may be selected, the newest first. Where a file has a summary, only those
 * parts are read that it does not rule out. Files that are torn, rotated or removed meanwhile are read as far as they are there.
 *
 * @param before begins there instead of at the end; any place will do
 */
export async function* newestBlocks(folder: string, selection: EventSelection, before?: LogPosition): AsyncGenerator<CandidateBlock> {
  const needles = selectionNeedles(selection);
  for (const segment of listSegments(folder).toReversed()) {
    if (before && comparePositions({ segment: segment.number, offset: 0 }, before) >= 0) continue;
    const fd = openIfThere(segment.path);
    if (fd === undefined) continue;
    try {
      const sizeBytes = fstatSync(fd).size;
      const end = before?.segment === segment.number ? Math.min(before.offset, sizeBytes) : sizeBytes;
      const { ranges, readBytes } = await rangesOf(segment, fd, selection);
      const groups = new UserGroups(segment);
      for (const range of ranges?.toReversed() ?? [{ start: 0, end }])
        for await (const block of linesBackwards(fd, { start: range.start, end: Math.min(range.end, end) }, needles))
          yield {
            candidates: block.lines.map(({ line, offset }) => ({
              raw: line,
              position: { segment: segment.number, offset },
              userGroup: () => groups.at(offset),
            })),
            from: { segment: segment.number, offset: block.start },
            readBytes: block.readBytes,
          };
      yield { candidates: [], from: { segment: segment.number, offset: 0 }, readBytes };
    } finally {
      closeSync(fd);
    }
  }
}

/** @returns no ranges without a summary */
async function rangesOf(
  segment: Segment,
  fd: number,
  selection: EventSelection,
): Promise<{ ranges?: Range[] | undefined; readBytes: number }> {
  const summary = await Summary.open(segment.path, fd);
  if (!summary) return { readBytes: 0 };
  try {
    return { ranges: await summary.findRanges(selection), readBytes: summary.readBytes };
  } finally {
    summary.close();
  }
}

/** The groups of the accounts of a file's events; read when somebody asks for one. */
class UserGroups {
  readonly #segment: Segment;
  #marks: MarksReader | undefined;

  constructor(segment: Segment) {
    this.#segment = segment;
  }

  at(offset: number): string | undefined {
    if (!this.#marks) {
      this.#marks = new MarksReader(this.#segment.path);
      this.#marks.refresh();
    }
    return this.#marks.groupAt(offset);
  }
}
