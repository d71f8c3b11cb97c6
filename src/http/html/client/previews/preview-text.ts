import { previewTexts as de } from '../../pages/locales/previews/de.ts';
import { previewTexts as en, type PreviewTextName } from '../../pages/locales/previews/en.ts';
import { previewTexts as es } from '../../pages/locales/previews/es.ts';
import { previewTexts as fr } from '../../pages/locales/previews/fr.ts';
import { fillText, type Text, type TextValues } from '../../pages/locales/text.ts';
import { tag } from '../language.ts';

const all: Readonly<Record<string, Record<PreviewTextName, Text>>> = { en, de, fr, es };

/** A text of the parts that show files, in the language of the page. */
export function previewText(name: PreviewTextName, values?: TextValues): string {
  return fillText(tag, (all[tag] ?? en)[name], values);
}
