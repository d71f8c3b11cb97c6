import type { BadLine, EventBlock, EventReader } from '../event-log.ts';
import type { LogPosition } from '../position.ts';
import { JournalReader } from '../reader.ts';
import { listSegments, type Segment } from '../segments.ts';
import type { EventSelection } from './event-selection.ts';
import { type Range, readSummary } from './summary.ts';

/** Reads the files of a journal in order. Skips the parts that contain no selected event according to the summary of their file. */
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
