import { preferredLanguage } from '../../../../lib/headers/accept-header.ts';
import { LocalFormats } from '../../../../lib/local-formats.ts';
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

/** A language of the pages, with its texts and its formats of dates and sizes. */
export class Language {
  /** Tag of the texts: en, de, fr or es. */
  readonly tag: string;
  readonly #texts: Record<PageTextName, Text>;
  readonly #formats: LocalFormats;

  /**
   * @param tag language of the texts
   * @param formatTag the same language with the region that the reader asked for (`en-GB`), for dates and numbers
   */
  constructor(tag: string, formatTag: string) {
    this.tag = tag;
    this.#formats = new LocalFormats(formatTag);
    this.#texts = texts[tag] as Record<PageTextName, Text>;
  }

  text(name: PageTextName, values?: TextValues): string {
    return fillText(this.tag, this.#texts[name], values);
  }

  /** Writes a time for people to read, in UTC. */
  date(timeMs: number): string {
    return this.#formats.date(timeMs);
  }

  /** Writes a size for people to read. */
  size(bytes: number): string {
    return this.#formats.size(bytes);
  }

  /** Writes the exact size for people to read. */
  bytes(bytes: number): string {
    return this.#formats.bytes(bytes);
  }
}

const made = new Map<string, Language>();
/** Maximum number of cached languages. Each region adds one, and clients can send any region, so the cache must be limited. */
const maxKept = 30;

/**
 * Returns the language of the pages for a reader.
 *
 * @param acceptLanguage value of `Accept-Language` (RFC 9110 §12.5.4). If it names no language of the pages, English is used
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
