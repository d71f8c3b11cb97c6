import { eventCatalogue } from '../../events/catalogue.ts';
import type { LoggedEvent } from '../../events/journal/event-log.ts';
import { isSelected } from '../../events/journal/search/event-selection.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { readUndelivered } from '../../webhooks/replay/undelivered-events.ts';
import { exitCode } from '../exit-codes.ts';
import { interruptible } from '../interrupt.ts';
import { complain, paint, print, visible } from '../output.ts';
import { type DeliveriesOptions, printDeliveries } from './events-deliveries.ts';
import type { Journal } from './journal.ts';
import { assertJournal, findJournal, type JournalOptions } from './journal.ts';

/** Options of `svc events`. */
export interface EventsOptions extends DeliveriesOptions, JournalOptions {
  deliveries?: boolean;
  catalogue?: boolean;
}

/** How often a followed journal is looked at. */
const lookEveryMs = 200;

/** Prints the journal (docs/spec/command-line.md#events). */
export async function events(options: EventsOptions): Promise<number> {
  if (options.catalogue) return printCatalogue(options.json ?? false);
  if (options.handler.length > 0 && !options.deliveries)
    throw new ServiceError('bad-request', '--handler selects deliveries: give --deliveries, too.');
  const journal = await findJournal(options);
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

/** The events so far, and with `--follow` those to come. */
async function* follow(journal: Journal, options: EventsOptions, signal: AbortSignal): AsyncGenerator<LoggedEvent> {
  const reader = journal.openReader(({ path, offset, reason }) => complain(`${path}, byte ${offset}: ${reason}; skipped`), options);
  try {
    for (let position = journal.since(options.since); !signal.aborted; ) {
      const { events: block, next } = await reader.next(position);
      yield* block;
      position = next;
      if (block.length > 0) continue;
      if (!options.follow) return;
      await systemClock.sleep(lookEveryMs, signal).catch(() => {});
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
