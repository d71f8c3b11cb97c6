import * as z from 'zod';
import { wallClock } from '../lib/time-zones.ts';

const occurrenceStates = ['waiting', 'met', 'late', 'missing', 'malformed', 'excused'] as const;
export type OccurrenceState = (typeof occurrenceStates)[number];

/** An occurrence in the form in which it is shown (docs/spec/expectations.md#states). */
export const toldOccurrence = z.strictObject({
  expectation: z.string().describe('UUID of the expectation.'),
  name: z.string(),
  due: z.string().describe('Due time. All times are in RFC 3339, with the offset of the time zone.'),
  opens: z.string().describe('Time from which files count.'),
  grace_ends: z.string(),
  state: z.enum(occurrenceStates),
  files: z.array(
    z.strictObject({
      path: z.string(),
      time: z.string(),
      size: z.number().describe('Bytes.'),
      event_uuid: z.string(),
      account: z.string().describe('Name of the account.'),
    }),
  ),
  reason: z.string().exactOptional().describe('Reason of an excuse, or how the files differ from the expectation.'),
  watched: z.literal(false).exactOptional().describe('Set if the files did not come, but were due before the expectation was active.'),
});
export type ToldOccurrence = z.infer<typeof toldOccurrence>;

/** Consecutive occurrences of one expectation that have the same state, on one day of the reader. */
export const occurrenceRun = z.strictObject({
  expectation: toldOccurrence.shape.expectation,
  name: z.string(),
  state: toldOccurrence.shape.state,
  watched: toldOccurrence.shape.watched,
  count: z.int().min(1),
  first: z.string().describe('Due time of the first of these occurrences.'),
  last: z.string().describe('Due time of the last.'),
  occurrence: toldOccurrence.exactOptional().describe('The occurrence, if there is only one.'),
});
export type OccurrenceRun = z.infer<typeof occurrenceRun>;

/** Sums up occurrences, which must be in the order of their due times. @param timeZone in which days begin */
export function sumRuns(occurrences: readonly ToldOccurrence[], timeZone: string): OccurrenceRun[] {
  const runs: OccurrenceRun[] = [];
  const latest = new Map<string, { run: OccurrenceRun; day: number }>();
  for (const occurrence of occurrences) {
    const { expectation, name, due, state, watched } = occurrence;
    const day = Math.floor(wallClock(Date.parse(due), timeZone) / 86_400_000);
    const before = latest.get(expectation);
    if (before && before.day === day && before.run.state === state && before.run.watched === watched) {
      before.run.count++;
      before.run.last = due;
      delete before.run.occurrence;
      continue;
    }
    const unwatched = watched === undefined ? {} : { watched };
    const run: OccurrenceRun = { expectation, name, state, ...unwatched, count: 1, first: due, last: due, occurrence };
    runs.push(run);
    latest.set(expectation, { run, day });
  }
  return runs;
}

/** An expectation with the last occurrence that was due, and the next one. */
export const toldExpectation = z.strictObject({
  expectation: z.string().describe('UUID of the expectation.'),
  name: z.string(),
  enabled: z.boolean(),
  account: z.string().nullable().describe('Name or UUID of the account that the files come from; null if no account is named.'),
  group: z.string().nullable().describe('UUID of the group whose accounts the files may come from; null if no group is named.'),
  last: toldOccurrence.nullable().describe('The last occurrence that was due; null if there is none.'),
  next: toldOccurrence.nullable(),
});
export type ToldExpectation = z.infer<typeof toldExpectation>;

/**
 * An expectation as shown to the account that sends the files. `path` is the option `path` of the expectation. Only the account's page
 * shows it.
 */
export interface OwnExpectation {
  told: ToldExpectation;
  path: string;
}

const seconds = z.int().describe('Seconds after the due time; negative before it.');

/** Statistics about when files arrive. They help to choose a due time. */
export const punctuality = z.strictObject({
  count: z.int().describe('Occurrences whose files came.'),
  earliest: seconds,
  lower_quartile: seconds,
  median: seconds,
  upper_quartile: seconds,
  ninth_decile: seconds,
  latest: seconds,
});
export type Punctuality = z.infer<typeof punctuality>;

/** The occurrences of one expectation. */
export const occurrenceHistory = z.object({
  occurrences: z.array(toldOccurrence).describe('The newest first.'),
  runs: z.array(occurrenceRun).exactOptional().describe('With `by_day_in`, instead of the occurrences. The oldest first.'),
  punctuality: punctuality.nullable().describe('When the files arrived; null if none did.'),
  watched_since: z.string().nullable().describe('Time since which the expectation is watched; null if it is not watched.'),
  options: z
    .object({
      path: z.string(),
      schedule: z.string().nullable(),
      every: z.number().nullable().describe('Seconds.'),
      from: z.string().nullable(),
      time_zone: z.string(),
      grace: z.number().describe('Seconds.'),
    })
    .describe('Options of the expectation; null where an option is not set.'),
});
export type OccurrenceHistory = z.infer<typeof occurrenceHistory>;

/**
 * Computes the statistics of an expectation.
 *
 * @param offsetsMs arrival times, in milliseconds after the due times
 * @returns null if no files arrived
 */
export function measurePunctuality(offsetsMs: readonly number[]): Punctuality | null {
  if (offsetsMs.length === 0) return null;
  const sorted = [...offsetsMs].sort((one, other) => one - other);
  // The nearest-rank method is used, so that each value is the value of a real arrival.
  const at = (share: number) => Math.round((sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] as number) / 1000);
  return {
    count: sorted.length,
    earliest: at(0),
    lower_quartile: at(0.25),
    median: at(0.5),
    upper_quartile: at(0.75),
    ninth_decile: at(0.9),
    latest: at(1),
  };
}
