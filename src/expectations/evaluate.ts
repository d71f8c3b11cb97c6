import { arrivalIds, eventIds } from '../events/event-ids.ts';
import type { BadLine, EventReader } from '../events/journal/event-log.ts';
import type { LogPosition } from '../events/journal/position.ts';
import { type EventSelection, eventTimeMs } from '../events/journal/search/event-selection.ts';
import { cooperatively } from '../lib/concurrency/event-loop.ts';
import { dueTimesOf, Expectation, stateIds } from './expectation.ts';
import type { ExpectationOptions } from './options.ts';
import type { DueTimes } from './schedule.ts';
import type { ToldExpectation, ToldOccurrence } from './told-occurrence.ts';

/** A journal that can be read from a given time on. */
export interface ReadableJournal {
  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader;
  since(sinceMs: number | undefined): LogPosition | undefined;
}

/** Length in milliseconds of the steps in which the occurrences of a period are created. */
const stepMs = 3_600_000;
/** Maximum time in milliseconds without a pause for other requests. */
const maxBlockingMs = 10;

/** The IDs of the events from which the states of expectations are derived. */
export const neededIds = [...arrivalIds, ...Object.values(stateIds), eventIds.expectationReopened];

/**
 * Creates the enabled expectations, which have no files yet.
 *
 * @param fromMs returns the earliest due time that counts for an expectation, given its UUID
 * @throws the errors of `dueTimesOf`
 */
export function makeExpectations(options: Readonly<Record<string, ExpectationOptions>>, fromMs: (uuid: string) => number): Expectation[] {
  return Object.entries(options).flatMap(([uuid, one]) => (one.enabled ? [new Expectation(uuid, one, dueTimesOf(one), fromMs(uuid))] : []));
}

/**
 * Passes the events of a journal to expectations, up to the journal's current end.
 *
 * @param onState called for each event that reported a state, or that files are expected again
 * @returns the end of the journal
 */
export async function readExpectations(
  journal: ReadableJournal,
  expectations: readonly Expectation[],
  { nowMs, onState, onBadLine = () => {} }: { nowMs: number; onState?: (told: StateEvent) => void; onBadLine?: (bad: BadLine) => void },
): Promise<LogPosition | undefined> {
  const fromMs = Math.min(nowMs, ...expectations.map(({ beginsMs }) => beginsMs));
  await advanceAll(expectations, fromMs, nowMs);
  const reader = journal.openReader(onBadLine, { id: neededIds, uuid: [], since: fromMs });
  try {
    for (let position = journal.since(fromMs); ; ) {
      const { events, next } = await reader.next(position);
      for (const logged of events) {
        if (eventTimeMs(logged.event) < fromMs) continue;
        takeEvent(expectations, logged, onState);
      }
      position = next;
      if (events.length > 0) continue;
      for (const expectation of expectations) expectation.advance(nowMs);
      return position;
    }
  } finally {
    reader.close();
  }
}

/** Creates the occurrences of a period. Other requests run in between, because there may be an occurrence for each minute of a month. */
async function advanceAll(expectations: readonly Expectation[], fromMs: number, untilMs: number): Promise<void> {
  let startedMs = performance.now();
  for (const expectation of expectations) {
    for (let atMs = fromMs; atMs < untilMs; atMs += stepMs) {
      expectation.advance(atMs);
      if (performance.now() - startedMs < maxBlockingMs) continue;
      await new Promise(setImmediate);
      startedMs = performance.now();
    }
  }
}

/** An event that reported the state of an occurrence, or reported that the files of the occurrence are expected again. */
export interface StateEvent {
  expectation: string;
  dueMs: number;
  id: number;
}

/**
 * Passes an event to expectations if it reports a file, an excuse, or that files are expected again.
 *
 * @param onState called for an event that reported a state, or that files are expected again
 */
export function takeEvent(
  expectations: readonly Expectation[],
  logged: Parameters<Expectation['add']>[0],
  onState: ((told: StateEvent) => void) | undefined,
): void {
  const { id, data } = logged.event;
  if (arrivalIds.includes(Number(id))) {
    for (const expectation of expectations) expectation.add(logged);
    return;
  }
  if (!neededIds.includes(Number(id))) return;
  const dueMs = new Date(String(data.due)).getTime();
  onState?.({ expectation: String(data.expectation), dueMs, id: Number(id) });
  const isExcuse = Number(id) === stateIds.excused;
  if (!isExcuse && Number(id) !== eventIds.expectationReopened) return;
  for (const expectation of expectations) {
    if (expectation.uuid !== data.expectation) continue;
    if (isExcuse) expectation.excuse(dueMs, String(data.reason ?? ''));
    else expectation.reopen(dueMs, new Date(String(data.grace_ends)).getTime());
  }
}

