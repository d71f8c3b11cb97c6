import { Cron } from 'croner';
import { findInstant, wallClock } from '../lib/time-zones.ts';

const dayMs = 86_400_000;
const minuteMs = 60_000;

/** Numbers of days to search back for a due time. The last is more than four years, because a schedule can be for the 29th of February. */
const searchedDays = [1 / 24, 2, 8, 32, 367, 1500];

/** The times at which a file is due: a cron expression, or a period with a time of day, in a time zone. */
export interface Schedule {
  cron: string | undefined;
  everyMs: number | undefined;
  /** Time of day (`HH:MM`) at which the period begins. */
  from: string;
  timeZone: string;
  /** Days (YYYY-MM-DD) on which nothing is due. */
  holidays: ReadonlySet<string>;
}

/** Explains why a cron expression cannot be used. @returns undefined if it can */
export function checkSchedule(cron: string): string | undefined {
  try {
    if (cron.startsWith('@')) throw new Error('a name, not fields');
    newCron(cron);
    return undefined;
  } catch {
    return 'must be cron with five fields, such as "0 6 * * 1-5" (minute, hour, day of month, month, day of week)';
  }
}

// All schedules run by a clock without daylight saving time. `findInstant` converts their times to the zone.
function newCron(cron: string): Cron {
  // With an offset, croner takes 10 µs for a time; with the zone UTC, 490 µs.
  return new Cron(cron, { utcOffset: 0, paused: true, mode: '5-part' });
}

/** The due times of a schedule, in Unix time in milliseconds. */
export class DueTimes {
  readonly #schedule: Schedule;
  readonly #cron: Cron | undefined;

  constructor(schedule: Schedule) {
    this.#schedule = schedule;
    this.#cron = schedule.cron === undefined ? undefined : newCron(schedule.cron);
  }

  /** The first due time after a given time; undefined if there is none within ten years. */
  after(timeMs: number): number | undefined {
    const { timeZone, holidays } = this.#schedule;
    // The search can begin at the wall time of `timeMs`: for this wall time and all earlier ones, `findInstant` returns no instant after
    // `timeMs`. So no due time after `timeMs` is missed.
    let wall = wallClock(timeMs, timeZone);
    for (const lastMs = timeMs + 3660 * dayMs; ; ) {
      const next = this.#nextWall(wall);
      if (next === undefined || next > lastMs) return undefined;
      wall = next;
      if (holidays.has(new Date(wall).toISOString().slice(0, 10))) continue;
      const instant = findInstant(wall, timeZone);
      if (instant > timeMs) return instant;
    }
  }

  /** The last due time before a given time; undefined if there is none within four years. */
  before(timeMs: number): number | undefined {
    for (const days of searchedDays) {
      let found: number | undefined;
      for (let due = this.after(timeMs - days * dayMs); due !== undefined && due < timeMs; due = this.after(due)) found = due;
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #nextWall(wall: number): number | undefined {
    const { everyMs, from } = this.#schedule;
    if (this.#cron) return this.#cron.nextRun(new Date(wall))?.getTime();
    const [hours = 0, minutes = 0] = from.split(':').map(Number);
    const begin = (hours * 60 + minutes) * minuteMs;
    const period = everyMs as number;
    return begin + (Math.floor((wall - begin) / period) + 1) * period;
  }
}

const pathParts = /\{(yyyy|yy|MM|dd|HH)\}/g;

export function isPathOfDay(path: string): boolean {
  return path.search(pathParts) >= 0;
}

/** Inserts the parts of a due time into a path. @param wall the zone's wall-clock time as if it were UTC */
export function pathOfDay(path: string, wall: Date): string {
  const [yyyy = '', MM = '', dd = '', HH = ''] = wall.toISOString().split(/[-T:]/);
  const values: Record<string, string> = { yyyy, yy: yyyy.slice(-2), MM, dd, HH };
  return path.replace(pathParts, (_, name: string) => values[name] as string);
}

const units: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 };

/** Parses a duration, which is a number of seconds or a text such as `30m`. @returns seconds; undefined for other values */
export function durationSeconds(value: number | string): number | undefined {
  const match = /^\s*(\d+(?:\.\d+)?)\s*([smhdw]?)\s*$/.exec(String(value));
  return match ? Number(match[1]) * (units[match[2] || 's'] as number) : undefined;
}
