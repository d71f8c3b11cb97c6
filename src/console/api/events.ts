import { once } from 'node:events';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { EventLog, RawEvent } from '../../events/journal/event-log.ts';
import { formatPosition, type LogPosition, parsePosition } from '../../events/journal/position.ts';
import { type EventSelection, eventTimeMs } from '../../events/journal/search/event-selection.ts';
import { type LiveBatch, LiveEvents } from '../../events/journal/search/live-events.ts';
import { type FoundEvent, newestEvents, searchPage } from '../../events/journal/search/search.ts';
import { clientGone } from '../../http/reply/outgoing.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { newestDeliveries } from '../../webhooks/records/newest-deliveries.ts';
import { answerEvents, answerJson, goneSignal, replyHeaders } from '../answer.ts';
import { type ConsoleContext, type ConsoleService, requireAdministrator } from '../environment.ts';
import type { EventStream } from '../event-stream.ts';
import { shownDelivery } from './deliveries.ts';
import { Parameters, pathPart, readEventSelection, selectionNames } from './parameters.ts';

/** What all who follow a journal share, whichever console they ask. */
const live = new WeakMap<EventLog, LiveEvents>();

/**
 * `GET /api/events/live`: the events that are selected, as they happen. `lag` tells of what was left out because it was too much, or because
 * the reader was too slow.
 */
export async function followEvents(c: ConsoleContext): Promise<Response> {
  const { query, incoming, service } = c.env;
  const parameters = Parameters.fromQuery(query, [...selectionNames, 'last_event_id']);
  const selection = readEventSelection(parameters);
  const asked = parameters.place('last_event_id');
  const last = incoming.headers['last-event-id'];
  // A browser that connects anew knows what it has seen since it asked.
  const from = typeof last === 'string' ? parsePosition(last) : asked;
  // What happened before, on other nodes, too, is nothing new. While nobody can say, what is known must do.
  await service.sources
    .journal()
    .findEnd()
    .catch(() => {});
  return answerEvents(c, (stream) => void tell(stream, liveEvents(service).follow(selection, from, stream.signal), service));
}

function liveEvents({ sources, clock }: ConsoleService): LiveEvents {
  const journal = sources.journal();
  const known = live.get(journal) ?? new LiveEvents(journal, clock);
  live.set(journal, known);
  return known;
}

async function tell(stream: EventStream, batches: AsyncGenerator<LiveBatch>, { log, uuid }: ConsoleService): Promise<void> {
  try {
    for await (const { events, lag } of batches) {
      if (lag) {
        const [from, to] = [formatPosition(lag.from), formatPosition(lag.to)];
        if (!stream.send({ event: 'lag', id: to, data: { skipped: lag.skipped ?? null, from, to } })) await stream.caughtUp();
      }
      for (const piece of pieces(events)) if (!stream.write(piece)) await stream.caughtUp();
    }
  } catch (error) {
    log.warn('the journal cannot be followed', { service: uuid, reason: error });
  } finally {
    stream.end();
  }
}

/** Events as Server-Sent Events, many in one piece. */
function* pieces(events: readonly RawEvent[]): Generator<Buffer> {
  let [start, bytes] = [0, 0];
  for (const [index, { raw }] of events.entries()) {
    bytes += raw.length;
    if (bytes < pieceBytes && index < events.length - 1) continue;
    yield pieceOf(events.slice(start, index + 1));
    [start, bytes] = [index + 1, 0];
  }
}

/** The last piece that began with an event: those who hear the same are sent the same bytes. */
const made = new WeakMap<RawEvent, { events: readonly RawEvent[]; bytes: Buffer }>();

function pieceOf(events: readonly RawEvent[]): Buffer {
  const [first] = events as [RawEvent];
  const known = made.get(first);
  if (known?.events.length === events.length && events.every((event, index) => event === known.events[index])) return known.bytes;
  const bytes = Buffer.concat(
    events.flatMap(({ next, raw }) => [Buffer.from(`id: ${formatPosition(next)}\ndata: `), oneLine(raw), messageEnd]),
  );
  made.set(first, { events, bytes });
  return bytes;
}

/** svc writes no carriage returns; in JSON by other hands they are white space, and would end the line of a message. */
function oneLine(raw: Buffer): Buffer {
  return raw.includes(carriageReturn) ? Buffer.from(raw.map((byte) => (byte === carriageReturn ? space : byte))) : raw;
}

const [carriageReturn, space] = [0x0d, 0x20];
const messageEnd = Buffer.from('\n\n');

const usualOfPage = 100;
const maxPerPage = 1000;

/** How far a search goes for one page. */
const pageLimits = { bytes: 2 * 2 ** 30, timeMs: 2000 };

/** How far the search for one event goes. */
const eventLimits = { bytes: Number.POSITIVE_INFINITY, timeMs: 10_000 };

/** The events of a request are looked for so long before and after the one that is opened, in milliseconds, and most of them. */
const requestSpanMs = 3_600_000;
const maxPerRequest = 500;

/** An event is looked for so long before and after the time that the request gives, in milliseconds. */
const atSpanMs = 60_000;

