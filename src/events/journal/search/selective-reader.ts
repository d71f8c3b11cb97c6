import type { BadLine, EventBlock, EventReader } from '../event-log.ts';
import type { LogPosition } from '../position.ts';
import { JournalReader } from '../reader.ts';
import { listSegments, type Segment } from '../segments.ts';
import type { EventSelection } from './event-selection.ts';
import { type Range, readSummary } from './summary.ts';

/** Reads a journal's files in order and skips the parts without a selected event, as far as summaries tell. */
export class SelectiveReader implements EventReader {
  readonly #folder: string;
  readonly #wanted: EventSelection;
  readonly #reader: JournalReader;
  #segment: Segment | undefined;
  /** The parts of that file to read; undefined for all of it. */
  #ranges: Range[] | undefined;

  constructor(folder: string, wanted: EventSelection, onBadLine: (bad: BadLine) => void) {
    this.#folder = folder;
    this.#wanted = wanted;
    this.#reader = new JournalReader(folder, onBadLine);
  }

  /** Other events come along with the wanted ones. */
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
      // The reader reports removed files.
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

  /** Opens the summary of the file of a position, or of the next file. */
  async #open({ segment: number }: LogPosition): Promise<void> {
    this.#ranges = undefined;
    this.#segment = listSegments(this.#folder).find((segment) => segment.number >= number);
    if (!this.#segment) return;
    const wanted = this.#wanted;
    // Lines that are not events are reported, so they must be read.
    this.#ranges = await readSummary(this.#segment.path, async (summary) =>
      summary.badLines === 0 ? summary.findRanges(wanted) : undefined,
    );
  }
}
