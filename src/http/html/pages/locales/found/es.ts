import type { Text } from '../text.ts';
import type { FoundTextName } from './en.ts';

/** Spanish. */
export const foundTexts: Record<FoundTextName, Text> = {
  folder: 'carpeta',
  found: { one: 'Se ha encontrado un elemento.', other: 'Se han encontrado {count} elementos.' },
  nothingFound: 'Nada en esta carpeta ni por debajo tiene esto en su nombre.',
  nothingFoundHint: 'Pruebe con una parte más corta del nombre o con una carpeta superior.',
  searchTruncated:
    'La búsqueda terminó antes de haberlo visto todo: puede haber más. Busque en una carpeta inferior o más parte del nombre.',
};
