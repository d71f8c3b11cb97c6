import type { Text } from '../text.ts';
import type { PreviewTextName } from './en.ts';

/** Spanish: texts of the parts of the script that show files. */
export const previewTexts: Record<PreviewTextName, Text> = {
  asText: 'Como texto',
  table: 'Tabla',
  firstRows: { one: 'Solo se muestra la primera fila.', other: 'Solo se muestran las primeras {count} filas.' },
  firstColumns: { one: 'Solo se muestra la primera columna.', other: 'Solo se muestran las primeras {count} columnas.' },
  values: { one: '{count} valor', other: '{count} valores' },
  showMore: 'Mostrar más',
  members: { one: '{count} elemento en este archivo ZIP.', other: '{count} elementos en este archivo ZIP.' },
  membersShown: { one: 'Se muestra el primero.', other: 'Se muestran los primeros {count}.' },
  backToArchive: 'Volver al archivo ZIP',
  downloadName: 'Descargar {name}',
  folder: 'carpeta',
  changedMeanwhile: 'el archivo ha cambiado entretanto, o falta su final',
  noArchive: 'no es un archivo ZIP',
  damagedArchive: 'está dañado',
  encryptedMember: 'está cifrado',
  unknownPacking: 'está comprimido de un modo que esta página no conoce; descargue el archivo ZIP completo',
  archiveInParts: 'el archivo ZIP tiene varias partes',
  tooLargeToUnpack: 'es demasiado grande para descomprimirlo aquí; descargue el archivo ZIP completo',
  noText: 'Este archivo no es un texto.',
  previewCut: 'Solo se muestra el principio.',
  tooLargeToPreview: 'El archivo es demasiado grande para una vista previa.',
  zoomIn: 'Acercar',
  zoomOut: 'Alejar',
  tooManyPixels: 'Esta imagen tiene {width} × {height} píxeles, demasiados para mostrarla aquí. Puede descargarla.',
  brokenPicture: 'Esta imagen no se puede mostrar: está dañada o su navegador no conoce este tipo.',
  brokenMedia: 'No se puede reproducir: está dañado o es de un tipo que su navegador no conoce.',
  player: 'Reproductor',
  previewOf: 'Vista previa de {name}',
};
