import * as z from 'zod';
import type { ServiceEvent } from '../events/event.ts';
import { arrivalIds, eventIds } from '../events/event-ids.ts';
import type { LoggedEvent } from '../events/journal/event-log.ts';
import { eventTimeMs } from '../events/journal/search/event-selection.ts';
import { readNamedFile } from '../lib/disk/named-file.ts';
import { compileExpression, type Expression } from '../lib/expression.ts';
import { clockOf, zonedTime } from '../lib/time-zones.ts';
import { dataTest } from '../webhooks/subscription.ts';
import { type ExpectationOptions, parseHolidays } from './options.ts';
import { DueTimes, isPathOfDay, pathOfDay } from './schedule.ts';

export const occurrenceStates = ['waiting', 'met', 'late', 'missing', 'malformed', 'excused'] as const;
export type OccurrenceState = (typeof occurrenceStates)[number];

/** The events that tell of a state. */
export const stateIds: Readonly<Record<Exclude<OccurrenceState, 'waiting'>, number>> = {
  met: eventIds.expectationMet,
  late: eventIds.expectationLate,
  missing: eventIds.expectationMissing,
  malformed: eventIds.expectationMalformed,
  excused: eventIds.expectationExcused,
};

const dayMs = 86_400_000;

/** Maximum lateness of a file whose path names the day. */
const latestMs = 31 * dayMs;

/** An occurrence as it is shown (docs/spec/expectations.md#states). */
export const toldOccurrence = z.strictObject({
  expectation: z.string().describe('UUID of the expectation.'),
  name: z.string(),
  due: z.string().describe('Due time in RFC 3339, like all times, with the offset of the zone.'),
  opens: z.string().describe('Time from which on files count.'),
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
  reason: z.string().exactOptional().describe('Reason of an excuse, or the difference of files that are not as expected.'),
});
export type ToldOccurrence = z.infer<typeof toldOccurrence>;

/** One expectation with its last due occurrence and its next one. */
export const toldExpectation = z.strictObject({
  expectation: z.string().describe('UUID of the expectation.'),
  name: z.string(),
  enabled: z.boolean(),
  last: toldOccurrence.nullable().describe('The newest that was due; null when there is none.'),
  next: toldOccurrence.nullable(),
});
export type ToldExpectation = z.infer<typeof toldExpectation>;

interface Arrival {
  event: ServiceEvent;
  timeMs: number;
  sizeBytes: number;
  /** Whether size and metadata are as expected. */
  isFit: boolean;
}

/** One time at which a file is due. */
export interface Occurrence {
  readonly dueMs: number;
  readonly opensMs: number;
  readonly graceEndsMs: number;
  /** Files after this time do not count; undefined while the next due time is unknown. */
  closesMs: number;
  readonly path: Expression;
  readonly arrivals: Arrival[];
  /** Why somebody excused it. */
  excuse: string | undefined;
}

/** One expectation with its occurrences from a given time on; it assigns files to occurrences as they arrive. */
export class Expectation {
  readonly uuid: string;
  readonly options: ExpectationOptions;
  /** In the order of their due times. */
  readonly occurrences: Occurrence[] = [];
  readonly #dueTimes: DueTimes;
  readonly #metadata: ((event: ServiceEvent) => boolean)[];
  readonly #fromMs: number;

