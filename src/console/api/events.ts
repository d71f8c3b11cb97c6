import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { definitions, type EventDefinition } from '../../events/catalogue.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { EventLog, RawEvent } from '../../events/journal/event-log.ts';
import { formatPosition, parsePosition } from '../../events/journal/position.ts';
import { type EventSelection, eventTimeMs } from '../../events/journal/search/event-selection.ts';
import { countInParts } from '../../events/journal/search/histogram.ts';
import { type LiveBatch, LiveEvents } from '../../events/journal/search/live-events.ts';
import { type FoundEvent, newestEvents, searchPage } from '../../events/journal/search/search.ts';
import { clientGone } from '../../http/reply/outgoing.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { newestDeliveries } from '../../webhooks/records/newest-deliveries.ts';
import { answerEvents, answerJson, cutWhenOver, goneSignal, replyHeaders } from '../answer.ts';
import { type ConsoleContext, type ConsoleService, requireAdministrator } from '../environment.ts';
import type { EventStream } from '../event-stream.ts';
import { shownDelivery } from './deliveries.ts';
import { Parameters, pathPart, readEventSelection, selectionNames } from './parameters.ts';
import type { EventKinds } from './schemas/events.ts';

/** Limits of the search for a page of events, and of the search for one event. */
const pageLimits = { bytes: 2 * 2 ** 30, timeMs: 2000 };
const eventLimits = { bytes: Number.POSITIVE_INFINITY, timeMs: 10_000 };

/** To find the other events of a request, the journal is searched this many milliseconds before and after the given event. */
const requestSpanMs = 3_600_000;
const maxPerRequest = 500;

/** If the query gives the time `at` of an event, the journal is searched this many milliseconds before and after it. */
const atSpanMs = 60_000;

const maxDeliveries = 100;

/** Slots for searches. Replies that stream all matching events have their own slots, because they take longer. */
const searches = new FairQueue({ concurrency: 2, maxWaitingPerParty: 20, maxWaiting: 100 });
const streams = new FairQueue({ concurrency: 4, maxWaitingPerParty: 0, maxWaiting: 0 });

const pieceBytes = 64 * 1024;

/** Answers `GET /api/events` with a page of events, newest first. A client that accepts NDJSON gets all matching events instead. */
export async function listEvents(c: ConsoleContext): Promise<Response> {
  const { query, service } = c.env;
  const parameters = Parameters.fromQuery(query, [...selectionNames, 'limit', 'cursor']);
  const selection = readEventSelection(parameters);
  const before = parameters.position('cursor');
  const journal = service.sources.journal();
  if (/\bapplication\/x-ndjson\b/i.test(c.env.incoming.headers.accept ?? '')) {
    const max = parameters.number('limit', { usual: Number.POSITIVE_INFINITY, max: 999_999_999 });
    return streamEvents(c, (signal) => inPieces(newestEvents(journal, selection, { before, signal }), max));
  }
  const events = parameters.number('limit', { usual: 100, max: 1000 });
  // `begin` is determined before the search. So a live tail that starts there misses no event, but can repeat one that the search found.
  const { begin, page } = await inQueue(c, async (signal) => ({
    begin: before ?? (await journal.findEnd()),
    page: await searchPage(journal, selection, { before, limits: { ...pageLimits, events }, clock: service.clock, signal }),
  }));
  return answerJson(c, {
    events: page.events.map(({ event }) => event),
    begin: formatPosition(begin),
    next: page.next ? formatPosition(page.next) : null,
    searched: page.searched,
    is_complete: page.isComplete,
  });
}

const dayMs = 86_400_000;

/** Answers `GET /api/events/histogram` with the number of events in each part of a time range. */
export async function countEvents(c: ConsoleContext): Promise<Response> {
  const { query, service } = c.env;
  const { clock } = service;
  const parameters = Parameters.fromQuery(query, [...selectionNames, 'buckets', 'whole']);
  const selection = readEventSelection(parameters);
  const parts = parameters.number('buckets', { usual: 60, max: 200 });
  const until = selection.until ?? clock.nowMs() + 1;
  const isWhole = parameters.oneOf('whole', ['1']) !== undefined;
  const since = selection.since ?? ((isWhole && (await oldestEventMs(service.sources.journal()))) || until - dayMs);
  if (since >= until) throw new ServiceError('bad-request', '"since" must be earlier than "until".');
  const { counts, countedSinceMs } = await inQueue(c, (signal) =>
    countInParts(service.sources.journal(), { ...selection, since, until }, parts, { limits: pageLimits, clock, signal }),
  );
  return answerJson(c, {
    since: new Date(since).toISOString(),
    until: new Date(until).toISOString(),
    bucket_seconds: (until - since) / parts / 1000,
    counts,
    counted_since: new Date(countedSinceMs).toISOString(),
  });
}

