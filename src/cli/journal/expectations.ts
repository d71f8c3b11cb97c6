import * as z from 'zod';
import { loadConfig } from '../../config/check.ts';
import { orderOfService } from '../../control/control-socket.ts';
import { evaluate, summarise } from '../../expectations/evaluate.ts';
import type { ExpectationOptions } from '../../expectations/options.ts';
import { durationSeconds } from '../../expectations/schedule.ts';
import {
  measurePunctuality,
  type Punctuality,
  punctuality,
  type ToldOccurrence,
  toldExpectation,
  toldOccurrence,
} from '../../expectations/told-occurrence.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest-name.ts';
import { type ServiceOptions, serviceFolder } from '../control/service-folder.ts';
import { exitCode } from '../exit-codes.ts';
import { complain, paint, print, visible } from '../output.ts';
import { assertJournal, findJournal, type JournalOptions } from './journal.ts';

const dayMs = 86_400_000;

/** The time before now, in milliseconds, for which `list` and `history` show occurrences. */
const shownMs = 31 * dayMs;

export const occurrenceList = z.strictObject({
  occurrences: z.array(toldOccurrence),
  punctuality: punctuality.nullable().exactOptional().describe('Only for history: when the files arrived; null if none arrived.'),
});
export const expectationList = z.strictObject({ expectations: z.array(toldExpectation) });

interface Options extends JournalOptions {
  json?: boolean;
  since?: number;
}

/**
 * Evaluates the expectations of the configuration with the events of the journal.
 *
 * @throws ServiceError `bad-request` if there are no expectations
 */
async function judged(options: JournalOptions, sinceMs: number) {
  const { config, file } = await loadConfig({ file: options.config, cwd: process.cwd(), env: process.env });
  if (Object.keys(config.expectations).length === 0) throw new ServiceError('bad-request', `${file} has no "expectations".`);
  const journal = await findJournal({ ...options, config: file }, false);
  try {
    assertJournal(journal);
    const onBadLine = ({ path, offset, reason }: { path: string; offset: number; reason: string }) =>
      complain(visible(`${path}, byte ${offset}: ${reason}; skipped`));
    const result = await evaluate(journal, config.expectations, { sinceMs, nowMs: systemClock.nowMs(), onBadLine });
    return { ...result, all: config.expectations };
  } finally {
    await journal.close();
  }
}

/** Prints the last and the next occurrence of each expectation. */
export async function listExpectations(options: Options): Promise<number> {
  const { past, next, all } = await judged(options, systemClock.nowMs() - shownMs);
  const expectations = summarise(all, { past, next });
  if (options.json) print(JSON.stringify({ expectations }));
  else
    for (const { expectation, enabled, last, next: coming } of expectations) {
      const lastText = last ? `last ${last.due} ${painted(last.state)}` : 'last -';
      print(visibleLine([expectation, enabled ? lastText : 'disabled', coming ? `next ${coming.due}` : 'next -']));
    }
  return exitCode.done;
}

/** Prints the state of each occurrence. @returns 3 if some are late, missing or malformed */
export async function checkExpectations(options: Options): Promise<number> {
  const { past } = await judged(options, options.since ?? systemClock.nowMs() - 30 * dayMs);
  printOccurrences(past, options);
  const bad = past.filter(({ state }) => state === 'late' || state === 'missing' || state === 'malformed');
  if (!options.json) complain(`svc: past occurrences: ${past.length}; with late, missing or malformed files: ${bad.length}`);
  return bad.length > 0 ? exitCode.mismatch : exitCode.done;
}

/** Prints the occurrences of one expectation, and the times at which its files arrived. */
export async function expectationHistory(uuid: string, options: Options): Promise<number> {
  const { past, next, arrivals, all } = await judged(options, options.since ?? systemClock.nowMs() - shownMs);
  assertKnown(uuid, all);
  const coming = next.get(uuid);
  const figures = measurePunctuality(arrivals.get(uuid) ?? []);
  const occurrences = [...past.filter(({ expectation }) => expectation === uuid), ...(coming ? [coming] : [])];
  if (options.json) print(JSON.stringify({ occurrences, punctuality: figures }));
  else printOccurrences(occurrences, options);
  if (!options.json && figures) complain(`svc: relative to the due time: ${punctualityLine(figures)}`);
  return exitCode.done;
}

/** Tells the running service to excuse an occurrence (docs/spec/expectations.md#excuses). */
export async function excuseOccurrence(
  uuid: string,
  due: string,
  options: ServiceOptions & { reason: string; json?: boolean },
): Promise<number> {
  const folder = await serviceFolder(options);
  const [told] = await orderOfService(folder, 'excuse', { expectation: uuid, due, reason: options.reason });
  if (options.json) print(JSON.stringify(told));
  else print(visible(`excused: ${uuid}, due ${due}`));
  return exitCode.done;
}

/** Tells the running service to expect the files of an occurrence again (docs/spec/expectations.md#expecting-files-again). */
export async function expectAgain(uuid: string, due: string, options: ServiceOptions & { until: string; json?: boolean }): Promise<number> {
  const folder = await serviceFolder(options);
  const fromNow = durationSeconds(options.until);
  const until = fromNow === undefined ? options.until : new Date(systemClock.nowMs() + fromNow * 1000).toISOString();
  const [told] = await orderOfService(folder, 'expect-again', { expectation: uuid, due, until });
  if (options.json) print(JSON.stringify(told));
  else print(visible(`expected once more: ${uuid}, due ${due}, until ${until}`));
  return exitCode.done;
}

/** Describes when files arrived, which helps to choose a due time. */
function punctualityLine({ count, median, lower_quartile, upper_quartile, ninth_decile, latest }: Punctuality): string {
  const half = `half of them from ${offsetText(lower_quartile)} to ${offsetText(upper_quartile)}`;
  return `${count} came, median ${offsetText(median)}; ${half}; nine of ten by ${offsetText(ninth_decile)}; the latest ${offsetText(latest)}`;
}

/** Formats an offset from the due time. `-1:05:00` is an hour and five minutes before the due time. */
function offsetText(seconds: number): string {
  const size = Math.abs(seconds);
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${seconds < 0 ? '-' : '+'}${Math.floor(size / 3600)}:${two((size / 60) % 60)}:${two(size % 60)}`;
}

function assertKnown(uuid: string, all: Readonly<Record<string, ExpectationOptions>>): void {
  if (Object.hasOwn(all, uuid)) return;
  const hint = didYouMean(uuid, Object.keys(all));
  throw new ServiceError('bad-request', `There is no expectation "${uuid}"${hint ? ` (${hint})` : ''}.`);
}

function printOccurrences(occurrences: readonly ToldOccurrence[], { json }: Options): void {
  if (json) {
    print(JSON.stringify({ occurrences }));
    return;
  }
  for (const { due, expectation, state, files, reason } of occurrences) {
    const came = files.map(({ path, time }) => `${path} ${time}`).join(', ');
    print(visibleLine([due, painted(state), expectation, came || '-', ...(reason === undefined ? [] : [reason])]));
  }
}

function painted(state: ToldOccurrence['state']): string {
  const colours = { met: 'green', late: 'yellow', missing: 'red', malformed: 'red', excused: 'dim', waiting: 'dim' } as const;
  return paint(process.stdout, colours[state], state);
}

/** Joins columns. They are separated by tabs if the output is not a terminal. */
function visibleLine(columns: readonly string[]): string {
  const shown = columns.map((column) => (column.includes('\u001b') ? column : visible(column)));
  return shown.join(process.stdout.isTTY ? '  ' : '\t');
}
