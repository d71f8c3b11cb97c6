import { partTexts } from '../../shared/locale.ts';
import de from '../../texts/share/de.json' with { type: 'json' };
import en from '../../texts/share/en.json' with { type: 'json' };
import es from '../../texts/share/es.json' with { type: 'json' };
import fr from '../../texts/share/fr.json' with { type: 'json' };

/** Returns a text for creating links or copying secrets. */
export const shareText = partTexts({ en, de, es, fr });
