import { arrivalIds } from '../events/event-ids.ts';
import type { BadLine, EventReader } from '../events/journal/event-log.ts';
import type { LogPosition } from '../events/journal/position.ts';
import type { EventSelection } from '../events/journal/search/event-selection.ts';
import { eventTimeMs } from '../events/journal/search/event-selection.ts';
import { Expectation, stateIds, type ToldExpectation, type ToldOccurrence } from './expectation.ts';
import type { ExpectationOptions } from './options.ts';

/** A journal that can be read from a given time on. */
export interface ReadableJournal {
  openReader(onBadLine: (bad: BadLine) => void, wanted?: EventSelection): EventReader;
  since(sinceMs: number | undefined): LogPosition | undefined;
}

/** The events that expectations are judged by. */
export const neededIds = [...arrivalIds, ...Object.values(stateIds)];

/** Creates the enabled expectations, without any files yet. @param fromMs the first due time that counts @throws as `Expectation` */
export function makeExpectations(options: Readonly<Record<string, ExpectationOptions>>, fromMs: (uuid: string) => number): Expectation[] {
  return Object.entries(options).flatMap(([uuid, one]) => (one.enabled ? [new Expectation(uuid, one, fromMs(uuid))] : []));
}

/**
 * Feeds the events of a journal to expectations, up to its current end.
 *
 * @param onState called for the events that reported a state
 * @returns where the journal ended
 */
export async function readExpectations(
  journal: ReadableJournal,
  expectations: readonly Expectation[],
  { nowMs, onState, onBadLine = () => {} }: { nowMs: number; onState?: (told: StateEvent) => void; onBadLine?: (bad: BadLine) => void },
): Promise<LogPosition | undefined> {
  const fromMs = Math.min(nowMs, ...expectations.map(({ beginsMs }) => beginsMs));
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

/** An event that reported the state of an occurrence. */
export interface StateEvent {
  expectation: string;
  dueMs: number;
  id: number;
}

/** Feeds one event to expectations: a file, or an excuse. */
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
  if (!Object.values(stateIds).includes(Number(id))) return;
  const dueMs = new Date(String(data.due)).getTime();
  onState?.({ expectation: String(data.expectation), dueMs, id: Number(id) });
  if (Number(id) !== stateIds.excused) return;
  const expectation = expectations.find(({ uuid }) => uuid === data.expectation);
  expectation?.advance(dueMs);
  const occurrence = expectation?.occurrences.find((one) => one.dueMs === dueMs);
  if (occurrence) occurrence.excuse = String(data.reason ?? '');
}

/** Occurrences of some time. */
export interface Judged {
  /** The occurrences whose due time has passed, in the order of these times. */
  past: ToldOccurrence[];
  /** The next occurrence of each enabled expectation. */
  next: Map<string, ToldOccurrence>;
}

/** The last occurrence that was due, and the next one, of each expectation. */
export function summarise(options: Readonly<Record<string, ExpectationOptions>>, { past, next }: Judged): ToldExpectation[] {
  return Object.entries(options).map(([uuid, { name, enabled }]) => ({
    expectation: uuid,
    name: name || uuid,
    enabled,
    last: past.findLast(({ expectation }) => expectation === uuid) ?? null,
    next: next.get(uuid) ?? null,
  }));
}

/** Judges all occurrences from a given time on. @throws as `Expectation` */
export async function evaluate(
  journal: ReadableJournal,
  options: Readonly<Record<string, ExpectationOptions>>,
  { sinceMs, nowMs, onBadLine }: { sinceMs: number; nowMs: number; onBadLine?: (bad: BadLine) => void },
): Promise<Judged> {
  const expectations = makeExpectations(options, () => sinceMs);
  await readExpectations(journal, expectations, { nowMs, ...(onBadLine && { onBadLine }) });
  const past: { dueMs: number; told: ToldOccurrence }[] = [];
  const next = new Map<string, ToldOccurrence>();
  for (const expectation of expectations)
    for (const occurrence of expectation.occurrences) {
      const told = expectation.tell(occurrence, nowMs);
      if (occurrence.dueMs <= nowMs) past.push({ dueMs: occurrence.dueMs, told });
      else if (!next.has(expectation.uuid)) next.set(expectation.uuid, told);
    }
  return { past: past.sort((one, other) => one.dueMs - other.dueMs).map(({ told }) => told), next };
}
