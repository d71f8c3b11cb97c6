import { preferredLanguage } from '../../../lib/accept-language.ts';
import * as de from './de.ts';
import type { PageTextName } from './en.ts';
import * as en from './en.ts';
import * as es from './es.ts';
import * as fr from './fr.ts';
import { fillText, type Text, type TextValues } from './text.ts';

const texts: Readonly<Record<string, Record<PageTextName, Text>>> = {
  en: en.pageTexts,
  de: de.pageTexts,
  fr: fr.pageTexts,
  es: es.pageTexts,
};

/** A language of the pages: its texts, and the formats of dates and sizes. */
export class Language {
  /** Tag of the texts: en, de, fr or es. */
  readonly tag: string;
  readonly #texts: Record<PageTextName, Text>;
  readonly #date: Intl.DateTimeFormat;
  readonly #sizes: readonly Intl.NumberFormat[];
  #lastDate = { minute: Number.NaN, text: '' };

  /**
   * @param tag language of the texts
   * @param formatTag the same language with the region that the reader asked for (`en-GB`), for dates and numbers
   */
  constructor(tag: string, formatTag: string) {
    this.tag = tag;
    this.#texts = texts[tag] as Record<PageTextName, Text>;
    this.#date = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'short', timeZone: 'UTC' });
    this.#sizes = (['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte', 'petabyte'] as const).map(
      (unit) =>
        new Intl.NumberFormat(formatTag, {
          style: 'unit',
          unit,
          unitDisplay: unit === 'byte' ? 'long' : 'short',
          maximumFractionDigits: 1,
        }),
    );
  }

  text(name: PageTextName, values?: TextValues): string {
    return fillText(this.tag, this.#texts[name], values);
  }

  /** A time for people, in UTC. */
  date(timeMs: number): string {
    const minute = Math.floor(timeMs / 60_000);
    // Neighbours in a listing often have the same minute, and formatting costs more than the rest of their row.
    if (minute !== this.#lastDate.minute) this.#lastDate = { minute, text: this.#date.format(timeMs) };
    return this.#lastDate.text;
  }

  /** A size for people, in powers of 1000. */
  size(bytes: number): string {
    const power = bytes < 1000 ? 0 : Math.min(Math.floor(Math.log10(bytes) / 3), this.#sizes.length - 1);
    return (this.#sizes[power] as Intl.NumberFormat).format(bytes / 1000 ** power);
  }
}

const made = new Map<string, Language>();
/** Regions are what the client says; only so many formatters are kept. */
const mostKept = 100;

/**
 * The language for a reader.
 *
 * @param acceptLanguage value of `Accept-Language` (RFC 9110 §12.5.4); English when it names none that there is
 */
export function languageFor(acceptLanguage: string | undefined): Language {
  const { tag, range } = preferredLanguage(acceptLanguage, Object.keys(texts));
  const key = `${tag} ${range}`;
  const known = made.get(key);
  if (known) return known;
  const language = new Language(tag, Intl.getCanonicalLocales(range)[0] ?? tag);
  if (made.size >= mostKept) made.clear();
  made.set(key, language);
  return language;
}
