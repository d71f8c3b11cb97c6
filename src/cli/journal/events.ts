import { eventCatalogue } from '../../events/catalogue.ts';
import type { LoggedEvent } from '../../events/journal/event-log.ts';
import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import { isSelected } from '../../events/journal/search/event-selection.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import { readUndelivered } from '../../webhooks/replay/undelivered-events.ts';
import { exitCode, interruptible } from '../exit-codes.ts';
import { complain, paint, print, visible } from '../output.ts';
import type { SelectionOptions } from './event-selection.ts';
import { assertJournal, findJournal, type Journal, type JournalOptions } from './journal.ts';

/** The options that select the delivery records to print. */
interface DeliveriesOptions extends SelectionOptions {
  handler: string[];
  follow?: boolean;
  json?: boolean;
}

/** Prints the records of deliveries, whether the service or `svc webhook-replay` made them. */
async function printDeliveries(journal: Journal, options: DeliveriesOptions, signal: AbortSignal): Promise<number> {
  let printed = 0;
  for await (const record of records(journal, options, signal)) {
    if (!isWanted(record, options)) continue;
    print(options.json ? JSON.stringify(record) : recordText(record));
    if (++printed === options.limit) break;
  }
  return exitCode.done;
}

async function* records(journal: Journal, options: DeliveriesOptions, signal: AbortSignal): AsyncGenerator<DeliveryRecord> {
  const kinds = ['deliveries', 'replays'] as const;
  const last = new Map<string, LogPosition>();
  const told = new Set<string>();
  const onBadLine = (reason: string) => {
    if (!told.has(reason)) complain(visible(reason));
    told.add(reason);
  };
  for (;;) {
    for (const kind of kinds) {
      const before = last.get(kind);
      const from = before ?? (options.since === undefined ? undefined : journal.records.since(kind, options.since));
      for await (const { record, position } of journal.records.read(kind, from, onBadLine)) {
        if (signal.aborted) return;
        if (before && comparePositions(position, before) <= 0) continue;
        last.set(kind, position);
        yield record;
      }
    }
    if (!options.follow || signal.aborted) return;
    await systemClock.sleep(readEveryMs, signal).catch(() => {});
  }
}

function isWanted(record: DeliveryRecord, options: DeliveriesOptions): boolean {
  if (options.handler.length > 0 && !options.handler.includes(record.handler)) return false;
  if (options.failed && record.outcome === 'delivered') return false;
  if (options.id.length > 0 && !record.events.some(({ id }) => options.id.includes(Number(id)))) return false;
  if (options.uuid.length > 0 && !record.events.some(({ uuid }) => options.uuid.includes(uuid))) return false;
  const atMs = new Date(record.time).getTime();
  return !(options.since !== undefined && atMs < options.since) && !(options.until !== undefined && atMs >= options.until);
}

function recordText({ time, handler, outcome, events, attempts, details, source }: DeliveryRecord): string {
  const last = attempts.at(-1);
  const what = `${events.map(({ id }) => id).join(',')}`;
  const colour = outcome === 'delivered' ? 'green' : 'red';
  const columns = [
    time,
    handler,
    outcome,
    what.length > 40 ? `${what.slice(0, 37)}…` : what,
    events[0]?.uuid ?? '',
    last?.url ?? '',
    last?.status === undefined ? '' : String(last.status),
    `${attempts.length}x`,
    source ?? 'service',
    details ?? '',
  ].map(visible);
  if (!process.stdout.isTTY) return columns.join('\t');
  return columns.map((text, index) => (index === 2 ? paint(process.stdout, colour, text.padEnd(9)) : text)).join(' ');
}

/** Options of `svc events`. */
export interface EventsOptions extends DeliveriesOptions, JournalOptions {
  deliveries?: boolean;
  catalogue?: boolean;
}

/** Interval at which `--follow` reads the journal, in milliseconds. */
const readEveryMs = 200;

/** Prints the journal (docs/spec/command-line.md#events). */
export async function events(options: EventsOptions): Promise<number> {
  if (options.catalogue) return printCatalogue(options.json ?? false);
  if (options.handler.length > 0 && !options.deliveries)
    throw new ServiceError('bad-request', '--handler selects deliveries: give --deliveries, too.');
  const journal = await findJournal(options, options.failed ?? false);
  assertJournal(journal);
  return interruptible(async (signal) => {
    try {
      return await printEvents(journal, options, signal);
    } finally {
      await journal.close();
    }
  });
}

async function printEvents(journal: Journal, options: EventsOptions, signal: AbortSignal): Promise<number> {
  if (options.deliveries) return printDeliveries(journal, options, signal);
  const undelivered = options.failed ? await readUndelivered(journal, false, (reason) => complain(visible(reason))) : undefined;
  let printed = 0;
  for await (const logged of follow(journal, options, signal)) {
    if (!isSelected(logged.event, options, logged.group)) continue;
    if (undelivered && !undelivered.isMissingSomewhere(logged.event, logged.group, logged.position)) continue;
    print(options.json ? logged.raw.toString('utf8') : eventText(logged));
    if (++printed === options.limit) break;
  }
  return exitCode.done;
}

async function* follow(journal: Journal, options: EventsOptions, signal: AbortSignal): AsyncGenerator<LoggedEvent> {
  const reader = journal.openReader(({ path, offset, reason }) => complain(`${path}, byte ${offset}: ${reason}; skipped`), options);
  try {
    for (let position = journal.since(options.since); !signal.aborted; ) {
      const { events: block, next } = await reader.next(position);
      yield* block;
      position = next;
      if (block.length > 0) continue;
      if (!options.follow) return;
      await systemClock.sleep(readEveryMs, signal).catch(() => {});
    }
  } finally {
    reader.close();
  }
}

function eventText({ event }: LoggedEvent): string {
  const time = new Date(Number(event.timestamp.timestamp) * 1000).toISOString();
  const columns = [time, event.id, event.account.name, event.account.peer.address, event.message].map(visible);
  if (!process.stdout.isTTY) return columns.join('\t');
  const [at, id, name, address, message] = columns as [string, string, string, string, string];
  return `${paint(process.stdout, 'dim', at)} ${paint(process.stdout, 'cyan', id)} ${name.padEnd(12)} ${address.padEnd(15)} ${message}`;
}

function printCatalogue(isJson: boolean): number {
  if (isJson) print(JSON.stringify(eventCatalogue, null, 2));
  else for (const { id, meaning, groups } of eventCatalogue) print(`${id}  ${meaning}  [${groups.join(', ')}]`);
  return exitCode.done;
}
