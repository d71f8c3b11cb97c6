import type { Clock } from '../../../lib/clock.ts';
import { isSpecialAccount } from '../../event-factory.ts';
import type { Candidate, LoggedEvent, NewestFirstJournal } from '../event-log.ts';
import type { LogPosition } from '../position.ts';
import { parseEvent } from '../reader.ts';
import { type EventSelection, isGiven, isSelected } from './event-selection.ts';

export type FoundEvent = Pick<LoggedEvent, 'event' | 'raw' | 'position' | 'node'>;

/**
 * Limits of one page of a search. `bytes` limits the bytes that are read. The search stops after the block with which it reaches this
 * limit.
 */
export interface SearchLimits {
  events: number;
  bytes: number;
  timeMs: number;
}

/** One page of a search. */
export interface EventPage {
  /** Newest first. */
  events: FoundEvent[];
  /** Start of the next page; undefined if the search reached the beginning of the journal. */
  next: LogPosition | undefined;
  /** Number of files that were searched, and number of bytes that were read from them. */
  searched: { files: number; bytes: number };
  /** False if the search reached its limit of bytes or time before the page was full. */
  isComplete: boolean;
}

/** Maximum total size of the events in one page, in bytes. */
const largestPage = 8 * 1024 * 1024;

/**
 * Searches a journal for a page of events, newest first. Other work of the process runs between blocks of some hundred events.
 *
 * @param before the `next` of the previous page
 * @throws the signal's reason if it aborts; ServiceError `unavailable` if the journal cannot be read at present
 */
export async function searchPage(
  journal: NewestFirstJournal,
  selection: EventSelection,
  { before, limits, clock, signal }: { before?: LogPosition | undefined; limits: SearchLimits; clock: Clock; signal?: AbortSignal },
): Promise<EventPage> {
  const endMs = clock.monotonicMs() + limits.timeMs;
  const events: FoundEvent[] = [];
  const files = new Set<number>();
  let bytes = 0;
  let pageBytes = 0;
  const page = (next?: LogPosition, isComplete = true) => ({ events, next, searched: { files: files.size, bytes }, isComplete });
  for await (const { candidates, from, readBytes } of journal.newestBlocks(selection, before)) {
    signal?.throwIfAborted();
    files.add(from.segment);
    bytes += readBytes;
    for (const candidate of candidates) {
      const found = matchCandidate(candidate, selection);
      if (!found) continue;
      events.push(found);
      pageBytes += found.raw.length;
      if (events.length >= limits.events || pageBytes >= largestPage) return page(found.position);
    }
    if (bytes >= limits.bytes || clock.monotonicMs() >= endMs) return page(from, false);
  }
  return page();
}

/**
 * Yields all selected events, newest first.
 *
 * @param options.before position at which to begin instead of the end
 * @param options.maxBytes maximum number of bytes to read
 * @throws the signal's reason if it aborts; ServiceError `unavailable` if the journal cannot be read at present
 */
export async function* newestEvents(
  journal: NewestFirstJournal,
  selection: EventSelection,
  options: { before?: LogPosition | undefined; maxBytes?: number; signal?: AbortSignal } = {},
): AsyncGenerator<FoundEvent> {
  const { before, maxBytes = Number.POSITIVE_INFINITY, signal } = options;
  let bytes = 0;
  for await (const { candidates, readBytes } of journal.newestBlocks(selection, before)) {
    signal?.throwIfAborted();
    for (const candidate of candidates) {
      const found = matchCandidate(candidate, selection);
      if (found) yield found;
    }
    bytes += readBytes;
    if (bytes >= maxBytes) return;
  }
}

function matchCandidate({ raw, position, userGroup, node }: Candidate, selection: EventSelection): FoundEvent | undefined {
  const event = parseEvent(raw);
  if (typeof event === 'string') return undefined;
  const isGroupWanted = isGiven(selection.userGroup) && !isSpecialAccount(event.account.uuid);
  if (!isSelected(event, selection, isGroupWanted ? userGroup() : undefined)) return undefined;
  // The line is copied, because a view would keep the whole block in memory.
  return { event, raw: Buffer.from(raw), position, node };
}
