import { fillText, type TextValues } from '../pages/locales/text.ts';
import { loadTexts } from './locale.ts';
import { scriptTexts as english, type ScriptTextName } from './texts/en.ts';

const loaded = await loadTexts<ScriptTextName>(english, {
  de: () => import('./texts/de.ts'),
  es: () => import('./texts/es.ts'),
  fr: () => import('./texts/fr.ts'),
});

/** Language of the texts of the page. */
export const { tag } = loaded;

/** A text in the language of the page. */
export function text(name: ScriptTextName, values?: TextValues): string {
  return fillText(tag, loaded.texts[name], values);
}
