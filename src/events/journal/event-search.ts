import type { BadLine, EventReader, LoggedEvent } from './event-log.ts';
import { comparePositions, type LogPosition } from './position.ts';
import { type EventSelection, isSelected } from './search/event-selection.ts';

/** A journal that is searched, of a service that may be running. */
export interface SearchedJournal {
  /** @param wanted what the reader may leave out is whatever is not selected by it */
  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader;
  /** Where to begin reading events that are not older than a time. */
  since(sinceMs: number | undefined): LogPosition | undefined;
}

/** Says where a line that is no event stands, and why. */
export type OnBadLine = (place: string, reason: string) => void;

/** Whether an event is in the journal. @param sinceMs when it was made at the earliest, Unix time in milliseconds */
export async function hasEvent(journal: SearchedJournal, uuid: string, sinceMs: number): Promise<boolean> {
  const found = await journalEvents(journal, { id: [], uuid: [uuid] }, () => {}, sinceMs).next();
  return !found.done;
}

/**
 * The events of the journal that are selected, the oldest first.
 *
 * @param sinceMs begins where the first event can be that is not older, Unix time in milliseconds
 */
export async function* journalEvents(
  journal: SearchedJournal,
  selection: EventSelection,
  onBadLine: OnBadLine,
  sinceMs = selection.since,
): AsyncGenerator<LoggedEvent> {
  const report = (bad: { path: string; offset: number; reason: string }) => onBadLine(`${bad.path}, byte ${bad.offset}`, bad.reason);
  const reader = journal.openReader(report, selection);
  try {
    for (let position = journal.since(sinceMs); ; ) {
      const { events, next } = await reader.next(position);
      if (events.length === 0 && (!position || comparePositions(position, next) === 0)) return;
      for (const logged of events) if (isSelected(logged.event, selection, logged.group)) yield logged;
      position = next;
    }
  } finally {
    reader.close();
  }
}
