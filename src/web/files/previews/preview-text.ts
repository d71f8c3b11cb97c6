import { partTexts } from '../../shared/locale.ts';
import de from '../../texts/previews/de.json' with { type: 'json' };
import en from '../../texts/previews/en.json' with { type: 'json' };
import es from '../../texts/previews/es.json' with { type: 'json' };
import fr from '../../texts/previews/fr.json' with { type: 'json' };

export type PreviewTextName = keyof typeof en;

/** Returns a text of the file previews, in the language of the page. */
export const previewText = partTexts<PreviewTextName>({ en, de, es, fr });
