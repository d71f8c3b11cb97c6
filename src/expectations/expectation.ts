import type { ServiceEvent } from '../events/event.ts';
import { arrivalIds, eventIds } from '../events/event-ids.ts';
import type { LoggedEvent } from '../events/journal/event-log.ts';
import { eventTimeMs } from '../events/journal/search/event-selection.ts';
import { readNamedFile } from '../lib/disk/named-file.ts';
import { compileExpression, type Expression } from '../lib/expression.ts';
import { wallClock, zonedTime } from '../lib/time-zones.ts';
import { dataTest } from '../webhooks/subscription.ts';
import { type ExpectationOptions, parseHolidays } from './options.ts';
import { DueTimes, isPathOfDay, pathOfDay } from './schedule.ts';
import type { OccurrenceState, ToldOccurrence } from './told-occurrence.ts';

/** The event that reports each state. */
export const stateIds: Readonly<Record<Exclude<OccurrenceState, 'waiting'>, number>> = {
  met: eventIds.expectationMet,
  late: eventIds.expectationLate,
  missing: eventIds.expectationMissing,
  malformed: eventIds.expectationMalformed,
  excused: eventIds.expectationExcused,
};

const dayMs = 86_400_000;

/**
 * Maximum delay of a file whose path contains the date. If files are expected again, also the maximum time until the new end of the grace
 * period.
 */
export const latestMs = 31 * dayMs;

/** Number of occurrences before the earliest due time that are considered, too, because a late file may belong to one of them. */
const earlierKnown = 2;

/** Returns the start of the period in which missing files are counted: seven days (in UTC) before today. The page "Due files" uses it, too. */
function openSinceMs(nowMs: number): number {
  return Math.floor(nowMs / dayMs - 7) * dayMs;
}

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
  graceEndsMs: number;
  /** From this time on, files no longer count. If the files of the occurrence are expected again, files count until `graceEndsMs`. */
  readonly closesMs: number;
  readonly path: Expression;
  readonly arrivals: Arrival[];
  excuse: string | undefined;
}

/** Creates the due times of an expectation. @throws ServiceError if the holidays cannot be read */
export function dueTimesOf(options: ExpectationOptions): DueTimes {
  return new DueTimes({
    cron: options.schedule,
    everyMs: options.every === undefined ? undefined : options.every * 1000,
    from: options.from ?? '00:00',
    timeZone: options.time_zone,
    holidays: options.holidays === '' ? new Set() : parseHolidays(readNamedFile(options.holidays, 'holidays').toString('utf8')),
  });
}

/** Maximum number of occurrences before the newest one that are considered when expectations are listed (`neededSince`). */
const maxConsidered = 500;

/**
 * Returns the time from which occurrences are needed to judge the newest occurrence. Earlier occurrences are needed if their windows
 * overlap with the newest window, because files that arrive in that window can belong to them.
 *
 * @param earliestMs minimum of the result
 */
export function neededSince(options: ExpectationOptions, dueTimes: DueTimes, nowMs: number, earliestMs: number): number {
  const lastMs = dueTimes.before(nowMs + 1);
  if (lastMs === undefined) return earliestMs;
  const overlapMs = isPathOfDay(options.path) ? latestMs : options.grace * 1000;
  const intervalMs = lastMs - (dueTimes.before(lastMs) ?? earliestMs);
  return Math.max(earliestMs, lastMs - Math.min(overlapMs, maxConsidered * intervalMs));
}

/** One expectation with its occurrences from a given time on. It assigns arriving files to occurrences. */
export class Expectation {
  readonly uuid: string;
  readonly options: ExpectationOptions;
  /** The occurrences in the order of their due times. */
  readonly occurrences: Occurrence[] = [];
  readonly #dueTimes: DueTimes;
  readonly #metadata: ((event: ServiceEvent) => boolean)[];
  #fromMs: number;
  /** The path of the last occurrence that was created. */
  #path: { text: string; expression: Expression } | undefined;
  /** The last answer of `dueAfter`. */
  #next: { afterMs: number; dueMs: number | undefined } | undefined;
  /** The occurrences whose files are expected again, in the order of their due times. */
  #reopened: readonly Occurrence[] = [];
  /** Due times of the last days whose occurrences were removed while their files were missing or not as expected. */
  readonly #missed = new Set<number>();

