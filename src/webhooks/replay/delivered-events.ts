import { deliveryOf } from '../records/newest-deliveries.ts';
import type { WebhookHandler } from '../webhook-handler.ts';
import { type BadLineReport, eventsOf, JournalLines } from './recorded-requests.ts';
import type { SelectedEvent } from './selected-events.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/**
 * The events of some deliveries, each for the handler that it was delivered to, whatever the filters of that say today. An event of
 * several of them comes once.
 *
 * @param ids of deliveries
 */
export async function* deliveredEvents(
  journal: ReplayedJournal,
  ids: readonly string[],
  handlers: readonly WebhookHandler[],
  bad: BadLineReport,
  signal: AbortSignal,
): AsyncGenerator<SelectedEvent> {
  const byUuid = new Map(handlers.map((handler) => [handler.uuid, handler]));
  const yielded = new Set<string>();
  const lines = new JournalLines(journal);
  try {
    for (const id of ids) {
      if (signal.aborted) return;
      const delivery = await deliveryOf(journal.records, id);
      const handler = delivery && byUuid.get(delivery.record.handler);
      const events = handler && (await eventsOf(delivery.record, lines));
      if (!delivery) bad.missing(id, 'there is no such delivery any more');
      else if (!handler) bad.missing(id, `the event handler "${delivery.record.handler}" is not configured, or was not chosen`);
      else if (!events) bad.missing(id, 'the journal does not have its events any more');
      for (const sent of events ?? []) {
        const key = `${handler?.uuid} ${sent.event.uuid}`;
        if (!handler || yielded.has(key)) continue;
        yielded.add(key);
        yield { sent: { ...sent, group: undefined }, takers: [handler] };
      }
    }
  } finally {
    lines.close();
  }
}
