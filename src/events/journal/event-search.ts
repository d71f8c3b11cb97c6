import type { BadLine, EventLog, LoggedEvent } from './event-log.ts';
import { comparePositions } from './position.ts';
import { type EventSelection, isSelected } from './search/event-selection.ts';

/** A journal to search. Its service may be running. */
export type SearchedJournal = Pick<EventLog, 'openReader' | 'since'>;

/** Called with the position of a line that is not an event, and the reason. */
export type OnBadLine = (place: string, reason: string) => void;

/** Whether an event is in the journal. @param sinceMs earliest possible time of the event, Unix time in milliseconds */
export async function hasEvent(journal: SearchedJournal, uuid: string, sinceMs: number): Promise<boolean> {
  const found = await journalEvents(journal, { id: [], uuid: [uuid] }, () => {}, sinceMs).next();
  return !found.done;
}

/** Yields the selected events of the journal, oldest first. @param sinceMs time of the first event to read, Unix time in milliseconds */
export async function* journalEvents(
  journal: SearchedJournal,
  selection: EventSelection,
  onBadLine: OnBadLine,
  sinceMs = selection.since,
): AsyncGenerator<LoggedEvent> {
  const report = (bad: BadLine) => onBadLine(`${bad.path}, byte ${bad.offset}`, bad.reason);
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
