import type { ServiceEvent } from '../event.ts';
import type { BadLine, EventReader, LoggedEvent } from './event-log.ts';
import { comparePositions, type LogPosition } from './position.ts';

/** A journal that is searched, of a service that may be running. */
export interface SearchedJournal {
  openReader(onBadLine: (bad: BadLine) => void): EventReader;
  /** Where to begin reading events that are not older than a time. */
  since(sinceMs: number | undefined): LogPosition | undefined;
}

/** Which events are searched for; without IDs, UUIDs and times all. */
export interface EventSelection {
  id: number[];
  uuid: string[];
  /** Unix time in milliseconds. */
  since?: number;
  until?: number;
}

/** Says where a line that is no event stands, and why. */
export type OnBadLine = (place: string, reason: string) => void;

/** Whether an event is selected by its ID, UUID and time. */
export function isSelected(event: ServiceEvent, selection: EventSelection): boolean {
  if (selection.id.length > 0 && !selection.id.includes(Number(event.id))) return false;
  if (selection.uuid.length > 0 && !selection.uuid.includes(event.uuid)) return false;
  const atMs = Number(event.timestamp.timestamp) * 1000;
  return !(selection.since !== undefined && atMs < selection.since) && !(selection.until !== undefined && atMs >= selection.until);
}

/** Whether an event is in the journal. @param sinceMs when it was made at the earliest, Unix time in milliseconds */
export async function hasEvent(journal: SearchedJournal, uuid: string, sinceMs: number): Promise<boolean> {
  for await (const { event } of journalEvents(journal, sinceMs, () => {})) if (event.uuid === uuid) return true;
  return false;
}

/** The events of the journal, from a time on. */
export async function* journalEvents(
  journal: SearchedJournal,
  sinceMs: number | undefined,
  onBadLine: OnBadLine,
): AsyncGenerator<LoggedEvent> {
  const report = (bad: { path: string; offset: number; reason: string }) => onBadLine(`${bad.path}, byte ${bad.offset}`, bad.reason);
  const reader = journal.openReader(report);
  try {
    for (let position = journal.since(sinceMs); ; ) {
      const { events, next } = await reader.next(position);
      if (events.length === 0 && (!position || comparePositions(position, next) === 0)) return;
      yield* events;
      position = next;
    }
  } finally {
    reader.close();
  }
}