const maxDeliveries = 100;

/** Searches at once, and how many may wait; streams of all that matches have places of their own, for they last. */
const searches = new FairQueue({ concurrency: 2, maxWaitingPerParty: 20, maxWaiting: 100 });
const streams = new FairQueue({ concurrency: 4, maxWaitingPerParty: 0, maxWaiting: 0 });

/** Bytes of events that are written to a stream at once. */
const pieceBytes = 64 * 1024;

/** `GET /api/events`: a page of events, the newest first; as NDJSON all that match. */
export async function listEvents(c: ConsoleContext): Promise<Response> {
  const { query, service } = c.env;
  const parameters = Parameters.fromQuery(query, [...selectionNames, 'limit', 'cursor']);
  const selection = readEventSelection(parameters);
  const before = parameters.place('cursor');
  const journal = service.sources.journal();
  if (/\bapplication\/x-ndjson\b/i.test(c.env.incoming.headers.accept ?? '')) {
    const most = parameters.number('limit', { usual: Number.POSITIVE_INFINITY, most: 999_999_999 });
    return streamEvents(c, journal, selection, { before, most });
  }
  const events = parameters.number('limit', { usual: usualOfPage, most: maxPerPage });
  // What comes while it is searched for may be found here, and is told by a live tail that begins here.
  const { begin, page } = await inTurn(c, async (signal) => ({
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

/** `GET /api/events/{uuid}`: an event, what became of it at the handlers, and the other events of its request. */
export async function showEvent(c: ConsoleContext): Promise<Response> {
  const { clock, sources } = c.env.service;
  const atMs = Parameters.fromQuery(c.env.query, ['at']).timeMs('at');
  const uuid = pathPart(c, 'uuid');
  const journal = sources.journal();
  const find = (selection: Partial<EventSelection>, events: number) =>
    inTurn(c, (signal) => searchPage(journal, { id: [], uuid: [], ...selection }, { limits: { ...eventLimits, events }, clock, signal }));
  const around = atMs === undefined ? {} : { since: atMs - atSpanMs, until: atMs + atSpanMs };
  const { events, isComplete } = await find({ uuid: [uuid], ...around }, 1);
  const [found] = events;
  if (!found && !isComplete) throw new ServiceError('unavailable', 'The search took too long; say with "at" when it happened.');
  if (!found) throw new ServiceError('not-found', 'There is no such event, or it is not kept any more.');
  const { event } = found;
  const eventMs = eventTimeMs(event);
  const span = { since: eventMs - requestSpanMs, until: eventMs + requestSpanMs };
  const requestId = event.data.request_id;
  const ofRequest = requestId === undefined ? [] : (await find({ requestId: [String(requestId)], ...span }, maxPerRequest)).events;
  const filter = { sinceMs: eventMs, eventUuid: uuid };
  const deliveries = await newestDeliveries(sources.deliveries.records, filter, { limit: maxDeliveries });
  return answerJson(c, {
    event,
    deliveries: (deliveries?.deliveries ?? []).map(shownDelivery),
    request_events: ofRequest
      .map((other) => other.event)
      .filter((other) => other.uuid !== uuid)
      .toReversed(),
  });
}

/** Runs a search when it is its turn; it ends when the client is gone. */
async function inTurn<T>(c: ConsoleContext, search: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const endTurn = await searches.take(requireAdministrator(c).name);
  try {
    return await search(goneSignal(c.env));
  } finally {
    endTurn();
  }
}

async function streamEvents(
  c: ConsoleContext,
  journal: EventLog,
  selection: EventSelection,
  { before, most }: { before: LogPosition | undefined; most: number },
): Promise<Response> {
  const { method, outgoing } = c.env;
  const headers = { ...replyHeaders(c), 'content-type': 'application/x-ndjson' };
  if (method === 'HEAD') return new Response(null, { headers });
  const endTurn = await streams.take(requireAdministrator(c).name);
  const pieces = Readable.from(inPieces(newestEvents(journal, selection, { before, signal: goneSignal(c.env) }), most));
  try {
    // A journal that cannot be read is no success.
    await once(pieces, 'readable');
    outgoing.writeHead(200, headers);
    await pipeline(pieces, outgoing);
    return RESPONSE_ALREADY_SENT;
  } catch (error) {
    throw systemErrorCode(error) === 'ERR_STREAM_PREMATURE_CLOSE' ? clientGone(error) : error;
  } finally {
    pieces.destroy();
    endTurn();
  }
}

/** The lines of events, many in one piece. */
async function* inPieces(events: AsyncGenerator<FoundEvent>, most: number): AsyncGenerator<Buffer, void> {
  let lines: Buffer[] = [];
  let bytes = 0;
  let count = 0;
  for await (const { raw } of events) {
    lines.push(raw, newline);
    bytes += raw.length + 1;
    if (bytes >= pieceBytes) {
      yield Buffer.concat(lines);
      lines = [];
      bytes = 0;
    }
    if (++count >= most) break;
  }
  if (lines.length > 0) yield Buffer.concat(lines);
}

const newline = Buffer.from('\n');
