const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Reference year for two-digit years. If a year would be more than 50 years later, it is in the previous century (RFC 9110 §5.6.7). */
const nearYear = 2026;

/** Creates a function that formats times to the second. It caches the last text, because successive times are often in the same second. */
function perSecond(format: (date: Date) => string): (timeMs: number) => string {
  let lastSecond = Number.NaN;
  let lastText = '';
  return (timeMs) => {
    const second = Math.floor(timeMs / 1000);
    if (second !== lastSecond) {
      lastSecond = second;
      lastText = format(new Date(second * 1000));
    }
    return lastText;
  };
}

/**
 * Writes a time as IMF-fixdate (RFC 9110 §5.6.7), rounded down to seconds.
 *
 * @param timeMs Unix time in milliseconds
 */
export const formatHttpDate = perSecond((date) => date.toUTCString());

/** Writes a time in the form of RFC 3339, in UTC, rounded down to seconds. @param timeMs Unix time in milliseconds */
export const formatRfc3339 = perSecond((date) => `${date.toISOString().slice(0, 19)}Z`);

const imfFixdate = /^(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat), (?<day>\d{2}) (?<month>\w{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
const rfc850Date =
  /^(?:Sun|Mon|Tues|Wednes|Thurs|Fri|Satur)day, (?<day>\d{2})-(?<month>\w{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) GMT$/;
const asctimeDate = /^(?:Sun|Mon|Tue|Wed|Thu|Fri|Sat) (?<month>\w{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/;

/**
 * Parses an HTTP date in any of the three forms of RFC 9110 §5.6.7.
 *
 * @returns Unix time in milliseconds; undefined for any other text. Callers then ignore the header
 */
export function parseHttpDate(text: string): number | undefined {
  const parts = (imfFixdate.exec(text) ?? rfc850Date.exec(text) ?? asctimeDate.exec(text))?.groups;
  if (!parts) return undefined;
  const year = parts.year?.length === 2 ? fullYear(Number(parts.year)) : Number(parts.year);
  const month = months.indexOf(parts.month as string);
  const day = Number(parts.day);
  const [hour, minute, second] = (parts.time as string).split(':').map(Number) as [number, number, number];
  if (month < 0 || hour > 23 || minute > 59 || second > 60) return undefined;
  return new Date(Date.UTC(year, month, day)).getUTCDate() === day ? Date.UTC(year, month, day, hour, minute, second) : undefined;
}

function fullYear(twoDigits: number): number {
  const year = nearYear - (nearYear % 100) + twoDigits;
  return year > nearYear + 50 ? year - 100 : year;
}
