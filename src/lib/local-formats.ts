/**
 * Maximum number of date texts, and of size texts, that are cached. Without a cache, formatting them takes longer than rendering the rest
 * of a listing's row.
 */
const maxTexts = 2_000;

const dayMinutes = 24 * 60;

const sizeUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const;

/** Writes the same text as `Intl.DateTimeFormat` with date and short time in UTC, but builds it from cached parts. */
class DateTexts {
  readonly #whole: Intl.DateTimeFormat;
  readonly #date: Intl.DateTimeFormat;
  readonly #time: Intl.DateTimeFormat;
  readonly #days = new Map<number, string>();
  readonly #times: string[] = [];
  /** The texts before, between and after date and time; undefined for a language that puts the time before the date. */
  readonly #around: readonly [string, string, string] | undefined;

  constructor(formatTag: string) {
    this.#whole = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
    this.#date = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeZone: 'UTC' });
    this.#time = new Intl.DateTimeFormat(formatTag, { timeStyle: 'short', timeZone: 'UTC' });
    this.#around = this.#findAround();
  }

  text(timeMs: number): string {
    const minute = Math.floor(Math.trunc(timeMs) / 60_000);
    if (!this.#around || !Number.isFinite(minute)) return this.#whole.format(timeMs);
    const day = Math.floor(minute / dayMinutes);
    const ofDay = minute - day * dayMinutes;
    let date = this.#days.get(day);
    if (date === undefined) {
      date = this.#date.format(timeMs);
      if (this.#days.size < maxTexts) this.#days.set(day, date);
    }
    this.#times[ofDay] ??= this.#time.format(timeMs);
    const [before, between, after] = this.#around;
    return `${before}${date}${between}${this.#times[ofDay]}${after}`;
  }

  #findAround(): [string, string, string] | undefined {
    const timeMs = Date.UTC(2001, 10, 23, 14, 47);
    const whole = this.#whole.format(timeMs);
    const [date, time] = [this.#date.format(timeMs), this.#time.format(timeMs)];
    const dateAt = whole.indexOf(date);
    const timeAt = whole.indexOf(time, dateAt + date.length);
    if (dateAt < 0 || timeAt < 0) return undefined;
    return [whole.slice(0, dateAt), whole.slice(dateAt + date.length, timeAt), whole.slice(timeAt + time.length)];
  }
}

/** Formats dates and sizes in the style of a language. */
export class LocalFormats {
  readonly #tag: string;
  // Formatters are created at their first use, because creating them takes longer than rendering a whole page.
  #dates: DateTexts | undefined;
  #sizes: readonly Intl.NumberFormat[] | undefined;
  readonly #sizeTexts = new Map<number, string>();

  /** @param tag language, with the region whose formats are used (`en-GB`) */
  constructor(tag: string) {
    this.#tag = tag;
  }

  /** Writes a time for people to read, in UTC. */
  date(timeMs: number): string {
    this.#dates ??= new DateTexts(this.#tag);
    return this.#dates.text(timeMs);
  }

  /** Writes a size for people to read, in powers of 1000, with at most one decimal. */
  size(bytes: number): string {
    const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), sizeUnits.length - 1);
    const tenths = Math.round((bytes / 1000 ** power) * 10);
    const key = power + tenths * sizeUnits.length;
    const known = this.#sizeTexts.get(key);
    if (known !== undefined) return known;
    const text = this.#sizeFormat(power).format(tenths / 10);
    if (this.#sizeTexts.size < maxTexts) this.#sizeTexts.set(key, text);
    return text;
  }

  /** Writes the exact size for people to read. */
  bytes(bytes: number): string {
    return this.#sizeFormat(0).format(bytes);
  }

  #sizeFormat(power: number): Intl.NumberFormat {
    this.#sizes ??= sizeUnits.map((unit) => sizeFormat(this.#tag, unit));
    return this.#sizes[power] as Intl.NumberFormat;
  }
}

function sizeFormat(tag: string, unit: (typeof sizeUnits)[number]): Intl.NumberFormat {
  return new Intl.NumberFormat(tag, {
    style: 'unit',
    unit,
    unitDisplay: unit === 'byte' ? 'long' : 'short',
    maximumFractionDigits: 1,
  });
}
