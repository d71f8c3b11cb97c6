import { hash } from 'node:crypto';
import { createReadStream, existsSync, statSync } from 'node:fs';
import type { Readable } from 'node:stream';
import type { ServiceEvent } from '../../events/event.ts';
import { journalEvents, type OnBadLine } from '../../events/journal/event-search.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import { deepestEvent, eventProblem } from '../../events/journal/reader.ts';
import { type EventSelection, isSelected } from '../../events/journal/search/event-selection.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isObject, parseJson } from '../../lib/json.ts';
import type { HistoryBounds } from '../records/delivery-history.ts';
import type { SentEvent, WebhookHandler } from '../webhook-handler.ts';
import type { BadLineReport } from './recorded-requests.ts';
import { type ReplayedJournal, UndeliveredEvents } from './undelivered-events.ts';

/** An event to be looked at or sent again; `group` is known for events of the journal. */
interface SourceEvent extends SentEvent {
  group: string | undefined;
}

/** Largest document that is read whole: one request body in pretty print. */
const largestDocumentBytes = 64 * 1024 * 1024;

/**
 * The events of a file or stdin: one event a line, request bodies (`{"events": […]}`) a line, or one such document.
 *
 * @param name path of the file, or `-` for stdin
 * @throws ServiceError `bad-request` when it cannot be read
 */