async function oldestEventMs(journal: EventLog): Promise<number | undefined> {
  const reader = journal.openReader(() => {});
  try {
    const [oldest] = (await reader.next(undefined)).events;
    return oldest && Math.floor(eventTimeMs(oldest.event));
  } finally {
    reader.close();
  }
}

/** Answers `GET /api/events/{uuid}` with an event, its deliveries, and the other events of its request. */
export async function showEvent(c: ConsoleContext): Promise<Response> {
  const { clock, sources } = c.env.service;
  const atMs = Parameters.fromQuery(c.env.query, ['at']).timeMs('at');
  const uuid = pathPart(c, 'uuid');
  const journal = sources.journal();
  const find = (selection: Partial<EventSelection>, events: number) =>
    inQueue(c, (signal) => searchPage(journal, { id: [], uuid: [], ...selection }, { limits: { ...eventLimits, events }, clock, signal }));
  const { events, isComplete } = await find({ uuid: [uuid], ...(atMs !== undefined && spanAround(atMs, atSpanMs)) }, 1);
  const [found] = events;
  if (!found && !isComplete) throw new ServiceError('unavailable', 'The search took too long. Give the time of the event with "at".');
  if (!found) throw new ServiceError('not-found', 'There is no such event, or it is no longer kept.');
  const { event, position } = found;
  const eventMs = eventTimeMs(event);
  const id = event.data.request_id;
  const ofRequest = id === undefined ? undefined : { requestId: [String(id)], ...spanAround(eventMs, requestSpanMs) };
  const related = ofRequest ? (await find(ofRequest, maxPerRequest)).events : [];
  const filter = { sinceMs: eventMs, eventUuid: uuid };
  const deliveries = await newestDeliveries(sources.deliveries.records, filter, { limit: maxDeliveries });
  return answerJson(c, {
    event,
    deliveries: (deliveries?.deliveries ?? []).map(shownDelivery),
    wanted_by: await sources.deliveries.wanting(position),
    request_events: related.flatMap((other) => (other.event.uuid === uuid ? [] : [other.event])).toReversed(),
  });
}

function spanAround(timeMs: number, spanMs: number): { since: number; until: number } {
  return { since: timeMs - spanMs, until: timeMs + spanMs };
}

async function inQueue<T>(c: ConsoleContext, search: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const release = await searches.take(requireAdministrator(c).name);
  try {
    return await search(goneSignal(c.env));
  } finally {
    release();
  }
}

async function streamEvents(c: ConsoleContext, read: (signal: AbortSignal) => AsyncGenerator<Buffer>): Promise<Response> {
  const { method, outgoing } = c.env;
  const headers = { ...replyHeaders(c), 'content-type': 'application/x-ndjson' };
  if (method === 'HEAD') return new Response(null, { headers });
  const release = await streams.take(requireAdministrator(c).name);
  const pieces = Readable.from(read(cutWhenOver(c)));
  try {
    // Wait for the first piece: if the journal cannot be read, the status must not be 200.
    await once(pieces, 'readable');
    outgoing.writeHead(200, headers);
    await pipeline(pieces, outgoing);
    return RESPONSE_ALREADY_SENT;
  } catch (error) {
    throw systemErrorCode(error) === 'ERR_STREAM_PREMATURE_CLOSE' ? clientGone(error) : error;
  } finally {
    pieces.destroy();
    release();
  }
}

async function* inPieces(events: AsyncGenerator<FoundEvent>, max: number): AsyncGenerator<Buffer, void> {
  let lines: Buffer[] = [];
  let [bytes, count] = [0, 0];
  for await (const { raw } of events) {
    lines.push(raw, newline);
    bytes += raw.length + 1;
    if (bytes >= pieceBytes) {
      yield Buffer.concat(lines);
      [lines, bytes] = [[], 0];
    }
    if (++count >= max) break;
  }
  if (lines.length > 0) yield Buffer.concat(lines);
}

/** The live events of each journal. All consoles and clients that follow a journal share them. */
const live = new WeakMap<EventLog, LiveEvents>();

/**
 * Answers `GET /api/events/live` with selected events as they happen. If events come too fast or the client reads too slowly, some are
 * omitted. A message `lag` then says how many, if their number is known.
 */
