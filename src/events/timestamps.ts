function pad(value: number, width = 2): string {
  return String(value).padStart(width, '0');
}

let lastSecond = Number.NaN;
let lastLocal = '';

function cwa14051(at: Date): string {
  return `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())} ${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}`;
}

/**
 * Returns the two timestamps in the JSON of an event: Unix time with six decimals, and local time. @param nowMs Unix time in milliseconds
 */
export function jsonTimestamps(nowMs: number): { timestamp: string; cwa_14051: string } {
  const second = Math.floor(nowMs / 1000);
  if (second !== lastSecond) {
    lastSecond = second;
    lastLocal = cwa14051(new Date(second * 1000));
  }
  return { timestamp: `${second}.${pad(Math.floor((nowMs - second * 1000) * 1000), 6)}`, cwa_14051: lastLocal };
}

/**
 * Returns all forms of an event's timestamp (docs/spec/events.md#timestamps). `iso_8601_local`, `cwa_14051` and the single parts are local
 * time. The other `iso_8601*` are UTC.
 *
 * @param timestamp Unix time with decimals, in the form of an event's `timestamp.timestamp`
 */
export function allTimestamps(timestamp: string) {
  const [second = '0', fraction = ''] = timestamp.split('.');
  const at = new Date(Number(second) * 1000);
  const iso = at.toISOString().slice(0, 19);
  const basic = iso.replace(/[-:]/g, '');
  const hour12 = at.getHours() % 12 || 12;
  return {
    timestamp,
    cwa_14051: cwa14051(at),
    iso_8601: `${iso}Z`,
    iso_8601_fractional: `${iso}.${fraction.padEnd(9, '0').slice(0, 9)}Z`,
    iso_8601_local: `${cwa14051(at).replace(' ', 'T')}${offset(at)}`,
    iso_8601_basic: `${basic}Z`,
    iso_8601_compact: basic,
    year_decimal: String(at.getFullYear()),
    year_no_century: pad(at.getFullYear() % 100),
    month_decimal: String(at.getMonth() + 1),
    month_padded: pad(at.getMonth() + 1),
    day_padded: pad(at.getDate()),
    day_decimal: String(at.getDate()),
    day_of_year_padded: pad(dayOfYear(at), 3),
    hour_padded_24: pad(at.getHours()),
    hour_decimal_24: String(at.getHours()),
    hour_padded_12: pad(hour12),
    hour_decimal_12: String(hour12),
    hour_am_pm: at.getHours() < 12 ? 'AM' : 'PM',
    minute_padded: pad(at.getMinutes()),
    minute_decimal: String(at.getMinutes()),
    second_padded: pad(at.getSeconds()),
    second_decimal: String(at.getSeconds()),
  };
}

function offset(at: Date): string {
  const minutes = -at.getTimezoneOffset();
  const size = Math.abs(minutes);
  return `${minutes < 0 ? '-' : '+'}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

function dayOfYear(at: Date): number {
  const start = Date.UTC(at.getFullYear(), 0, 1);
  return Math.round((Date.UTC(at.getFullYear(), at.getMonth(), at.getDate()) - start) / 86_400_000) + 1;
}