  /**
   * @param fromMs the first due time that counts (Unix time in milliseconds)
   * @throws ServiceError when the holidays cannot be read
   */
  constructor(uuid: string, options: ExpectationOptions, fromMs: number) {
    this.uuid = uuid;
    this.options = options;
    this.#fromMs = fromMs;
    this.#dueTimes = new DueTimes({
      cron: options.schedule,
      everyMs: options.every === undefined ? undefined : options.every * 1000,
      from: options.from ?? '00:00',
      timeZone: options.time_zone,
      holidays: options.holidays === '' ? new Set() : parseHolidays(readNamedFile(options.holidays, 'holidays').toString('utf8')),
    });
    const rules = options.metadata.map(({ name, expression }) => dataTest({ name: `metadata.${name}`, expression }));
    this.#metadata = rules.map((rule) => (event) => rule(event, undefined));
  }

  get name(): string {
    return this.options.name || this.uuid;
  }

  /** The first due time after another; undefined when there is none in ten years. */
  dueAfter(timeMs: number): number | undefined {
    return this.#dueTimes.after(timeMs);
  }

  /** The time from which files count for the first occurrence. */
  get beginsMs(): number {
    this.advance(this.#fromMs);
    return Math.min(this.#fromMs, this.occurrences[0]?.opensMs ?? this.#fromMs);
  }

  /** Creates the occurrences whose windows are open at a time, and the one after them. */
  advance(nowMs: number): void {
    for (let last = this.occurrences.at(-1); !last || last.opensMs <= nowMs; last = this.occurrences.at(-1)) {
      const dueMs = this.#dueTimes.after(last?.dueMs ?? this.#fromMs - 1);
      if (dueMs === undefined) return;
      this.occurrences.push(this.#occurrence(dueMs, last));
    }
  }

  /** Forgets occurrences whose state can no longer change. */
  forget(nowMs: number): void {
    while (this.occurrences[0] && this.occurrences[0].closesMs + dayMs < nowMs) this.occurrences.shift();
  }

  #occurrence(dueMs: number, last: Occurrence | undefined): Occurrence {
    const { opens, grace, path, time_zone } = this.options;
    const beforeMs = last?.dueMs ?? this.#dueTimes.before(dueMs);
    const opensMs = opens === undefined ? (beforeMs ?? dueMs - dayMs) : dueMs - opens * 1000;
    const graceEndsMs = dueMs + grace * 1000;
    const nextMs = isPathOfDay(path) ? dueMs + latestMs : (this.#dueTimes.after(dueMs) ?? dueMs + latestMs);
    const dated = pathOfDay(path, new Date(clockOf(dueMs, time_zone)));
    return {
      dueMs,
      opensMs,
      graceEndsMs,
      closesMs: Math.max(graceEndsMs, nextMs),
      path: compileExpression(dated, 'paths'),
      arrivals: [],
      excuse: undefined,
    };
  }

  /** Takes an event about an arrived file. @returns the occurrence for which the file counts */
  add({ event, group }: Pick<LoggedEvent, 'event' | 'group'>): Occurrence | undefined {
    const { account, group: wantedGroup, minimum_size } = this.options;
    if (!arrivalIds.includes(Number(event.id)) || typeof event.data.path !== 'string') return undefined;
    if (account !== undefined && event.account.name !== account && event.account.uuid !== account) return undefined;
    if (wantedGroup !== undefined && group !== wantedGroup) return undefined;
    const { path } = event.data;
    const timeMs = eventTimeMs(event);
    this.advance(timeMs);
    const open = this.#openAt(timeMs).filter((one) => one.path.matches(path));
    const taker = open.find((one) => this.#takes(one, timeMs)) ?? open.find(({ graceEndsMs }) => timeMs <= graceEndsMs);
    const sizeBytes = Number(event.data.total_write ?? 0);
    const isFit = sizeBytes >= minimum_size && this.#metadata.every((test) => test(event));
    taker?.arrivals.push({ event, timeMs, sizeBytes, isFit });
    return taker;
  }

  /** The occurrences whose windows contain a time; occurrences are sorted by both ends of their windows. */
  #openAt(timeMs: number): Occurrence[] {
    let low = 0;
    for (let high = this.occurrences.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.occurrences[middle] as Occurrence).closesMs <= timeMs) low = middle + 1;
      else high = middle;
    }
    const open: Occurrence[] = [];
    for (let one = this.occurrences[low]; one && one.opensMs <= timeMs; one = this.occurrences[++low]) open.push(one);
    return open;
  }

  // An occurrence that is complete takes no file after its grace period: such a file counts for the next occurrence.
  #takes({ arrivals, graceEndsMs }: Occurrence, timeMs: number): boolean {
    const { minimum, maximum } = this.options.count;
    const fit = arrivals.filter(({ isFit }) => isFit).length;
    return fit < (timeMs <= graceEndsMs ? maximum : minimum);
  }

  /** The state of an occurrence at a time, and why. */
  judge({ arrivals, graceEndsMs, excuse }: Occurrence, nowMs: number): { state: OccurrenceState; reason?: string } {
    const { minimum, maximum } = this.options.count;
    const fit = arrivals.filter(({ isFit }) => isFit);
    const isEnough = fit.length >= minimum && fit.length <= maximum;
    const isInTime = isEnough && (fit[minimum - 1] as Arrival).timeMs <= graceEndsMs;
    if (isInTime) return { state: 'met' };
    if (excuse !== undefined) return { state: 'excused', reason: excuse };
    if (isEnough) return { state: 'late' };
    if (fit.length > maximum) return { state: 'malformed', reason: `${fit.length} files came; at most ${maximum} are expected` };
    if (nowMs <= graceEndsMs) return { state: 'waiting' };
    if (arrivals.length === 0) return { state: 'missing' };
    const wrong = arrivals.length - fit.length;
    const reason = wrong > 0 ? `${wrong} of ${arrivals.length} files do not have the size or metadata that are expected` : undefined;
    return { state: 'malformed', reason: reason ?? `${fit.length} files came; at least ${minimum} are expected` };
  }

  tell(occurrence: Occurrence, nowMs: number): ToldOccurrence {
    const at = (timeMs: number) => zonedTime(timeMs, this.options.time_zone);
    const { dueMs, opensMs, graceEndsMs, arrivals } = occurrence;
    return {
      expectation: this.uuid,
      name: this.name,
      due: at(dueMs),
      opens: at(opensMs),
      grace_ends: at(graceEndsMs),
      files: arrivals.map(({ event, timeMs, sizeBytes }) => ({
        path: String(event.data.path),
        time: at(timeMs),
        size: sizeBytes,
        event_uuid: event.uuid,
        account: event.account.name,
      })),
      ...this.judge(occurrence, nowMs),
    };
  }
}
