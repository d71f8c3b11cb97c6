import { fillText, type Text, type TextValues } from '../../../lib/translated-text.ts';
import de from '../../texts/previews/de.json' with { type: 'json' };
import en from '../../texts/previews/en.json' with { type: 'json' };
import es from '../../texts/previews/es.json' with { type: 'json' };
import fr from '../../texts/previews/fr.json' with { type: 'json' };
import { tag } from '../language.ts';

export type PreviewTextName = keyof typeof en;

const all: Readonly<Record<string, Record<PreviewTextName, Text>>> = { en, de, fr, es };

/** A text of the parts that show files, in the language of the page. */
export function previewText(name: PreviewTextName, values?: TextValues): string {
  return fillText(tag, (all[tag] ?? en)[name], values);
}
