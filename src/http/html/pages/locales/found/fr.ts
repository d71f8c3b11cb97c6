import type { Text } from '../text.ts';
import type { FoundTextName } from './en.ts';

/** French. */
export const foundTexts: Record<FoundTextName, Text> = {
  folder: 'dossier',
  found: { one: 'Un élément trouvé.', other: '{count} éléments trouvés.' },
  nothingFound: 'Rien dans ce dossier ni en dessous ne porte ceci dans son nom.',
  nothingFoundHint: 'Essayez une partie plus courte du nom, ou un dossier plus haut.',
  searchTruncated:
    'La recherche a pris fin avant d’avoir tout vu : il peut y en avoir plus. Cherchez dans un dossier plus bas, ou une plus grande partie du nom.',
};
