const dayMs = 86_400_000;
const minuteMs = 60_000;

const zoneFormats = new Map<string, Intl.DateTimeFormat>();

/** @throws RangeError for a zone that does not exist */
function zoneFormat(timeZone: string): Intl.DateTimeFormat {
  let format = zoneFormats.get(timeZone);
  if (!format) {
    const numeric = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric', second: 'numeric' } as const;
    format = new Intl.DateTimeFormat('en-US', { timeZone, hourCycle: 'h23', era: 'short', ...numeric });
    zoneFormats.set(timeZone, format);
  }
  return format;
}

/** For each zone, the offsets of the days (in UTC) on which the clock is not changed. */
const steadyOffsets = new Map<string, Map<number, number>>();
/** Number of days of a zone that are kept: a history has 366. */
const maxDays = 1000;

/** Returns the wall-clock time in a zone, in milliseconds as if it were UTC. */
export function wallClock(timeMs: number, timeZone: string): number {
  if (timeZone === 'UTC') return timeMs;
  const offsets = steadyOffsets.get(timeZone) ?? new Map<number, number>();
  steadyOffsets.set(timeZone, offsets);
  const day = Math.floor(timeMs / dayMs);
  const known = offsets.get(day);
  if (known !== undefined) return timeMs + known;
  const [first, last] = [day * dayMs, (day + 1) * dayMs - 1];
  const offset = readClock(first, timeZone) - first;
  if (readClock(last, timeZone) - last !== offset) return readClock(timeMs, timeZone);
  if (offsets.size >= maxDays) offsets.clear();
  offsets.set(day, offset);
  return timeMs + offset;
}

/** Reads the clock of a zone. `Intl` takes 40 µs for each time, and a history has thousands of them. */
function readClock(timeMs: number, timeZone: string): number {
  const parts = Object.fromEntries(
    zoneFormat(timeZone)
      .formatToParts(timeMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((timeMs % 1000) + 1000) % 1000);
}

/**
 * Returns the instant at which a wall clock in the zone shows a time. If the clock shows the time twice, this is the first of the two
 * instants. If the clock skips the time, this is the end of the gap.
 *
 * @param wall the time that the clock shows, in milliseconds as if it were UTC
 */
export function findInstant(wall: number, timeZone: string): number {
  const offsetAt = (timeMs: number) => wallClock(timeMs, timeZone) - timeMs;
  const offsets = [offsetAt(wall - dayMs), offsetAt(wall + dayMs)];
  const shown = offsets.map((offset) => wall - offset).filter((instant) => wallClock(instant, timeZone) === wall);
  if (shown.length > 0) return Math.min(...shown);
  let [before, after] = [wall - Math.max(...offsets), wall - Math.min(...offsets)];
  const offsetBefore = offsetAt(before);
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2);
    if (offsetAt(middle) === offsetBefore) before = middle;
    else after = middle;
  }
  return after;
}

/** Formats a time as RFC 3339 with the offset of the zone, such as `2026-03-29T06:00:00+02:00`. */
export function zonedTime(timeMs: number, timeZone: string): string {
  const wall = wallClock(timeMs, timeZone);
  const minutes = Math.round((wall - timeMs) / minuteMs);
  const text = new Date(wall).toISOString().slice(0, 19);
  if (minutes === 0) return `${text}Z`;
  const two = (value: number) => String(Math.floor(Math.abs(value))).padStart(2, '0');
  return `${text}${minutes < 0 ? '-' : '+'}${two(Math.abs(minutes) / 60)}:${two(Math.abs(minutes) % 60)}`;
}

export function isTimeZone(name: string): boolean {
  try {
    zoneFormat(name);
    return true;
  } catch {
    return false;
  }
}
