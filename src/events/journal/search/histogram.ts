import type { Clock } from '../../../lib/clock.ts';
import type { ServiceEvent } from '../../event.ts';
import type { CountedBlock, NewestFirstJournal } from '../event-log.ts';
import { parseEvent } from '../reader.ts';
import {
  type EventSelection,
  eventOutcomes,
  eventTimeMs,
  idsWithOutcomeInData,
  isKindSelected,
  isSelected,
  selectsByKind,
} from './event-selection.ts';
import type { SearchLimits } from './search.ts';

interface PartCounts {
  events: number;
  failures: number;
}

/** A selection within a time range, Unix time in milliseconds. */
type RangeSelection = EventSelection & { since: number; until: number };

/**
 * Counts the selected events in each part of a time range, backwards from its end until a limit is reached. Other work of the process runs
 * between blocks of some hundred events.
 *
 * If all conditions are about the kind or time of events, a block whose events all belong to one part is counted from the summary of its
 * file. Only these are read: the current file, blocks whose events belong to several parts, and blocks with events whose outcome is in
 * their data.
 *
 * @param parts number of equal parts
 * @returns the counts, oldest part first, and the Unix time in milliseconds since which all events are counted
 * @throws the signal's reason if it aborts; ServiceError `unavailable` if the journal cannot be read at present
 */
export async function countInParts(
  journal: NewestFirstJournal,
  selection: RangeSelection,
  parts: number,
  { limits, clock, signal }: { limits: Pick<SearchLimits, 'bytes' | 'timeMs'>; clock: Clock; signal?: AbortSignal },
): Promise<{ counts: PartCounts[]; countedSinceMs: number }> {
  const { since, until } = selection;
  const endMs = clock.monotonicMs() + limits.timeMs;
  const counts = Array.from({ length: parts }, (): PartCounts => ({ events: 0, failures: 0 }));
  let bytes = 0;
  let oldestMs = until;
  const partAt = (atMs: number) => Math.min(Math.floor(((atMs - since) * parts) / (until - since)), parts - 1);
  const add = (event: Pick<ServiceEvent, 'id'> & Partial<ServiceEvent>, atMs: number, events: number) => {
    const part = counts[partAt(atMs)] as PartCounts;
    part.events += events;
    if (eventOutcomes(event).includes('failure')) part.failures += events;
  };
  const isInOnePart = ({ firstMs, lastMs }: CountedBlock) => firstMs >= since && lastMs < until && partAt(firstMs) === partAt(lastMs);
  const tellsOutcomes = ({ counts }: CountedBlock) => !idsWithOutcomeInData.some((id) => Object.hasOwn(counts, id));
  const suffices = selectsByKind(selection) ? (block: CountedBlock) => isInOnePart(block) && tellsOutcomes(block) : undefined;
  for await (const { candidates, counted, readBytes } of journal.newestBlocks(selection, undefined, suffices)) {
    signal?.throwIfAborted();
    if (counted) {
      oldestMs = Math.min(oldestMs, counted.firstMs);
      for (const [id, events] of Object.entries(counted.counts))
        if (isKindSelected({ id }, selection)) add({ id }, counted.firstMs, events);
    }
    for (const { raw } of candidates) {
      const event = parseEvent(raw);
      if (typeof event === 'string') continue;
      const atMs = eventTimeMs(event);
      // Events may be stored slightly out of the order of their times. So counting ends only at an event that is clearly older than the
      // range.
      if (atMs < since - outOfOrderMs) return { counts, countedSinceMs: since };
      oldestMs = Math.min(oldestMs, atMs);
      if (isSelected(event, selection)) add(event, atMs, 1);
    }
    bytes += readBytes;
    if (bytes >= limits.bytes || clock.monotonicMs() >= endMs) return { counts, countedSinceMs: Math.max(oldestMs, since) };
  }
  return { counts, countedSinceMs: since };
}

/**
 * Maximum time in milliseconds by which an event can be older than an event that is stored before it. This happens because several
 * processes write events, and because a clock may be set back.
 */
const outOfOrderMs = 60_000;
