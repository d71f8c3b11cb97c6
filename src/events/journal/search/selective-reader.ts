import { closeSync, fstatSync } from 'node:fs';
import { openIfThere } from '../../../lib/disk/descriptors.ts';
import { linesBackwards } from '../../../lib/disk/lines-backwards.ts';
import type { BadLine, CandidateBlock, EventBlock, EventReader, Suffices } from '../event-log.ts';
import { MarksReader } from '../marks.ts';
import { comparePositions, type LogPosition } from '../position.ts';
import { JournalReader } from '../reader.ts';
import { listSegments, type Segment } from '../segments.ts';
import type { EventSelection } from './event-selection.ts';
import { selectionNeedles } from './selection-keys.ts';
import { type Range, readSummary } from './summary.ts';

/** Reads the files of a journal in order. Skips the parts that, according to the summary of their file, contain no selected event. */
export class SelectiveReader implements EventReader {
  readonly #folder: string;
  readonly #wanted: EventSelection;
  readonly #reader: JournalReader;
  #segment: Segment | undefined;
  /** The parts of `#segment` to read; undefined for the whole file. */
  #ranges: Range[] | undefined;

  constructor(folder: string, wanted: EventSelection, onBadLine: (bad: BadLine) => void) {
    this.#folder = folder;
    this.#wanted = wanted;
    this.#reader = new JournalReader(folder, onBadLine);
  }

  /** Reads the next events. The block may also contain events that are not selected. */
  async next(from: LogPosition | undefined): Promise<EventBlock> {
    return this.#reader.next(await this.#firstWanted(from));
  }

  close(): void {
    this.#reader.close();
  }

  async #firstWanted(from: LogPosition | undefined): Promise<LogPosition | undefined> {
    for (let position = from ?? { segment: 0, offset: 0 }; ; ) {
      if (this.#segment?.number !== position.segment) await this.#open(position);
      const segment = this.#segment;
      // If the file was removed, the position is returned unchanged, so that the reader reports the removal.
      if (!segment || (segment.number !== position.segment && position.segment > 0)) return from && position;
      const offset = segment.number === position.segment ? position.offset : 0;
      if (!this.#ranges) return from && { segment: segment.number, offset };
      const range = this.#ranges.find(({ end }) => end > offset);
      if (range) return { segment: segment.number, offset: Math.max(range.start, offset) };
      const later = listSegments(this.#folder).find(({ number }) => number > segment.number);
      if (!later) return { segment: segment.number, offset };
      position = { segment: later.number, offset: 0 };
    }
  }

  /** Opens the summary of the file at a position. If that file does not exist, opens the summary of the next file. */
  async #open({ segment: number }: LogPosition): Promise<void> {
    this.#ranges = undefined;
    this.#segment = listSegments(this.#folder).find((segment) => segment.number >= number);
    if (!this.#segment) return;
    const wanted = this.#wanted;
    // A file with lines that are not events is read completely, so that these lines are reported.
    this.#ranges = await readSummary(this.#segment.path, async (summary) =>
      summary.badLines === 0 ? summary.findRanges(wanted) : undefined,
    );
  }
}

/**
 * Searches the files of a journal, newest first, for events that may be selected. Skips the parts that, according to the summary of their
 * file, cannot contain selected events. Files that are torn, rotated or removed meanwhile are read as far as possible.
 *
 * @param before position at which to begin instead of the end
 * @param suffices whether the counts of a part's events are enough; if so, the part is not read
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
