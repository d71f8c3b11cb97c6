import { fillText, type TextValues } from '../../lib/translated-text.ts';
import { loadTexts } from '../shared/locale.ts';
import english from '../texts/files/en.json' with { type: 'json' };

export type ScriptTextName = keyof typeof english;

const { tag, texts } = await loadTexts<ScriptTextName>(english, {
  de: () => import('../texts/files/de.json', { with: { type: 'json' } }),
  es: () => import('../texts/files/es.json', { with: { type: 'json' } }),
  fr: () => import('../texts/files/fr.json', { with: { type: 'json' } }),
});

/** Returns a text in the language of the page. */
export function text(name: ScriptTextName, values?: TextValues): string {
  return fillText(tag, texts[name], values);
}
