import { FairQueue } from '../lib/concurrency/fair-queue.ts';
import type { ServiceEvent } from './event.ts';
import { eventIds } from './event-ids.ts';
import type { NewestFirstJournal } from './journal/event-log.ts';
import { newestEvents } from './journal/search/search.ts';

/** Maximum number of bytes of the journal that are read. Blocks that cannot contain a wanted event are skipped and do not count. */
const maxBytes = 256 * 1024 * 1024;

/** Limits concurrent searches, because anybody with a shared link can start one. */
const searches = new FairQueue({ concurrency: 2, maxWaitingPerParty: 4, maxWaiting: 100 });

/** Selects files that were uploaded through a shared link. The page of the link shows a receipt for them. */
export interface DroppedSelection {
  link: string;
  /** UUIDs of the events `fileUploaded`. */
  uuids: readonly string[];
  /** Earliest possible time of the events, Unix time in milliseconds. */
  sinceMs: number;
}

/**
 * Finds the events of files that were uploaded through a shared link, oldest first.
 *
 * @throws ServiceError `unavailable` if the journal cannot be read, or if too many searches wait
 */
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
