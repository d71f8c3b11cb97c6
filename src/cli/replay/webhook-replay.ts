import { hostname } from 'node:os';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { MemoryUrlHealth } from '../../lib/remote/url-health.ts';
import { eventHandlerOptions } from '../../webhooks/options.ts';
import { DeliveryHistory } from '../../webhooks/records/delivery-history.ts';
import { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import { exitCode } from '../exit-codes.ts';
import { interruptible } from '../interrupt.ts';
import { BadLines, type MalformedOptions } from '../journal/bad-lines.ts';
import { isSelected, type SelectionOptions } from '../journal/event-selection.ts';
import { fileEvents, journalEvents, type SourceEvent } from '../journal/event-source.ts';
import { assertJournal, findJournal, type JournalOptions } from '../journal/journal.ts';
import type { Journal } from '../journal/journal-shape.ts';
import { UndeliveredEvents } from '../journal/undelivered-events.ts';
import { complain, print } from '../output.ts';
import { literalHeaders } from './literal-headers.ts';
import { diffRequests } from './replay-diff.ts';
import { recordedRequests } from './replay-exact.ts';
import { ReplayLane } from './replay-lane.ts';
import { ReplayReport } from './replay-report.ts';
import { requestOf, requestText } from './replay-request.ts';

/** Options of `svc webhook-replay`. */
export interface ReplayOptions extends SelectionOptions, JournalOptions, MalformedOptions {
  handler: string[];
  url?: string;
  dryRun?: boolean;
  exact?: boolean;
  diff?: boolean;
  force?: boolean;
  concurrency?: number;
  json?: boolean;
}

/** The name under which deliveries to `--url` are reported. */
const plainHandler = 'url';

/** Sends events again (docs/spec/command-line.md#webhook-replay). */
export async function webhookReplay(source: string | undefined, options: ReplayOptions): Promise<number> {
  assertUsage(source, options);
  const journal = await findJournal(options);
  try {
    return await replayFrom(source, journal, options);
  } finally {
    await journal.close();
  }
}

async function replayFrom(source: string | undefined, journal: Journal, options: ReplayOptions): Promise<number> {
  if (source === undefined) assertJournal(journal);
  const handlers = handlersOf(journal, options);
  const bad = new BadLines(options);
  if (options.diff) return await diffRequests(journal, handlers, options, bad);
  const report = new ReplayReport(options.json ?? false);
  let records: ReturnType<Journal['openReplayLog']> | undefined;
  const record = () => {
    records ??= journal.openReplayLog();
    return records;
  };
  return interruptible(async (signal) => {
    const lanes = handlers.map(
      (handler) =>
        new ReplayLane(handler, {
          concurrency: options.concurrency ?? handler.options.concurrency,
          signal,
          record: options.url === undefined && journal.config ? record : undefined,
          onDelivered: (sender, delivered) => report.delivered(sender, delivered),
          preview: options.dryRun
            ? (...request) =>
                print(shownText(options, requestOf(...request, systemClock.nowMs(), literalHeaders(journal.source, handler.uuid))))
            : undefined,
        }),
    );
    try {
      const selected = options.exact
        ? replayExactly(journal, lanes, options, bad, signal)
        : replay(source, journal, lanes, options, bad, signal);
      const matched = await bad.unlessEnded(selected);
      for (const lane of lanes) await lane.finish();
      if (!options.dryRun) report.finish(bad);
      else if (bad.count > 0) complain(`svc: ${bad.summary}`);
      if (matched === 0) complain('svc: no event was selected that a handler wants; --force sends what its filters leave out');
    } finally {
      await records?.close();
    }
    return report.failures > 0 || bad.isFailure ? exitCode.no : exitCode.done;
  });
}

function assertUsage(source: string | undefined, options: ReplayOptions): void {
  const refuse = (text: string) => {
    throw new ServiceError('bad-request', text);
  };
  if (options.strict && options.skipMalformed) refuse('--strict and --skip-malformed exclude each other.');
  if (options.exact && options.diff) refuse('--exact and --diff exclude each other.');
  if ((options.exact || options.diff) && source !== undefined)
    refuse('--exact and --diff compare with what the journal recorded; they take no file.');
  if ((options.exact || options.diff) && options.url !== undefined)
    refuse('--exact and --diff are about the handlers of the configuration; they take no --url.');
  if (options.failed && source === '-') refuse('--failed goes with the journal or a file.');
}

/** The handlers to send to: those named, or all that are enabled, or one for `--url`. */
function handlersOf(journal: Journal, options: ReplayOptions): WebhookHandler[] {
  const configured = journal.config?.event_handlers ?? {};
  const server = { uuid: journal.serverUuid ?? 'svc-webhook-replay', type: 'server', name: journal.config?.server.name || hostname() };
  const make = (uuid: string, handler: (typeof configured)[string]) =>
    new WebhookHandler(uuid, handler, { clock: systemClock, health: new MemoryUrlHealth(systemClock), server });
  const named = [...new Set(options.handler)].map((uuid) => {
    const handler = configured[uuid];
    if (handler) return [uuid, handler] as const;
    const known = Object.keys(configured);
    throw new ServiceError(
      'bad-request',
      `--handler: there is no event handler "${uuid}"${known.length > 0 ? `; known: ${known.join(', ')}` : ''}.`,
    );
  });
  if (options.url !== undefined) {
    const plain = eventHandlerOptions.safeParse({ type: 'http', url: [options.url] });
    if (!plain.success) throw new ServiceError('bad-request', `--url ${plain.error.issues[0]?.message ?? 'cannot be used'}.`);
    const [only, ...others] = named;
    if (others.length > 0) throw new ServiceError('bad-request', '--url goes with one --handler at most, whose format it then gets.');
    if (only) return [make(only[0], { ...only[1], url: [options.url] })];
    return [make(plainHandler, plain.data)];
  }
  const chosen = named.length > 0 ? named : Object.entries(configured).filter(([, handler]) => handler.enabled);
  if (chosen.length === 0)
    throw new ServiceError('bad-request', 'No event handler is configured and enabled; name a destination with --url.');
  return chosen.map(([uuid, handler]) => make(uuid, handler));
}

/** @returns number of events that somebody wants */
async function replay(
  source: string | undefined,
  journal: Journal,
  lanes: readonly ReplayLane[],
  options: ReplayOptions,
  bad: BadLines,
  signal: AbortSignal,
): Promise<number> {
  const onBadLine = (place: string, reason: string) => bad.add(place, reason);
  const events: AsyncIterable<SourceEvent> =
    source === undefined ? journalEvents(journal, options.since, onBadLine) : fileEvents(source, onBadLine, signal);
  const undelivered = options.failed
    ? await UndeliveredEvents.read(journal, source !== undefined, (reason) => bad.add('records', reason))
    : undefined;
  let matched = 0;
  for await (const sent of events) {
    if (signal.aborted) break;
    if (!isSelected(sent.event, options)) continue;
    const takers = lanes.filter(({ handler }) => {
      if (handler.uuid === plainHandler) return undelivered?.isMissingSomewhere(sent.event, sent.group, sent.position) ?? true;
      if (!options.force && !handler.wants(sent.event, sent.group)) return false;
      return undelivered?.isMissing(handler.uuid, sent.event, sent.position) ?? true;
    });
    if (takers.length === 0) continue;
    matched++;
    for (const lane of takers) await lane.add(sent);
    if (options.limit !== undefined && matched >= options.limit) break;
  }
  return matched;
}

/** Sends what was recorded, to the handlers it was recorded for. */
async function replayExactly(
  journal: Journal,
  lanes: readonly ReplayLane[],
  options: ReplayOptions,
  bad: BadLines,
  signal: AbortSignal,
): Promise<number> {
  const history = await DeliveryHistory.read(journal.records, (reason) => bad.add('records', reason));
  const selected = new Set<string>();
  for await (const { event } of journalEvents(journal, options.since, (place, reason) => bad.add(place, reason)))
    if (isSelected(event, options)) selected.add(event.uuid);
  const byHandler = new Map(lanes.map((lane) => [lane.handler.uuid, lane]));
  let matched = 0;
  const requests = recordedRequests(journal, (handler, uuid) => byHandler.has(handler) && selected.has(uuid), bad);
  for await (const { record, events, rendered } of requests) {
    if (signal.aborted) break;
    const lane = byHandler.get(record.handler) as ReplayLane;
    if (options.failed && events.every(({ event, position }) => history.isDelivered(record.handler, event.uuid, position))) continue;
    if (options.limit !== undefined && matched + events.length > options.limit && matched > 0) break;
    matched += events.length;
    await lane.send(events, rendered);
  }
  return matched;
}

function shownText(options: ReplayOptions, request: ReturnType<typeof requestOf>): string {
  return options.json ? JSON.stringify(request) : requestText(request);
}