async function* fileEvents(name: string, onBadLine: OnBadLine, signal?: AbortSignal): AsyncGenerator<SourceEvent> {
  const stream = openSource(name);
  signal?.addEventListener('abort', () => stream.destroy());
  const place = name === '-' ? 'stdin' : name;
  let number = 0;
  let head = '';
  let isDocument: boolean | undefined;
  for await (const line of lines(stream, name, signal)) {
    number++;
    if (isDocument === undefined && line.trim() === '') continue;
    // A first line that is no JSON of its own begins a document that is written over several lines.
    isDocument ??= parse(line) === undefined && /^\s*[[{]/.test(line);
    if (isDocument) {
      head += `${line}\n`;
      if (head.length <= largestDocumentBytes) continue;
      // Too large for one body: lines after all, the first of them damaged.
      yield* linesOf(head, place, onBadLine);
      head = '';
      isDocument = false;
      continue;
    }
    if (line.trim() !== '') yield* eventsOf(line, `${place}:${number}`, onBadLine);
  }
  if (isDocument) yield* documentEvents(head, place, onBadLine);
}

// What looks like a document and is none may be lines after all, the first of them damaged.
function* documentEvents(text: string, place: string, onBadLine: OnBadLine): Generator<SourceEvent> {
  yield* parse(text) === undefined ? linesOf(text, place, onBadLine) : eventsOf(text, place, onBadLine);
}

function* linesOf(text: string, place: string, onBadLine: OnBadLine): Generator<SourceEvent> {
  for (const [index, line] of text.split('\n').entries()) if (line.trim() !== '') yield* eventsOf(line, `${place}:${index + 1}`, onBadLine);
}

function* eventsOf(text: string, place: string, onBadLine: OnBadLine): Generator<SourceEvent> {
  let value: unknown;
  try {
    value = parseEvents(text);
  } catch (error) {
    onBadLine(place, (error as Error).message);
    return;
  }
  const list = Array.isArray(value) ? value : ((value as { events?: unknown } | null)?.events ?? [value]);
  if (!Array.isArray(list)) {
    onBadLine(place, '"events" must be a list');
    return;
  }
  for (const [index, item] of list.entries()) {
    const event = withUuid(item);
    const problem = eventProblem(event);
    if (problem !== undefined) onBadLine(list.length > 1 ? `${place}, event ${index + 1}` : place, problem);
    else yield { event: event as ServiceEvent, raw: Buffer.from(JSON.stringify(event)), group: undefined };
  }
}

/** Events stand two levels deep in a request body. */
function parseEvents(text: string): unknown {
  return parseJson(text, { deepest: deepestEvent + 2 });
}

/** An event written by hand need not have a UUID; receivers that look for repeats need the same one each time. */
function withUuid(item: unknown): unknown {
  if (!isObject(item)) return item;
  const { id, uuid, ...rest } = item;
  return uuid === undefined || uuid === null || uuid === '' ? { id, uuid: contentUuid({ id, ...rest }), ...rest } : item;
}

function parse(text: string): unknown {
  try {
    return parseEvents(text);
  } catch {
    return undefined;
  }
}

function openSource(name: string): Readable {
  if (name === '-') return process.stdin;
  if (!existsSync(name)) throw new ServiceError('bad-request', `${name} does not exist.`);
  if (statSync(name).isDirectory()) throw new ServiceError('bad-request', `${name} is not a file.`);
  return createReadStream(name);
}

async function* lines(stream: Readable, name: string, signal: AbortSignal | undefined): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let isFirst = true;
  const text = (bytes: Buffer) => {
    const line = bytes.toString('utf8').replace(/\r$/, '');
    const shown = isFirst ? line.replace(/^\ufeff/, '') : line;
    isFirst = false;
    return shown;
  };
  try {
    for await (const chunk of stream as AsyncIterable<Buffer | string>) {
      let bytes = Buffer.from(chunk);
      for (let end = bytes.indexOf(0x0a); end >= 0; end = bytes.indexOf(0x0a)) {
        yield text(Buffer.concat([...rest, bytes.subarray(0, end)]));
        rest = [];
        bytes = bytes.subarray(end + 1);
      }
      rest.push(bytes);
    }
  } catch (error) {
    if (signal?.aborted) return;
    throw new ServiceError('bad-request', `${name} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  if (rest.some(({ length }) => length > 0)) yield text(Buffer.concat(rest));
}

/**
 * A UUID made of a JSON value: the same for the same content, however it is spaced and in whatever order its members stand
 * (version 8, RFC 9562 §5.8; the first bits of SHA-256).
 *
 * @throws RangeError when the value nests too deep to be written
 */
function contentUuid(value: unknown): string {
  const digits = hash('sha256', JSON.stringify(value, inOrder));
  const variant = ((Number.parseInt(digits.charAt(16), 16) & 3) | 8).toString(16);
  return [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`, variant + digits.slice(17, 20), digits.slice(20, 32)].join(
    '-',
  );
}

function inOrder(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The handler that deliveries to a URL without one are reported under: it takes every event. */
export const plainHandler = 'url';

/** Which events are sent again. */
export interface ReplaySelection extends EventSelection {
  /** Only what stands before it in the journal. */
  end?: LogPosition;
  /** Only what was not delivered. */
  failed?: boolean;
  /** How much of the records is remembered for `failed`; undefined for all. */
  history?: HistoryBounds;
  /** Most events. */
  limit?: number;
  /** Also what the filters of a handler leave out. */
  force?: boolean;
}

/** An event with those that get it. */
export interface SelectedEvent {
  sent: SourceEvent;
  takers: WebhookHandler[];
}

/**
 * The events of the journal, or of a file, that are selected and that somebody wants.
 *
 * @param source path of the file, or `-` for stdin; undefined for the journal
 */
export async function* selectedEvents(
  source: string | undefined,
  journal: ReplayedJournal,
  handlers: readonly WebhookHandler[],
  options: ReplaySelection,
  bad: BadLineReport,
  signal: AbortSignal,
): AsyncGenerator<SelectedEvent> {
  const onBadLine = (place: string, reason: string) => bad.add(place, reason);
  const events: AsyncIterable<SourceEvent> =
    source === undefined ? journalEvents(journal, options, onBadLine) : fileEvents(source, onBadLine, signal);
  const undelivered = options.failed
    ? await UndeliveredEvents.read(journal, source !== undefined, (reason) => bad.add('records', reason), options.history)
    : undefined;
  let matched = 0;
  for await (const sent of events) {
    if (signal.aborted || isBehind(sent.position, options.end)) break;
    if (!isSelected(sent.event, options, sent.group)) continue;
    const takers = handlers.filter((handler) => {
      if (handler.uuid === plainHandler) return undelivered?.isMissingSomewhere(sent.event, sent.group, sent.position) ?? true;
      if (!options.force && !handler.wants(sent.event, sent.group)) return false;
      return undelivered?.isMissing(handler.uuid, sent.event, sent.position) ?? true;
    });
    if (takers.length === 0) continue;
    yield { sent, takers };
    if (++matched === options.limit) break;
  }
}

function isBehind(position: LogPosition | undefined, end: LogPosition | undefined): boolean {
  return position !== undefined && end !== undefined && comparePositions(position, end) >= 0;
}
