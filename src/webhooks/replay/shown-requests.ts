import { isSecretHeader } from '../../lib/headers/header-fields.ts';
import { redactedUrl } from '../../lib/remote/redacted-url.ts';
import { shownTarget } from '../forward/address.ts';
import { withQuery } from '../http-sender.ts';
import type { EventHandlerOptions } from '../options.ts';
import type { OutgoingEvent, RenderedPayload } from '../payload/create-payload.ts';
import { createPayload, mask } from '../payload/create-payload.ts';
import type { ShownRequest } from '../records/delivery-record-schema.ts';
import type { NamedDelivery } from '../records/newest-deliveries.ts';
import { messageId, signatureHeaders, signingKey } from '../signing.ts';
import type { SentEvent } from '../webhook-handler.ts';
import { JournalLines, maskSecrets, readRecordedEvents, renderRecord } from './recorded-requests.ts';
import type { ReplayedJournal } from './undelivered-events.ts';

/** Describes the request that a handler would send, with masked secrets. @param nowMs time for the signature, Unix time in milliseconds */
export function describeRequest(
  { uuid, options }: { uuid: string; options: EventHandlerOptions },
  events: readonly OutgoingEvent[],
  rendered: RenderedPayload,
  nowMs: number,
): ShownRequest {
  const [configured = ''] = options.url;
  const [first] = events;
  const url = options.type === 'forward' && first ? shownTarget(configured, first.event) : configured;
  const uuids = events.map(({ event }) => event.uuid);
  const { query, body } = maskSecrets(rendered, events);
  return {
    handler: uuid,
    method: options.request_method.toUpperCase(),
    url: query.length > 0 ? withQuery(url.split('?')[0] as string, query) : redactedUrl(url),
    headers: shownHeaders(options, uuids, rendered, nowMs),
    body: body?.toString('utf8') ?? '',
  };
}

/**
 * Returns the headers of a request. Values from the configuration are masked, except Content-Type. @param uuids UUIDs of the request's
 * events
 */
function shownHeaders(
  options: EventHandlerOptions,
  uuids: readonly string[],
  { contentType, body }: Pick<RenderedPayload, 'contentType' | 'body'>,
  nowMs: number,
): Record<string, string> {
  const sent: [string, string][] = contentType === undefined ? [] : [['content-type', contentType]];
  const configured = options.headers.map(([name, value]): [string, string] => [name.toLowerCase(), value]);
  sent.push(...configured.map(([name, value]): [string, string] => [name, name === 'content-type' ? value : mask]));
  sent.push(...Object.entries(signatureHeaders(options.signing_secret.map(signingKey), messageId(uuids), nowMs, body)));
  const headers = Object.fromEntries(sent.map(([name, value]) => [name, isSecretHeader(name) ? mask : value]));
  const isBasic = options.type === 'forward' ? options.username !== '' : options.username !== '' || options.password !== '';
  if (isBasic) headers.authorization = `Basic ${mask}`;
  return headers;
}

/** Returns the text of a request that `--diff` compares. JSON is formatted in many lines, so that differences are small. */
export function comparedText(method: string, rendered: Pick<RenderedPayload, 'contentType' | 'query' | 'body'>): string {
  const query = rendered.query.map(([name, value]) => `?${name}=${value}\n`).join('');
  const type = rendered.contentType === undefined ? '' : `content-type: ${rendered.contentType}\n`;
  return `${method}\n${query}${type}\n${prettyJson(rendered.body?.toString('utf8') ?? '')}`;
}

function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text.replaceAll('><', '>\n<');
  }
}

const shownBodyCharacters = 256 * 1024;

/** The request of a delivery, with masked secrets. */
export interface ShownSending {
  method: string;
  /** URL of the last attempt, without the query of the configuration. */
  url: string;
  /** Headers, with names in lower case. They usually come from the current configuration, because records contain no headers. */
  headers: { from: 'configuration' | 'record'; values: Record<string, string> };
  /**
   * The recorded body, or the body that the current configuration renders. It does not contain secrets of `extra_data`. Null if neither
   * body is available.
   */
  body: { from: 'configuration' | 'record'; text: string; is_truncated: boolean } | null;
}

export interface ShownDependencies {
  journal: Pick<ReplayedJournal, 'openReader' | 'config'>;
  server: Parameters<typeof createPayload>[1];
}

/**
 * Shows the request of a delivery. It comes from the record, or is rendered with the current configuration.
 *
 * @returns the request and its first event; `first` is undefined if the journal no longer has that event
 */
export async function shownSending(
  { record }: NamedDelivery,
  { journal, server }: ShownDependencies,
): Promise<{ request: ShownSending; first: SentEvent | undefined }> {
  const handlers = journal.config?.event_handlers ?? {};
  const options = Object.hasOwn(handlers, record.handler) ? handlers[record.handler] : undefined;
  const lines = new JournalLines(journal);
  const read = async () => {
    const events = await readRecordedEvents(record, lines);
    return { events, first: (events ?? (await readRecordedEvents({ events: record.events.slice(0, 1) }, lines)))?.[0] };
  };
  const { events, first } = await read().finally(() => lines.close());
  const recorded = record.body && ('before' in record.body ? events && renderRecord(record, events) : renderRecord(record, events ?? []));
  const rendered = recorded ?? (options && events && maskSecrets(createPayload(options, server).render(events), events));
  const text = rendered?.body?.toString('utf8');
  const from = recorded ? ('record' as const) : ('configuration' as const);
  const request: ShownSending = {
    method: record.method,
    url: withQuery(record.attempts.at(-1)?.url ?? '', rendered?.query ?? []),
    headers: recordHeaders(record, options, rendered),
    body: text === undefined ? null : { from, text: text.slice(0, shownBodyCharacters), is_truncated: text.length > shownBodyCharacters },
  };
  return { request, first };
}

function recordHeaders(
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
