import type { LogPosition } from '../position.ts';
import type { EventSelection } from './event-selection.ts';

/** The JSON of what may be a selected event. */
export interface Candidate {
  /** Part of what was read at once: to be copied by who keeps it. */
  raw: Buffer;
  position: LogPosition;
  /** The group of the event's account, if it belongs to one. */
  userGroup: () => string | undefined;
  /** The node that it happened on, in the journal of several. */
  node?: string | undefined;
}

/** A part of a journal that was looked through. */
export interface CandidateBlock {
  /** The newest first. */
  candidates: Candidate[];
  /** Everything from here on was looked through. */
  from: LogPosition;
  readBytes: number;
}

/** A journal that can be looked through from its end. */
export interface NewestFirstJournal {
  /**
   * What may be selected, the newest first, with bounded memory.
   *
   * @param before begins there instead of at the end; any place will do
   * @throws ServiceError `unavailable` when the journal cannot be read at present
   */
  newestBlocks(selection: EventSelection, before?: LogPosition): AsyncIterable<CandidateBlock>;
}
