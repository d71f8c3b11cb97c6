import type { ServiceEvent } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { journalEvents, type SearchedJournal } from '../../events/journal/event-search.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { EventHandlerOptions } from '../options.ts';
import { DeliveryHistory, type HistoryBounds } from '../records/delivery-history.ts';
import type { DeliveryRecords } from '../records/delivery-record.ts';
import { createSubscription } from '../subscription.ts';

/** The journal of a service, or of all its nodes, for replays. */
export interface ReplayedJournal extends SearchedJournal {
  config: { event_handlers: Readonly<Record<string, EventHandlerOptions>> } | undefined;
  records: DeliveryRecords;
  /** The positions of the handlers that will deliver the events behind: running and paused ones. */
  waitingPositions(): Promise<ReadonlyMap<string, LogPosition>>;
}

/** Decides what `--failed` selects. */
export interface UndeliveredEvents {
  /** Whether a handler that wants an event has not got it. */
  isMissing(handler: string, event: ServiceEvent, position: LogPosition | undefined): boolean;
  /** Whether some configured handler wants an event and has not got it, or one that is gone failed with it. */
  isMissingSomewhere(event: ServiceEvent, group: string | undefined, position: LogPosition | undefined): boolean;
}

/**
 * Reads which events failed, were discarded or never sent, and will not be sent by a running service: sending those would double them.
 *
 * @param isFile whether the events come from a file and have no position in the journal
 */
export async function readUndelivered(
  journal: ReplayedJournal,
  isFile: boolean,
  onBadLine: (reason: string) => void,
  bounds?: HistoryBounds,
): Promise<UndeliveredEvents> {
  const history = await DeliveryHistory.read(journal.records, onBadLine, isFile, bounds);
  const waiting = isFile ? undefined : await journal.waitingPositions();
  const enabled = Object.entries(journal.config?.event_handlers ?? {}).filter(([, handler]) => handler.enabled);
  const subscriptions = enabled.map(([uuid, handler]) => ({ uuid, wants: createSubscription(uuid, handler) }));
  const isMissing: UndeliveredEvents['isMissing'] = (handler, { uuid }, position) => {
    const from = waiting?.get(handler);
    const isWaiting = from !== undefined && position !== undefined && comparePositions(position, from) >= 0;
    return !isWaiting && !history.isDelivered(handler, uuid, position);
  };
  return {
    isMissing,
    isMissingSomewhere: (event, group, position) =>
      subscriptions.some(({ uuid, wants }) => wants(event, group) && isMissing(uuid, event, position)) ||
      history.handlers.some((handler) => history.isUndelivered(handler, event.uuid, position)),
  };
}

/** Reads the handlers that have stopped from the events of the journal. */
export async function stoppedHandlers(journal: SearchedJournal): Promise<Set<string>> {
  const stopped = new Set<string>();
  const selection = { id: [eventIds.componentStarted, eventIds.componentStopped], uuid: [] };
  for await (const { event } of journalEvents(journal, selection, () => {})) {
    if (event.data.family !== 'event-handler') continue;
    if (event.id === String(eventIds.componentStopped)) stopped.add(String(event.data.uuid));
    if (event.id === String(eventIds.componentStarted)) stopped.delete(String(event.data.uuid));
  }
  return stopped;
}
