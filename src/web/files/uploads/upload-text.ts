import { partTexts } from '../../shared/locale.ts';
import de from '../../texts/uploads/de.json' with { type: 'json' };
import en from '../../texts/uploads/en.json' with { type: 'json' };
import es from '../../texts/uploads/es.json' with { type: 'json' };
import fr from '../../texts/uploads/fr.json' with { type: 'json' };

export type UploadTextName = keyof typeof en;

/** Returns a text about uploads, in the language of the page. */
export const uploadText = partTexts<UploadTextName>({ en, de, es, fr });
