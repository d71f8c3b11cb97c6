import { fillText, type TextValues } from '../../lib/translated-text.ts';
import { loadTexts } from '../shared/locale.ts';
import english from '../texts/console/en.json' with { type: 'json' };

export type TextName = keyof typeof english;

const { tag, texts } = await loadTexts<TextName>(english, {
  de: () => import('../texts/console/de.json', { with: { type: 'json' } }),
  es: () => import('../texts/console/es.json', { with: { type: 'json' } }),
  fr: () => import('../texts/console/fr.json', { with: { type: 'json' } }),
});

/** A colon and the blanks around it. In French, a no-break space precedes it. */
export const colon = tag === 'fr' ? '\u00a0: ' : ': ';

/** Returns a text in the language of the page. */
export function text(name: TextName, values?: TextValues): string {
  return fillText(tag, texts[name], values);
}

/** Translates a name from the service, such as a state; returns the name itself if it has no translation. */
export function translate(prefix: string, name: string): string {
  const key = `${prefix}_${name.replaceAll('-', '_')}`;
  return Object.hasOwn(texts, key) ? text(key as TextName) : name;
}

/** An English text of the service as a pattern, whose named groups are the places of `translated`. */
export interface Template {
  readonly pattern: RegExp;
  readonly translated: string;
}

export function makeTemplate(english: string, translated: string): Template {
  const parts = english.split(/\{(\w+)\}/);
  const source = parts.map((part, index) => (index % 2 === 1 ? `(?<${part}>.*)` : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'))).join('');
  return { pattern: new RegExp(`^${source}$`, 's'), translated };
}

/** Places whose values are texts of the service, too. The values of all others, such as names and paths, are shown as they are. */
const translatedPlaces = ['details', 'kind', 'outcome', 'reason'];

/** Translates a text. @param phrases templates of phrases within it @returns undefined if the text does not match the template */
export function fillTemplate(template: Template | undefined, english: string, phrases: readonly Template[]): string | undefined {
  const match = template?.pattern.exec(english);
  return match
    ? template?.translated.replace(/\{(\w+)\}/g, (_, name) => {
        const value = match.groups?.[name] ?? '';
        return translatedPlaces.includes(name) ? translateFirst(value, phrases) : value;
      })
    : undefined;
}

/** Translates a text with the first template that it matches. Without one, it stays in English. */
export function translateFirst(english: string, templates: readonly Template[]): string {
  for (const template of templates) {
    const translated = fillTemplate(template, english, templates);
    if (translated !== undefined) return translated;
  }
  return english;
}
