import { preferredLanguage } from '../../../../lib/headers/accept-header.ts';
import { fillText, type Text, type TextValues } from '../../../../lib/translated-text.ts';
import deFound from '../../../../web/texts/found/de.json' with { type: 'json' };
import enFound from '../../../../web/texts/found/en.json' with { type: 'json' };
import esFound from '../../../../web/texts/found/es.json' with { type: 'json' };
import frFound from '../../../../web/texts/found/fr.json' with { type: 'json' };
import deLinks from '../../../../web/texts/links/de.json' with { type: 'json' };
import enLinks from '../../../../web/texts/links/en.json' with { type: 'json' };
import esLinks from '../../../../web/texts/links/es.json' with { type: 'json' };
import frLinks from '../../../../web/texts/links/fr.json' with { type: 'json' };
import de from '../../../../web/texts/pages/de.json' with { type: 'json' };
import en from '../../../../web/texts/pages/en.json' with { type: 'json' };
import es from '../../../../web/texts/pages/es.json' with { type: 'json' };
import fr from '../../../../web/texts/pages/fr.json' with { type: 'json' };
import deTokens from '../../../../web/texts/tokens/de.json' with { type: 'json' };
import enTokens from '../../../../web/texts/tokens/en.json' with { type: 'json' };
import esTokens from '../../../../web/texts/tokens/es.json' with { type: 'json' };
import frTokens from '../../../../web/texts/tokens/fr.json' with { type: 'json' };

/** The name of a text on the pages. */
export type PageTextName = keyof typeof en | keyof typeof enFound | keyof typeof enLinks | keyof typeof enTokens;

const texts: Readonly<Record<string, Record<PageTextName, Text>>> = {
  en: { ...en, ...enFound, ...enLinks, ...enTokens },
  de: { ...de, ...deFound, ...deLinks, ...deTokens },
  fr: { ...fr, ...frFound, ...frLinks, ...frTokens },
  es: { ...es, ...esFound, ...esLinks, ...esTokens },
};

/** The languages of the pages, each with its name in that language. */
export const languages = [
  { tag: 'en', name: 'English' },
  { tag: 'de', name: 'Deutsch' },
  { tag: 'fr', name: 'Français' },
  { tag: 'es', name: 'Español' },
] as const;

/**
 * Maximum number of cached date texts, and of cached size texts. Without a cache, formatting takes longer than the rest of a listing row.
 */
const maxTexts = 2_000;

const dayMinutes = 24 * 60;

const sizeUnits = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const;

/** Writes the same text as `Intl.DateTimeFormat` with date and short time in UTC, but composes it from cached parts. */
class DateTexts {
  readonly #whole: Intl.DateTimeFormat;
  readonly #date: Intl.DateTimeFormat;
  readonly #time: Intl.DateTimeFormat;
  readonly #days = new Map<number, string>();
  readonly #times: string[] = [];
  /** The texts before, between and after date and time; undefined for a language that writes the time before the date. */
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

/** A language of the pages, with its texts and its formats of dates and sizes. */
export class Language {
  /** Tag of the texts: en, de, fr or es. */
  readonly tag: string;
  readonly #texts: Record<PageTextName, Text>;
  readonly #formatTag: string;
  // Formatters are created on first use, because creating them takes longer than writing a whole page.
  #dates: DateTexts | undefined;
  #sizes: readonly Intl.NumberFormat[] | undefined;
  readonly #sizeTexts = new Map<number, string>();

  /**
   * @param tag language of the texts
   * @param formatTag the same language with the region that the reader asked for (`en-GB`), for dates and numbers
   */
  constructor(tag: string, formatTag: string) {
    this.tag = tag;
    this.#formatTag = formatTag;
    this.#texts = texts[tag] as Record<PageTextName, Text>;
  }

  text(name: PageTextName, values?: TextValues): string {
    return fillText(this.tag, this.#texts[name], values);
  }

  /** Writes a time for people to read, in UTC. */
  date(timeMs: number): string {
    this.#dates ??= new DateTexts(this.#formatTag);
    return this.#dates.text(timeMs);
  }

  /** Writes a size for people to read, in units of powers of 1000, with at most one decimal. */
  size(bytes: number): string {
    const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), sizeUnits.length - 1);
    const tenths = Math.round((bytes / 1000 ** power) * 10);
    const key = power + tenths * sizeUnits.length;
    const known = this.#sizeTexts.get(key);
    if (known !== undefined) return known;
    this.#sizes ??= sizeUnits.map((unit) => sizeFormat(this.#formatTag, unit));
    const text = (this.#sizes[power] as Intl.NumberFormat).format(tenths / 10);
    if (this.#sizeTexts.size < maxTexts) this.#sizeTexts.set(key, text);
    return text;
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

const made = new Map<string, Language>();
/** Maximum number of cached languages. Each region adds one, and clients may send any region, so the cache must be limited. */
const maxKept = 30;

/**
 * Returns the language of the pages for a reader.
 *
 * @param acceptLanguage value of `Accept-Language` (RFC 9110 §12.5.4); English if it names no language of the pages
 * @param chosen tag of the language that the reader chose instead; an unknown tag is ignored
 */
export function languageFor(acceptLanguage: string | undefined, chosen?: string): Language {
  const isKnown = chosen !== undefined && Object.hasOwn(texts, chosen);
  const { tag, range } = preferredLanguage(acceptLanguage, isKnown ? [chosen] : Object.keys(texts));
  const key = `${tag} ${range}`;
  const known = made.get(key);
  if (known) return known;
  const language = new Language(tag, Intl.getCanonicalLocales(range)[0] ?? tag);
  if (made.size >= maxKept) made.clear();
  made.set(key, language);
  return language;
}
