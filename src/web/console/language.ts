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
