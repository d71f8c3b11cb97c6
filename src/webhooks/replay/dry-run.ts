import type { LogPosition } from '../../events/journal/position.ts';
import { type RecordKind, recordKinds } from '../records/delivery-record.ts';
import { formatPlace } from '../records/newest-deliveries.ts';
import type { SentEvent, WebhookHandler } from '../webhook-handler.ts';
import { differencesOf } from './compared-requests.ts';
import { eventsOf, JournalLines, keyOf, renderedOf } from './recorded-requests.ts';
import type { ShownRequest } from './replay-schemas.ts';
import { requestOf } from './shown-request.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Most of a body that is shown, in characters. */
const shownBodyCharacters = 32 * 1024;

/** A request that would be made. */
export interface PlannedRequest {
  handler: WebhookHandler;
  events: readonly SentEvent[];
}

/** What a dry run says of one request. */
export interface DryResult {
  handler: string;
  events: { id: string; uuid: string }[];
  request: ShownRequest & { is_truncated: boolean };
  /** The newest delivery that begins with the same event; null when there is none, or it is not known any more what was sent. */
  delivery: string | null;
  /** What today's configuration makes different from that delivery, lines that begin with - or +; null without one. */
  differences: string[] | null;
}

/**
 * Shows requests as they would be made, each with what differs from what was sent for the same events before. Sends nothing.
 *
 * @param groupOf the group of an event's account, by the event's UUID
 */
export async function* dryResults(
  journal: ReplayedJournal,
  planned: readonly PlannedRequest[],
  dependencies: { nowMs: number; groupOf: (uuid: string) => string | undefined },
): AsyncGenerator<DryResult> {
  const { nowMs, groupOf } = dependencies;
  const keys = new Set(
    planned.map(({ handler, events }) => keyOf({ handler: handler.uuid, events: [{ uuid: events[0]?.event.uuid ?? '' }] })),
  );
  const newest = await newestPlaces(journal, keys);
  const lines = new JournalLines(journal);
  try {
    for (const { handler, events } of planned) {
      const request = requestOf(handler, events, handler.render(events), nowMs);
      const shown = events.map(({ event: { id, uuid } }) => ({ id, uuid }));
      const place = newest.get(keyOf({ handler: handler.uuid, events: shown }));
      const record = place && (await journal.records.at(place.kind, place.position));
      const before = record && (await eventsOf(record, lines));
      const rendered = before && renderedOf(record, before);
      yield {
        handler: handler.uuid,
        events: shown,
        request: { ...request, body: request.body.slice(0, shownBodyCharacters), is_truncated: request.body.length > shownBodyCharacters },
        delivery: place && rendered ? formatPlace(place.kind, place.position) : null,
        differences: rendered ? differencesOf({ record, events: before, rendered }, handler, groupOf) : null,
      };
    }
  } finally {
    lines.close();
  }
}

type Place = { kind: RecordKind; position: LogPosition; time: string };

async function newestPlaces(journal: ReplayedJournal, keys: ReadonlySet<string>): Promise<Map<string, Place>> {
  const newest = new Map<string, Place>();
  for (const kind of recordKinds)
    for await (const { record, position } of journal.records.read(kind, undefined, () => {})) {
      const key = keyOf(record);
      if (keys.has(key) && (newest.get(key)?.time ?? '') <= record.time) newest.set(key, { kind, position, time: record.time });
    }
  return newest;
}
