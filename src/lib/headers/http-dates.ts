const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
const longDays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

let lastSecond = Number.NaN;
let lastText = '';

/**
 * Writes a time as IMF-fixdate (RFC 9110 §5.6.7), seconds rounded down.
 *
 * @param timeMs Unix time in milliseconds
 */
export function formatHttpDate(timeMs: number): string {
  const second = Math.floor(timeMs / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastText = new Date(second * 1000).toUTCString();
  }
  return lastText;
}

const imfFixdate = /^([A-Z][a-z]{2}), (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const rfc850Date = /^([A-Z][a-z]+day), (\d{2})-([A-Z][a-z]{2})-(\d{2}) (\d{2}):(\d{2}):(\d{2}) GMT$/;
const asctimeDate = /^([A-Z][a-z]{2}) ([A-Z][a-z]{2}) ([ \d]\d) (\d{2}):(\d{2}):(\d{2}) (\d{4})$/;

/**
 * Reads an HTTP date in any of the three forms of RFC 9110 §5.6.7.
 *
 * @param nowYear the year that two-digit years are near to: those over 50 years ahead are in the past century
 * @returns Unix time in milliseconds, or undefined for anything else (the field is then ignored)
 */
export function parseHttpDate(text: string, nowYear = 2026): number | undefined {
  const imf = imfFixdate.exec(text);
  if (imf) return days.includes(imf[1] as string) ? timeOf(imf[4], imf[3], imf[2], imf[5], imf[6], imf[7]) : undefined;
  const rfc850 = rfc850Date.exec(text);
  if (rfc850) {
    const century = nowYear - (nowYear % 100);
    const year = century + Number(rfc850[4]);
    const nearYear = year > nowYear + 50 ? year - 100 : year;
    return longDays.includes(rfc850[1] as string)
      ? timeOf(String(nearYear), rfc850[3], rfc850[2], rfc850[5], rfc850[6], rfc850[7])
      : undefined;
  }
  const asctime = asctimeDate.exec(text);
  if (asctime)
    return days.includes(asctime[1] as string)
      ? timeOf(asctime[7], asctime[2], asctime[3]?.trim(), asctime[4], asctime[5], asctime[6])
      : undefined;
  return undefined;
}

function timeOf(...parts: (string | undefined)[]): number | undefined {
  const [year, monthName, day, hour, minute, second] = parts;
  const month = months.indexOf(monthName ?? '');
  const numbers = [year, day, hour, minute, second].map(Number) as [number, number, number, number, number];
  if (month < 0 || numbers[2] > 23 || numbers[3] > 59 || numbers[4] > 60) return undefined;
  const time = Date.UTC(numbers[0], month, numbers[1], numbers[2], numbers[3], numbers[4]);
  return new Date(Date.UTC(numbers[0], month, numbers[1])).getUTCDate() === numbers[1] ? time : undefined;
}
