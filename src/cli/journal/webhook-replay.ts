import type { ServiceEvent } from '../../events/event.ts';
import { openForwarded } from '../../files/forwarded-files.ts';
import { systemClock } from '../../lib/clock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { connectSftp } from '../../ssh/client/sftp-client.ts';
import { eventHandlerOptions } from '../../webhooks/options.ts';
import type { RequestDifference, ShownRequest } from '../../webhooks/records/delivery-record-schema.ts';
import { comparedRequests } from '../../webhooks/replay/dry-run.ts';
import { ReplayLane, replayEvents, replayRecorded } from '../../webhooks/replay/replay.ts';
import { chosenHandlers, replayHandler, replayServer } from '../../webhooks/replay/replay-handlers.ts';
import { plainHandler, selectedEvents } from '../../webhooks/replay/selected-events.ts';
import { describeRequest } from '../../webhooks/replay/shown-requests.ts';
import type { WebhookHandler } from '../../webhooks/webhook-handler.ts';
import { exitCode, interruptible } from '../exit-codes.ts';
import { complain, count, paint, print } from '../output.ts';
import type { SelectionOptions } from './event-selection.ts';
import { assertJournal, findJournal, type Journal, type JournalOptions } from './journal.ts';
import { BadLines, type MalformedOptions, ReplayReport } from './replay-report.ts';

/**
 * Prints how the recorded requests differ from the requests that the current configuration would make. It sends nothing.
 *
 * @returns 0 if no request differs; 1 if at least one differs, or if a line was malformed
 */
async function diffRequests(
  journal: Journal,
  handlers: readonly WebhookHandler[],
  options: SelectionOptions & { json?: boolean },
  bad: BadLines,
): Promise<number> {
  let compared = 0;
  let different = 0;
  const compare = async () => {
    for await (const difference of comparedRequests(journal, handlers, options, bad)) {
      compared++;
      if (difference.differences.length === 0) continue;
      different++;
      print(options.json ? JSON.stringify(difference) : differenceText(difference));
    }
  };
  await bad.unlessEnded(compare());
  complain(`${count(compared, 'request')} compared, ${different} different${bad.count > 0 ? `, ${bad.summary}` : ''}`);
  return different > 0 || bad.isFailure ? exitCode.no : exitCode.done;
}

function differenceText({ handler, events: [first], differences }: RequestDifference): string {
  return [
    paint(process.stdout, 'bold', `${handler} ${first?.id} ${first?.uuid}`),
    ...differences.map((line) => paint(process.stdout, line.startsWith('-') ? 'red' : 'green', line)),
    '',
  ].join('\n');
}

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

/** The command forwards files but never moves or deletes them, because it cannot write to the journal. */
const commandForwarding = { open: (event: ServiceEvent) => openForwarded(event, []), connectSftp };

/** Sends events again (docs/spec/command-line.md#webhook-replay). */
export async function webhookReplay(source: string | undefined, options: ReplayOptions): Promise<number> {
  assertUsage(source, options);
  const journal = await findJournal(options, true);
  try {
    return await replayFrom(source, journal, options);
  } finally {
    await journal.close();
  }
}

async function replayFrom(source: string | undefined, journal: Journal, options: ReplayOptions): Promise<number> {
  if (source === undefined) assertJournal(journal);
  const handlers = selectHandlers(journal, options);
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
          stopAfterFailures: 0,
          signal,
          record: options.url === undefined && journal.config ? record : undefined,
          onDelivered: (sender, delivered) => report.delivered(sender, delivered),
          preview: options.dryRun ? (...request) => print(shownText(options, describeRequest(...request, systemClock.nowMs()))) : undefined,
        }),
    );
    try {
      const selected = options.exact
        ? replayRecorded(journal, lanes, options, bad, signal)
        : replayEvents(selectedEvents(source, journal, handlers, options, bad, signal), lanes);
      const matched = await bad.unlessEnded(selected);
      for (const lane of lanes) await lane.finish();
      if (!options.dryRun) report.finish(bad);
      else if (bad.count > 0) complain(`svc: ${bad.summary}`);
      if (matched === 0) complain('svc: no handler wants any of the selected events; --force also sends events that the filters exclude');
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
  if (options.strict && options.skipMalformed) refuse('--strict and --skip-malformed cannot be used together.');
  if (options.exact && options.diff) refuse('--exact and --diff cannot be used together.');
  if ((options.exact || options.diff) && source !== undefined)
    refuse('--exact and --diff compare with recorded requests, so they cannot be used with a file.');
  if ((options.exact || options.diff) && options.url !== undefined)
    refuse('--exact and --diff are about the handlers of the configuration, so they cannot be used with --url.');
  if (options.failed && source === '-') refuse('--failed needs the journal or a file, not stdin.');
}

/**
 * Selects the handlers that get the events: the named handlers, or all enabled handlers. With `--url`, the result is one handler with this
 * URL: the named handler, or a handler with default options.
 */
function selectHandlers(journal: Journal, options: ReplayOptions): WebhookHandler[] {
  const server = replayServer(journal.serverUuid, journal.config?.server.name);
  const chosen = options.url === undefined ? configuredHandlers(journal, options) : [plainOrNamed(journal, options, options.url)];
  return chosen.map(([uuid, handler]) => replayHandler(uuid, handler, { server, clock: systemClock, forward: commandForwarding }));
}

type NamedOptions = ReturnType<typeof chosenHandlers>[number];

function configuredHandlers(journal: Journal, { handler: named }: Pick<ReplayOptions, 'handler'>): NamedOptions[] {
  const chosen = namedHandlers(journal, named);
  if (chosen.length === 0)
    throw new ServiceError('bad-request', 'No event handler is configured and enabled; name a destination with --url.');
  return chosen;
}

function plainOrNamed(journal: Journal, { handler: named }: ReplayOptions, url: string): NamedOptions {
  const [only, ...others] = named.length > 0 ? namedHandlers(journal, named) : [];
  const plain = eventHandlerOptions.safeParse({ type: 'http', url: [url] });
  if (!plain.success) throw new ServiceError('bad-request', `--url ${plain.error.issues[0]?.message ?? 'cannot be used'}.`);
  if (others.length > 0) throw new ServiceError('bad-request', '--url can be used with at most one --handler, whose format is then used.');
  return only ? [only[0], { ...only[1], url: [url] }] : [plainHandler, plain.data];
}

function namedHandlers(journal: Journal, named: readonly string[]): NamedOptions[] {
  try {
    return chosenHandlers(journal.config?.event_handlers ?? {}, named);
  } catch (error) {
    if (!isServiceError(error, 'bad-request')) throw error;
    throw new ServiceError('bad-request', `--handler: ${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`, { cause: error });
  }
}

function shownText(options: ReplayOptions, request: ShownRequest): string {
  return options.json ? JSON.stringify(request) : requestText(request);
}

function requestText({ method, url, headers, body }: ShownRequest): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  return `${method} ${url}\n${lines.join('')}\n${body}\n`;
}
