import { FairQueue } from '../lib/concurrency/fair-queue.ts';
import type { ServiceEvent } from './event.ts';
import { eventIds } from './event-ids.ts';
import type { NewestFirstJournal } from './journal/event-log.ts';
import { newestEvents } from './journal/search/search.ts';

/** Maximum bytes of the journal to read; blocks without such an event are skipped unread. */
const maxBytes = 256 * 1024 * 1024;

/** Anybody with a link may ask, so few searches run at once. */
const searches = new FairQueue({ concurrency: 2, maxWaitingPerParty: 4, maxWaiting: 100 });

/** The files that came by a link, for their receipt. */
export interface DroppedSelection {
  /** ID of the link. */
  link: string;
  /** UUIDs of the events `fileUploaded`. */
  uuids: readonly string[];
  /** Time before which there are none, Unix time in milliseconds. */
  sinceMs: number;
}

/** The events of files that came by a link, oldest first. @throws ServiceError `unavailable` when the journal cannot be read, or too many ask */
export async function droppedFiles(journal: NewestFirstJournal, { link, uuids, sinceMs }: DroppedSelection): Promise<ServiceEvent[]> {
  const found: ServiceEvent[] = [];
  const end = await searches.take(link);
  try {
    const selection = { id: [eventIds.fileUploaded], uuid: [...uuids], since: sinceMs };
    for await (const { event } of newestEvents(journal, selection, { maxBytes })) {
      if (event.data.link === link) found.push(event);
      if (found.length === uuids.length) break;
    }
  } finally {
    end();
  }
  return found.reverse();
}