  /**
   * @param fromMs the earliest due time that counts (Unix time in milliseconds)
   * @param earliestMs occurrences that are due before this time are never considered. Up to two occurrences between this time and `fromMs`
   *   are considered, because a late file may belong to them
   * @param dueTimes the due times of the options
   */
  constructor(uuid: string, options: ExpectationOptions, dueTimes: DueTimes, fromMs: number, earliestMs = fromMs) {
    this.uuid = uuid;
    this.options = options;
    this.#dueTimes = dueTimes;
    this.#fromMs = fromMs;
    for (let left = earlierKnown; left > 0 && this.#fromMs > earliestMs; left--) {
      const beforeMs = this.#dueTimes.before(this.#fromMs) ?? earliestMs;
      if (beforeMs < earliestMs) break;
      this.#fromMs = beforeMs;
    }
    const rules = options.metadata.map(({ name, expression }) => dataTest({ name: `metadata.${name}`, expression }));
    this.#metadata = rules.map((rule) => (event) => rule(event, undefined));
  }

  get name(): string {
    return this.options.name || this.uuid;
  }

  /**
   * The first due time after a given time; undefined if there is none within ten years. The last answer is kept, because each due time is
   * needed twice: as the end of a window, and for the next occurrence.
   */
  dueAfter(timeMs: number): number | undefined {
    if (this.#next?.afterMs !== timeMs) this.#next = { afterMs: timeMs, dueMs: this.#dueTimes.after(timeMs) };
    return this.#next.dueMs;
  }

  /** The time from which files count for the first occurrence. */
  get beginsMs(): number {
    this.advance(this.#fromMs);
    return Math.min(this.#fromMs, this.occurrences[0]?.opensMs ?? this.#fromMs);
  }

  /** Creates all occurrences whose windows have opened by a given time, and the next one. */
  advance(nowMs: number): void {
    for (let last = this.occurrences.at(-1); !last || last.opensMs <= nowMs; last = this.occurrences.at(-1)) {
      const dueMs = this.dueAfter(last?.dueMs ?? this.#fromMs - 1);
      if (dueMs === undefined) return;
      this.occurrences.push(this.#occurrence(dueMs, last));
    }
  }

  /** Removes occurrences whose state can no longer change. */
  forget(nowMs: number): void {
    for (let first = this.occurrences[0]; first; first = this.occurrences[0]) {
      if (Math.max(first.closesMs, first.graceEndsMs) + dayMs >= nowMs) break;
      if (first.dueMs >= openSinceMs(nowMs) && this.#isMiss(first, nowMs)) this.#missed.add(first.dueMs);
      this.occurrences.shift();
    }
    this.#reopened = this.#reopened.filter((one) => this.occurrences.includes(one));
  }

  /** The number of recent due times whose files are missing or not as expected now. */
  countMisses(nowMs: number): number {
    const sinceMs = openSinceMs(nowMs);
    for (const dueMs of this.#missed) if (dueMs < sinceMs) this.#missed.delete(dueMs);
    return this.#missed.size + this.occurrences.filter((one) => one.dueMs >= sinceMs && this.#isMiss(one, nowMs)).length;
  }

  #isMiss(occurrence: Occurrence, nowMs: number): boolean {
    const { state } = this.judge(occurrence, nowMs);
    return state === 'missing' || state === 'malformed';
  }

  /** Excuses the occurrence with a given due time. */
  excuse(dueMs: number, reason: string): void {
    this.#missed.delete(dueMs);
    this.advance(dueMs);
    const occurrence = this.occurrences.find((one) => one.dueMs === dueMs);
    if (occurrence) occurrence.excuse = reason;
  }

  /** Expects the files of an occurrence again. Files that have already arrived do not count. @param untilMs new end of the grace period */
  reopen(dueMs: number, untilMs: number): void {
    this.#missed.delete(dueMs);
    this.advance(dueMs);
    let occurrence = this.occurrences.find((one) => one.dueMs === dueMs);
    if (!occurrence) {
      // An occurrence that is earlier than the known ones is created. A due time that is no longer in the schedule is ignored.
      const isEarlier = this.occurrences.every((one) => one.dueMs > dueMs);
      if (!isEarlier || this.#dueTimes.after(dueMs - 1) !== dueMs) return;
      occurrence = this.#occurrence(dueMs, undefined);
      this.occurrences.unshift(occurrence);
    }
    occurrence.arrivals.length = 0;
    occurrence.excuse = undefined;
    occurrence.graceEndsMs = untilMs;
    const others = this.#reopened.filter((one) => one !== occurrence);
    this.#reopened = [...others, occurrence].sort((one, other) => one.dueMs - other.dueMs);
  }

  #occurrence(dueMs: number, last: Occurrence | undefined): Occurrence {
    const { opens, grace, path, time_zone } = this.options;
    const beforeMs = last?.dueMs ?? this.#dueTimes.before(dueMs);
    const opensMs = opens === undefined ? (beforeMs ?? dueMs - dayMs) : dueMs - opens * 1000;
    const graceEndsMs = dueMs + grace * 1000;
    const isDated = isPathOfDay(path);
    const nextMs = isDated ? dueMs + latestMs : (this.dueAfter(dueMs) ?? dueMs + latestMs);
    const wanted = isDated ? pathOfDay(path, new Date(wallClock(dueMs, time_zone))) : path;
    if (this.#path?.text !== wanted) this.#path = { text: wanted, expression: compileExpression(wanted, 'paths') };
    return {
      dueMs,
      opensMs,
      graceEndsMs,
      closesMs: Math.max(graceEndsMs, nextMs),
      path: this.#path.expression,
      arrivals: [],
      excuse: undefined,
    };
  }

  /** Whether the files of an occurrence are expected again. */
  isReopened(occurrence: Occurrence): boolean {
    return this.#reopened.includes(occurrence);
  }

  /** Assigns a file that has arrived to an occurrence. @returns that occurrence; undefined if the file does not count */
  add({ event, group }: Pick<LoggedEvent, 'event' | 'group'>): Occurrence | undefined {
    const { account, group: wantedGroup, minimum_size } = this.options;
    if (!arrivalIds.includes(Number(event.id)) || typeof event.data.path !== 'string') return undefined;
    if (account !== undefined && event.account.name !== account && event.account.uuid !== account) return undefined;
    if (wantedGroup !== undefined && group !== wantedGroup) return undefined;
    const { path } = event.data;
    const timeMs = eventTimeMs(event);
    this.advance(timeMs);
    const open = this.#openAt(timeMs).filter((one) => one.path.matches(path));
    const isSurplus = (one: Occurrence) => timeMs <= one.graceEndsMs && !this.isReopened(one);
    // With `opens`, a file counts first for an occurrence that can still take it in time, and only then as the late file of an earlier one.
    // If the file counted first for the earlier occurrence, every file after a missing one would count as late.
    const inTime = this.options.opens === undefined ? [] : open.filter(({ graceEndsMs }) => timeMs <= graceEndsMs);
    const isTaker = (one: Occurrence) => this.#takes(one, timeMs);
    const taker = inTime.find(isTaker) ?? open.find(isTaker) ?? open.find(isSurplus);
    const sizeBytes = Number(event.data.total_write ?? 0);
    const isFit = sizeBytes >= minimum_size && this.#metadata.every((test) => test(event));
    taker?.arrivals.push({ event, timeMs, sizeBytes, isFit });
    return taker;
  }

  /**
   * The occurrences for which a file that arrives at a given time may count: those whose windows contain this time, and those whose files
   * are expected again. A binary search works, because occurrences are sorted by both ends of their windows.
   */
  #openAt(timeMs: number): Occurrence[] {
    let low = 0;
    for (let high = this.occurrences.length; low < high; ) {
      const middle = (low + high) >>> 1;
      if ((this.occurrences[middle] as Occurrence).closesMs <= timeMs) low = middle + 1;
      else high = middle;
    }
    const open = this.#reopened.filter(({ closesMs, graceEndsMs }) => closesMs <= timeMs && timeMs <= graceEndsMs);
    for (let one = this.occurrences[low]; one && one.opensMs <= timeMs; one = this.occurrences[++low]) open.push(one);
    return open;
  }

  // After its grace period, or if its files are expected again, an occurrence takes only files that are still missing. A further file
  // counts as an early file of the next occurrence.
  #takes(one: Occurrence, timeMs: number): boolean {
    const { minimum, maximum } = this.options.count;
    return fitting(one).length < (timeMs <= one.graceEndsMs && !this.isReopened(one) ? maximum : minimum);
  }

  /** The time at which the last needed file arrived; undefined while files are missing. */
  arrivalMs(occurrence: Occurrence): number | undefined {
    return fitting(occurrence)[this.options.count.minimum - 1]?.timeMs;
  }

  /** Whether more fitting files arrived than are expected. */
  hasTooMany(occurrence: Occurrence): boolean {
    return fitting(occurrence).length > this.options.count.maximum;
  }

  /** The state of an occurrence at a given time, and the reason. */
  judge(occurrence: Occurrence, nowMs: number): { state: OccurrenceState; reason?: string } {
    const { arrivals, graceEndsMs, excuse } = occurrence;
    const { minimum, maximum } = this.options.count;
    const fit = fitting(occurrence);
    const hasTooMany = this.hasTooMany(occurrence);
    const isEnough = fit.length >= minimum && !hasTooMany;
    const isInTime = isEnough && (fit[minimum - 1] as Arrival).timeMs <= graceEndsMs;
    if (isInTime) return { state: 'met' };
    if (excuse !== undefined) return { state: 'excused', reason: excuse };
    if (isEnough) return { state: 'late' };
    if (hasTooMany) return { state: 'malformed', reason: `${fit.length} files came; at most ${maximum} are expected` };
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

/** Returns the files of an occurrence that have the expected size and metadata, in the order of their arrival. */
function fitting({ arrivals }: Occurrence): Arrival[] {
  return arrivals.filter(({ isFit }) => isFit);
}
