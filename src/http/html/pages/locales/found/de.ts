import type { Text } from '../text.ts';
import type { FoundTextName } from './en.ts';

/** German. */
export const foundTexts: Record<FoundTextName, Text> = {
  folder: 'Ordner',
  found: { one: 'Ein Eintrag wurde gefunden.', other: '{count} Einträge wurden gefunden.' },
  nothingFound: 'Nichts unterhalb dieses Ordners hat das im Namen.',
  nothingFoundHint: 'Versuchen Sie einen kürzeren Teil des Namens oder einen Ordner weiter oben.',
  searchTruncated:
    'Die Suche wurde beendet, bevor sie alles gesehen hatte: Es kann mehr geben. Suchen Sie in einem Ordner weiter unten oder nach mehr vom Namen.',
};
