import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import { systemClock } from '../../lib/clock.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import { exitCode } from '../exit-codes.ts';
import { complain, paint, print, visible } from '../output.ts';
import type { SelectionOptions } from './event-selection.ts';
import type { Journal } from './journal.ts';

/** Which records to print. */
export interface DeliveriesOptions extends SelectionOptions {
  handler: string[];
  follow?: boolean;
  json?: boolean;
}

/** How often followed records are looked at. */
const lookEveryMs = 200;

/** Prints the records of deliveries, by the service and by hand. */
export async function printDeliveries(journal: Journal, options: DeliveriesOptions, signal: AbortSignal): Promise<number> {
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
    await systemClock.sleep(lookEveryMs, signal).catch(() => {});
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
