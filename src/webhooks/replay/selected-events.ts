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
import { type ReplayedJournal, readUndelivered } from './undelivered-events.ts';

/** An event to show or to send again. Its `group` is known only if the event comes from the journal. */
interface SourceEvent extends SentEvent {
  group: string | undefined;
}

/** Limits for parsing a request body, in which events are nested two levels deep. */
const bodyLimits = { deepest: deepestEvent + 2 };

/** Maximum size in bytes of a document of several lines, which is one formatted request body. */
const largestDocumentBytes = 64 * 1024 * 1024;

/**
 * Yields the events of a file or stdin. Each line is an event, a list of events or a request body (`{"events": […]}`), or all lines
 * together are one of these.
 *
 * @param name path of the file, or `-` for stdin
 * @throws ServiceError `bad-request` if it cannot be read
 */
async function* fileEvents(name: string, onBadLine: OnBadLine, signal?: AbortSignal): AsyncGenerator<SourceEvent> {
  const stream = openSource(name);
  signal?.addEventListener('abort', () => stream.destroy());
  const place = name === '-' ? 'stdin' : name;
  let number = 0;
  let head = '';
  let isDocument: boolean | undefined;
  for await (const line of readLines(stream, name, signal)) {
    number++;
    if (isDocument === undefined && line.trim() === '') continue;
    // If the first line begins like JSON but is not complete, it begins a document of several lines.
    isDocument ??= parse(line) === undefined && /^\s*[[{]/.test(line);
    if (isDocument) {
      head += `${line}\n`;
      if (head.length <= largestDocumentBytes) continue;
      // The text is too large for one body, so each line is parsed separately. This reports the first line as malformed.
      yield* parseLines(head, place, onBadLine);
      head = '';
      isDocument = false;
      continue;
    }
    if (line.trim() !== '') yield* parseText(line, `${place}:${number}`, onBadLine);
  }
  if (isDocument) yield* parse(head) === undefined ? parseLines(head, place, onBadLine) : parseText(head, place, onBadLine);
}

function* parseLines(text: string, place: string, onBadLine: OnBadLine): Generator<SourceEvent> {
  for (const [index, line] of text.split('\n').entries())
    if (line.trim() !== '') yield* parseText(line, `${place}:${index + 1}`, onBadLine);
}

function* parseText(text: string, place: string, onBadLine: OnBadLine): Generator<SourceEvent> {
  let value: unknown;
  try {
    value = parseJson(text, bodyLimits);
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

/** Adds a UUID to an event without one. The UUID depends only on the content of the event, so that receivers can detect repetitions. */
function withUuid(item: unknown): unknown {
  if (!isObject(item)) return item;
  const { id, uuid, ...rest } = item;
  return uuid === undefined || uuid === null || uuid === '' ? { id, uuid: contentUuid({ id, ...rest }), ...rest } : item;
}

function parse(text: string): unknown {
  try {
    return parseJson(text, bodyLimits);
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

async function* readLines(stream: Readable, name: string, signal: AbortSignal | undefined): AsyncGenerator<string> {
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
 * Calculates a UUID from a JSON value (version 8, RFC 9562 §5.8). It consists of the first bits of a SHA-256. Spacing and the order of
 * members do not change it.
 */
function contentUuid(value: unknown): string {
  const digits = hash('sha256', JSON.stringify(value, sortMembers));
  const variant = ((Number.parseInt(digits.charAt(16), 16) & 3) | 8).toString(16);
  const [first, second, third, last] = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(13, 16), digits.slice(20, 32)];
  return `${first}-${second}-8${third}-${variant}${digits.slice(17, 20)}-${last}`;
}

function sortMembers(_name: string, value: unknown): unknown {
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The UUID of the handler for a URL that was given on the command line. That handler accepts every event. */
export const plainHandler = 'url';

export interface ReplaySelection extends EventSelection {
  /** Only events before this position of the journal are selected. */
  end?: LogPosition;
  /** Whether only events that were not delivered are selected. */
  failed?: boolean;
  /** Whether `failed` includes events that were never sent to a handler; the default is true. */
  neverSent?: boolean;
  /** Limits for reading the records; used with `failed`. */
  history?: HistoryBounds;
  limit?: number;
  /** Whether events are also sent to handlers whose filters exclude them. */
  force?: boolean;
}

export interface SelectedEvent {
  sent: SourceEvent;
  takers: WebhookHandler[];
}

/**
 * Yields the selected events that at least one handler gets. They come from the journal or from a file.
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
    ? await readUndelivered(journal, source !== undefined, (reason) => bad.add('records', reason), options.history)
    : undefined;
  const isMissing = options.neverSent === false ? undelivered?.hasFailed : undelivered?.isMissing;
  let matched = 0;
  for await (const sent of events) {
    if (signal.aborted || isBehind(sent.position, options.end)) break;
    if (!isSelected(sent.event, options, sent.group)) continue;
    const takers = handlers.filter((handler) => {
      if (handler.uuid === plainHandler) return undelivered?.isMissingSomewhere(sent.event, sent.group, sent.position) ?? true;
      if (!options.force && !handler.wants(sent.event, sent.group)) return false;
      return isMissing?.(handler.uuid, sent.event, sent.position) ?? true;
    });
    if (takers.length === 0) continue;
    yield { sent, takers };
    if (++matched === options.limit) break;
  }
}

function isBehind(position: LogPosition | undefined, end: LogPosition | undefined): boolean {
  return position !== undefined && end !== undefined && comparePositions(position, end) >= 0;
}
