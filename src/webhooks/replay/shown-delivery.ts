import { withQuery } from '../delivery.ts';
import type { EventHandlerOptions } from '../options.ts';
import { createPayload } from '../payload/create-payload.ts';
import type { RenderedPayload } from '../payload/payload.ts';
import type { NamedDelivery } from '../records/newest-deliveries.ts';
import type { SentEvent } from '../webhook-handler.ts';
import { JournalLines, maskSecrets, readRecordedEvents, renderRecord } from './recorded-requests.ts';
import { shownHeaders } from './shown-request.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Most of a body that is shown, in characters. */
const shownBodyCharacters = 256 * 1024;

/** What was sent with a delivery, secrets masked. */
export interface ShownSending {
  method: string;
  /** Of the last attempt, without the query of the configuration. */
  url: string;
  /** Names in lower case; `from` says that they are those of the configuration in force, as no record has them. */
  headers: { from: 'configuration' | 'record'; values: Record<string, string> };
  /** `record`: what was sent, but for secrets of `extra_data`; `configuration`: made again as today's configuration renders it; null when neither is known. */
  body: { from: 'configuration' | 'record'; text: string; is_truncated: boolean } | null;
}

/** What the record of a delivery is read together with. */
export interface ShownDependencies {
  journal: Pick<ReplayedJournal, 'openReader' | 'config'>;
  server: Parameters<typeof createPayload>[1];
}

/** What was sent with a delivery: as its record has it, and what that lacks as today's configuration makes it. */
export async function shownSending({ record }: NamedDelivery, { journal, server }: ShownDependencies): Promise<ShownSending> {
  const handlers = journal.config?.event_handlers ?? {};
  const options = Object.hasOwn(handlers, record.handler) ? handlers[record.handler] : undefined;
  const events = await eventsOfRecord(record, journal);
  const recorded = record.body && ('before' in record.body ? events && renderRecord(record, events) : renderRecord(record, events ?? []));
  const rendered = recorded ?? (options && events && maskSecrets(createPayload(options, server).render(events), events));
  const from = recorded ? ('record' as const) : ('configuration' as const);
  return {
    method: record.method,
    url: withQuery(record.attempts.at(-1)?.url ?? '', rendered?.query ?? []),
    headers: headersOf(record, options, rendered),
    body: rendered?.body ? { from, ...shownText(rendered.body.toString('utf8')) } : null,
  };
}

async function eventsOfRecord(
  record: NamedDelivery['record'],
  journal: Pick<ReplayedJournal, 'openReader'>,
): Promise<SentEvent[] | undefined> {
  const lines = new JournalLines(journal);
  try {
    return await readRecordedEvents(record, lines);
  } finally {
    lines.close();
  }
}

function headersOf(
  record: NamedDelivery['record'],
  options: EventHandlerOptions | undefined,
  rendered: RenderedPayload | undefined,
): ShownSending['headers'] {
  if (!options) return { from: 'record', values: record.content_type === undefined ? {} : { 'content-type': record.content_type } };
  const sentMs = Date.parse(record.attempts.at(-1)?.time ?? record.time);
  const uuids = record.events.map(({ uuid }) => uuid);
  const { contentType, body } = rendered ?? { contentType: record.content_type, body: undefined };
  return { from: 'configuration', values: shownHeaders(options, uuids, { contentType, body }, sentMs) };
}

function shownText(text: string): { text: string; is_truncated: boolean } {
  return { text: text.slice(0, shownBodyCharacters), is_truncated: text.length > shownBodyCharacters };
}
