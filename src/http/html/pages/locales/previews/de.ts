import type { Text } from '../text.ts';
import type { PreviewTextName } from './en.ts';

/** German: texts of the parts of the script that show texts and archives. */
export const previewTexts: Record<PreviewTextName, Text> = {
  asText: 'Als Text',
  table: 'Tabelle',
  firstRows: { one: 'Nur die erste Zeile wird gezeigt.', other: 'Nur die ersten {count} Zeilen werden gezeigt.' },
  firstColumns: { one: 'Nur die erste Spalte wird gezeigt.', other: 'Nur die ersten {count} Spalten werden gezeigt.' },
  values: { one: '{count} Wert', other: '{count} Werte' },
  showMore: 'Mehr zeigen',
  members: { one: '{count} Eintrag in diesem Archiv.', other: '{count} Einträge in diesem Archiv.' },
  membersShown: { one: 'Der erste wird gezeigt.', other: 'Die ersten {count} werden gezeigt.' },
  backToArchive: 'Zurück zum Archiv',
  downloadName: '{name} herunterladen',
  folder: 'Ordner',
  changedMeanwhile: 'die Datei wurde inzwischen geändert, oder ihr Ende fehlt',
  noArchive: 'es ist kein ZIP-Archiv',
  damagedArchive: 'es ist beschädigt',
  encryptedMember: 'es ist verschlüsselt',
  unknownPacking: 'es ist auf eine Weise gepackt, die diese Seite nicht kennt; laden Sie das ganze Archiv herunter',
  archiveInParts: 'das Archiv besteht aus mehreren Teilen',
  tooLargeToUnpack: 'es ist zu groß, um hier entpackt zu werden; laden Sie das ganze Archiv herunter',
};
