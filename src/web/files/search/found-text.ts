import { partTexts } from '../../shared/locale.ts';
import de from '../../texts/found/de.json' with { type: 'json' };
import en from '../../texts/found/en.json' with { type: 'json' };
import es from '../../texts/found/es.json' with { type: 'json' };
import fr from '../../texts/found/fr.json' with { type: 'json' };

/** Returns a text for search results. */
export const foundText = partTexts({ en, de, es, fr });
