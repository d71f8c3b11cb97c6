import { hostname } from 'node:os';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { MemoryUrlHealth } from '../../lib/remote/url-health.ts';
import { eventHandlerOptions } from '../../webhooks/options.ts';
import { plainHandler, replayEvents, replayRecorded } from '../../webhooks/replay/replay.ts';
import { ReplayLane } from '../../webhooks/replay/replay-lane.ts';
import { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import { exitCode } from '../exit-codes.ts';
import { interruptible } from '../interrupt.ts';
import { BadLines, type MalformedOptions } from '../journal/bad-lines.ts';
import type { SelectionOptions } from '../journal/event-selection.ts';
import { assertJournal, findJournal, type JournalOptions } from '../journal/journal.ts';
import type { Journal } from '../journal/journal-shape.ts';
import { complain, print } from '../output.ts';
import { literalHeaders } from './literal-headers.ts';
import { diffRequests } from './replay-diff.ts';
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
        ? replayRecorded(journal, lanes, options, bad, signal)
        : replayEvents(source, journal, lanes, options, bad, signal);
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

function shownText(options: ReplayOptions, request: ReturnType<typeof requestOf>): string {
  return options.json ? JSON.stringify(request) : requestText(request);
}
