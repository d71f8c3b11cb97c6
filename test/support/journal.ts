import type { BadLine, LoggedEvent } from '../../src/events/journal/event-log.ts';
import type { LogPosition } from '../../src/events/journal/position.ts';
import { JournalReader } from '../../src/events/journal/reader.ts';

/**
 * Reads a journal from a position to its current end.
 *
 * @param from start position; undefined for the oldest event that is kept
 */
export async function* readEvents(
  folder: string,
  from: LogPosition | undefined,
  onBadLine: (bad: BadLine) => void,
): AsyncGenerator<LoggedEvent> {
  const reader = new JournalReader(folder, onBadLine);
  try {
    for (let position = from; ; ) {
      const { events, next } = await reader.next(position);
      if (events.length === 0) return;
      yield* events;
      position = next;
    }
  } finally {
    reader.close();
  }
}