export async function followEvents(c: ConsoleContext): Promise<Response> {
  const { query, incoming, service } = c.env;
  const parameters = Parameters.fromQuery(query, [...selectionNames, 'last_event_id']);
  const selection = readEventSelection(parameters);
  const asked = parameters.position('last_event_id');
  const last = incoming.headers['last-event-id'];
  // When a browser reconnects, this header is newer than the position in the URL.
  const from = typeof last === 'string' ? parsePosition(last) : asked;
  const journal = service.sources.journal();
  // Updates the end of the journal, where a live tail without a position starts. If this call fails, the end of an earlier call is used.
  await journal.findEnd().catch(() => {});
  const events = live.get(journal) ?? new LiveEvents(journal, service.clock);
  live.set(journal, events);
  return answerEvents(c, (stream) => void tell(stream, events.follow(selection, from, stream.signal), service));
}

async function tell(stream: EventStream, batches: AsyncGenerator<LiveBatch>, { log, uuid }: ConsoleService): Promise<void> {
  try {
    for await (const { events, lag } of batches) {
      if (lag) {
        const [from, to] = [formatPosition(lag.from), formatPosition(lag.to)];
        if (!stream.send({ event: 'lag', id: to, data: { skipped: lag.skipped ?? null, from, to } })) await stream.caughtUp();
      }
      for (const piece of messages(events)) if (!stream.write(piece)) await stream.caughtUp();
    }
  } catch (error) {
    log.warn('the journal cannot be followed', { service: uuid, reason: error });
  } finally {
    stream.end();
  }
}

function* messages(events: readonly RawEvent[]): Generator<Buffer> {
  let [start, bytes] = [0, 0];
  for (const [index, { raw }] of events.entries()) {
    bytes += raw.length;
    if (bytes < pieceBytes && index < events.length - 1) continue;
    yield serialise(events.slice(start, index + 1));
    [start, bytes] = [index + 1, 0];
  }
}

/** For each event, the latest piece that begins with this event. Clients that follow the same events get the same piece. */
const serialised = new WeakMap<RawEvent, { events: readonly RawEvent[]; bytes: Buffer }>();

function serialise(events: readonly RawEvent[]): Buffer {
  const [first] = events as [RawEvent];
  const known = serialised.get(first);
  if (known?.events.length === events.length && events.every((event, index) => event === known.events[index])) return known.bytes;
  const parts = events.flatMap(({ next, raw }) => [Buffer.from(`id: ${formatPosition(next)}\ndata: `), oneLine(raw), messageEnd]);
  const bytes = Buffer.concat(parts);
  serialised.set(first, { events, bytes });
  return bytes;
}

/**
 * Replaces carriage returns by spaces, because in Server-Sent Events they end a line. svc writes none. Other programs can write them into a
 * journal, as white space of JSON.
 */
function oneLine(raw: Buffer): Buffer {
  return raw.includes(carriageReturn) ? Buffer.from(raw.map((byte) => (byte === carriageReturn ? space : byte))) : raw;
}

const [carriageReturn, space] = [0x0d, 0x20];
const newline = Buffer.from('\n');
const messageEnd = Buffer.from('\n\n');

type Kind = EventKinds['events'][number];

/**
 * Events about routine work of the service. The console hides them at first, because they would crowd out the events about files and
 * people.
 */
const routine = new Set<number>([eventIds.eventDelivered, eventIds.journalCheckpoint, eventIds.methodSkipped]);

const kinds: EventKinds = { events: Object.entries(definitions).map(([name, definition]) => describeKind(name, definition)) };

function describeKind(name: string, { id, meaning, groups }: EventDefinition): Kind {
  const severity = findSeverity(id, groups);
  return { id: String(id), name: splitWords(name), message: meaning, groups: [...groups], severity, is_routine: routine.has(id) };
}

/**
 * Returns the severity of an event. A failure of the service itself, or of an expectation, is an error. A failed request is only a warning,
 * because its client already knows about it.
 */
function findSeverity(id: number, groups: EventDefinition['groups']): Kind['severity'] {
  if (groups.includes('failure'))
    return id === eventIds.internalError || groups.includes('process') || groups.includes('expectation') ? 'error' : 'warning';
  return groups.includes('success') ? 'success' : 'information';
}

/** Splits a name of the code into words: `sftpFileUploaded` becomes "SFTP file uploaded". */
function splitWords(name: string): string {
  return name
    .replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
    .replace(/\b(sftp|ssh|tls|zip|utf8)\b/g, (word) => word.toUpperCase());
}

/** Answers `GET /api/events/catalogue` with all kinds of events. */
export function listEventKinds(c: ConsoleContext): Response {
  return answerJson(c, kinds);
}
