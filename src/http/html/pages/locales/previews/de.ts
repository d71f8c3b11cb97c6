import type { Text } from '../text.ts';
import type { PreviewTextName } from './en.ts';

/** German: texts of the parts of the script that show files. */
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
  noText: 'Diese Datei ist kein Text.',
  previewCut: 'Nur der Anfang wird gezeigt.',
  tooLargeToPreview: 'Die Datei ist für eine Vorschau zu groß.',
  zoomIn: 'Vergrößern',
  zoomOut: 'Verkleinern',
  tooManyPixels: 'Dieses Bild hat {width} × {height} Pixel, zu viele, um es hier zu zeigen. Sie können es herunterladen.',
  brokenPicture: 'Dieses Bild lässt sich nicht zeigen: Es ist beschädigt, oder Ihr Browser kennt seine Art nicht.',
  brokenMedia: 'Das kann nicht abgespielt werden: Es ist beschädigt oder von einer Art, die Ihr Browser nicht kennt.',
  player: 'Wiedergabe',
  previewOf: 'Vorschau von {name}',
};
