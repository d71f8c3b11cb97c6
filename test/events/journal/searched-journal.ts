import type { ServiceEvent } from '../../../src/events/event.ts';
import { createEvent, peerAt } from '../../../src/events/event-factory.ts';
import { FileEventLog } from '../../../src/events/journal/file-event-log.ts';
import type { EventSelection } from '../../../src/events/journal/search/event-selection.ts';
import { newestEvents, searchPage } from '../../../src/events/journal/search/search.ts';
import { newestBlocks } from '../../../src/events/journal/search/selective-reader.ts';
import { summarise } from '../../../src/events/journal/search/summariser.ts';
import { listSegments } from '../../../src/events/journal/segments.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLog } from '../../../src/lib/log.ts';

const component = { uuid: 'component', type: 'http', name: 'web' };
const server = { uuid: 'server', type: 'server', name: 'test' };

/** Unix time in milliseconds of the first event of `journalEventAt`. There is one event per second. */
export const firstMs = 1_700_000_000_000;

/** Returns an event about a file of one of 50 accounts. Every 997th event is about a failed login instead. */
export function journalEventAt(index: number): ServiceEvent {
  const peer = peerAt(`198.51.${Math.floor(index / 250) % 250}.${index % 250}`, 1000);
  const account = { uuid: `uuid-${index % 50}`, name: `name ${index % 50}`, peer };
  const context = { account, component, request: { id: `request-${Math.floor(index / 2)}` } };
  const path = `/in/${Math.floor(index / 100)}/file ${index}.txt`;
  const data = index % 997 === 0 ? { username: `guest ${index}`, details: 'wrong' } : { path, real_path: `/srv/files${path}` };
  return createEvent({ id: index % 997 === 0 ? 20142 : 40017, context, data }, server, firstMs + index * 1000);
}

export function groupAt(index: number): string {
  return `group ${Math.floor(index / 200)}`;
}

/** Writes a journal of several files. @returns its events */
export async function writeJournal(folder: string, count: number, maximumFileSizeBytes = 500_000): Promise<ServiceEvent[]> {
  const log = new FileEventLog({ folder, maximumFileSizeBytes, retentionDays: 36_500, clock: systemClock, log: silentLog });
  const events = Array.from({ length: count }, (_, index) => journalEventAt(index));
  for (const [index, event] of events.entries()) log.append(event, { group: groupAt(index), takenBy: undefined });
  await log.close();
  return events;
}

/** Writes the summaries of all files except the last. */
export async function summariseAll(folder: string): Promise<void> {
  for (const segment of listSegments(folder).slice(0, -1)) await summarise(segment, async () => {});
}

/** Returns the results of a search, the newest first, and the number of bytes read. */
export async function searchAll(folder: string, selection: Partial<EventSelection>): Promise<{ uuids: string[]; readBytes: number }> {
  const page = await searchPage(
    { newestBlocks: (wanted, before) => newestBlocks(folder, wanted, before) },
    { id: [], uuid: [], ...selection },
    { limits: { events: 1e6, bytes: 1e12, timeMs: 1e9 }, clock: systemClock },
  );
  return { uuids: page.events.map(({ event }) => event.uuid), readBytes: page.searched.bytes };
}

/** Iterates over the results of a search, the newest first. */
export function searchSlowly(folder: string, selection: Partial<EventSelection> = {}) {
  const journal = { newestBlocks: (wanted: EventSelection) => newestBlocks(folder, wanted) };
  return newestEvents(journal, { id: [], uuid: [], ...selection });
}
