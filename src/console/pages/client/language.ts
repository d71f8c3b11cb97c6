import { loadTexts } from '../../../http/html/client/locale.ts';
import { fillText, type TextValues } from '../../../http/html/pages/locales/text.ts';
import { scriptTexts as english, type TextName } from './texts/en.ts';

const { tag, texts } = await loadTexts<TextName>(english, {
  de: () => import('./texts/de.ts'),
  es: () => import('./texts/es.ts'),
  fr: () => import('./texts/fr.ts'),
});

/** A text in the language of the page. */
export function text(name: TextName, values?: TextValues): string {
  return fillText(tag, texts[name], values);
}

/** A text of a name that came from the service, such as a state; the name itself where there is no text for it. */
export function wordOf(prefix: string, name: string): string {
  const key = `${prefix}_${name.replaceAll('-', '_')}`;
  return Object.hasOwn(texts, key) ? text(key as TextName) : name;
}