/** The occurrences of a period. */
export interface Judged {
  /** The occurrences in the period, in the order of their due times. */
  past: ToldOccurrence[];
  /** For each enabled expectation, the first occurrence after the period. */
  next: Map<string, ToldOccurrence>;
  /** For each expectation, when the files of `past` arrived, in milliseconds after the due times. */
  arrivals: Map<string, number[]>;
}

/** Returns each expectation with the newest occurrence that was due, and the next one. */
export function summarise(
  options: Readonly<Record<string, ExpectationOptions>>,
  { past, next }: Pick<Judged, 'past' | 'next'>,
): ToldExpectation[] {
  return Object.entries(options).map(([uuid, { name, enabled, account, group }]) => ({
    expectation: uuid,
    name: name || uuid,
    enabled,
    account: account ?? null,
    group: group ?? null,
    last: past.findLast(({ expectation }) => expectation === uuid) ?? null,
    next: next.get(uuid) ?? null,
  }));
}

export interface Period {
  /** Start of the period, or a function that returns it for an expectation. */
  sinceMs: number | ((options: ExpectationOptions, dueTimes: DueTimes) => number);
  /** End of the period; by default `nowMs`. */
  untilMs?: number;
  nowMs: number;
  /**
   * The time since which each expectation is watched. Earlier occurrences are judged separately, and take no files from later ones. Without
   * files, they are marked as not watched.
   */
  inForce?: ReadonlyMap<string, number>;
  onBadLine?: (bad: BadLine) => void;
}

/** An expectation, and the part of the period that it judges. */
interface Part {
  expectation: Expectation;
  sinceMs: number;
  untilMs: number;
  isWatched: boolean;
}

function splitPeriod(uuid: string, options: ExpectationOptions, { sinceMs: since, inForce }: Period): Part[] {
  const dueTimes = dueTimesOf(options);
  const sinceMs = typeof since === 'number' ? since : since(options, dueTimes);
  const forcedMs = inForce?.get(uuid) ?? Number.NEGATIVE_INFINITY;
  const part = (fromMs: number, untilMs: number, earliestMs: number): Part => ({
    expectation: new Expectation(uuid, options, dueTimes, fromMs, earliestMs),
    sinceMs: fromMs,
    untilMs,
    isWatched: fromMs >= forcedMs,
  });
  const after = Number.POSITIVE_INFINITY;
  if (forcedMs <= sinceMs) return [part(sinceMs, after, forcedMs)];
  return [part(sinceMs, forcedMs, Number.NEGATIVE_INFINITY), part(forcedMs, after, forcedMs)];
}

/** Judges all occurrences of a period. @throws the errors of `dueTimesOf` */
export async function evaluate(
  journal: ReadableJournal,
  options: Readonly<Record<string, ExpectationOptions>>,
  period: Period,
): Promise<Judged> {
  const { nowMs, untilMs = nowMs, onBadLine } = period;
  const parts = Object.entries(options).flatMap(([uuid, one]) => (one.enabled ? splitPeriod(uuid, one, period) : []));
  const expectations = parts.map(({ expectation }) => expectation);
  await readExpectations(journal, expectations, { nowMs, ...(onBadLine && { onBadLine }) });
  const past: { dueMs: number; told: ToldOccurrence }[] = [];
  const next = new Map<string, ToldOccurrence>();
  const arrivals = new Map<string, number[]>();
  for (const { expectation, ...part } of parts) {
    expectation.advance(untilMs);
    const offsets = arrivals.get(expectation.uuid) ?? [];
    arrivals.set(expectation.uuid, offsets);
    for await (const occurrence of cooperatively(expectation.occurrences)) {
      const { dueMs } = occurrence;
      if (dueMs < part.sinceMs || dueMs >= part.untilMs) continue;
      const told = expectation.tell(occurrence, nowMs);
      const isUnwatched = !part.isWatched && !expectation.isReopened(occurrence);
      if (isUnwatched && (told.state === 'missing' || told.state === 'malformed')) told.watched = false;
      const arrivalMs = expectation.arrivalMs(occurrence);
      if (dueMs <= untilMs) past.push({ dueMs, told });
      else if (!next.has(expectation.uuid)) next.set(expectation.uuid, told);
      if (dueMs <= untilMs && arrivalMs !== undefined) offsets.push(arrivalMs - dueMs);
    }
  }
  return { past: past.sort((one, other) => one.dueMs - other.dueMs).map(({ told }) => told), next, arrivals };
}
