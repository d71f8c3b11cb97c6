import type { ServiceEvent } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { journalEvents, type SearchedJournal } from '../../events/journal/event-search.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import type { EventHandlerOptions } from '../options.ts';
import { DeliveryHistory, type HistoryBounds } from '../records/delivery-history.ts';
import type { DeliveryRecords } from '../records/delivery-record.ts';
import { createSubscription } from '../subscription.ts';

/** The journal that replays read: the journal of a single node, or of all nodes together. */
export interface ReplayedJournal extends SearchedJournal {
  config: { event_handlers: Readonly<Record<string, EventHandlerOptions>> } | undefined;
  records: DeliveryRecords;
  /** Returns the positions of running and paused handlers. These handlers will still deliver all later events. */
  waitingPositions(): Promise<ReadonlyMap<string, LogPosition>>;
}

/** Decides which events the option `--failed` selects. */
export interface UndeliveredEvents {
  /** Like `isMissing`, but without events that were never sent to the handler. */
  hasFailed(handler: string, event: ServiceEvent, position: LogPosition | undefined): boolean;
  /** Whether an event was not delivered to a handler, and the handler will not deliver it by itself. */
  isMissing(handler: string, event: ServiceEvent, position: LogPosition | undefined): boolean;
  /** Whether an enabled handler that wants the event did not receive it, or any handler, even a removed one, failed to deliver it. */
  isMissingSomewhere(event: ServiceEvent, group: string | undefined, position: LogPosition | undefined): boolean;
}

/**
 * Finds events whose delivery failed, was discarded or was never tried. Events that a running service will still send are left out, so that
 * they are not sent twice.
 *
 * @param isFile whether the events come from a file; such events have no position in the journal
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
    return !isWaiting && !history.isDelivered(handler, uuid, position) && !history.isFailedLater(handler, uuid, position);
  };
  return {
    isMissing,
    hasFailed: (handler, event, position) => isMissing(handler, event, position) && history.isUndelivered(handler, event.uuid, position),
    isMissingSomewhere: (event, group, position) =>
      subscriptions.some(({ uuid, wants }) => wants(event, group) && isMissing(uuid, event, position)) ||
      history.handlers.some((handler) => history.isUndelivered(handler, event.uuid, position)),
  };
}

/** Finds the handlers that have stopped, according to the events in the journal. */
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
