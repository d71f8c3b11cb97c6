import type { EventLog, RawEvent } from '../../events/journal/event-log.ts';
import { formatPosition, parsePosition } from '../../events/journal/position.ts';
import { type LiveBatch, LiveEvents } from '../../events/journal/search/live-events.ts';
import { answerEvents } from '../answer-events.ts';
import type { ConsoleContext, ConsoleService } from '../environment.ts';
import type { EventStream } from '../event-stream.ts';
import { selectionNames, selectionOf } from './event-filter.ts';
import { Parameters } from './parameters.ts';

/** Bytes of events that are written at once, if they are not one event. */
const pieceBytes = 64 * 1024;

/** What all who follow a journal share, whichever console they ask. */
const live = new WeakMap<EventLog, LiveEvents>();

/**
 * `GET /api/events/live`: the events that are selected, as they happen. `lag` tells of what was left out because it was too much, or because
 * the reader was too slow.
 */
export async function followEvents(c: ConsoleContext): Promise<Response> {
  const { query, incoming, service } = c.env;
  const parameters = Parameters.ofQuery(query, [...selectionNames, 'last_event_id']);
  const selection = selectionOf(parameters);
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
