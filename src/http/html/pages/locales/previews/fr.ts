import type { Text } from '../text.ts';
import type { PreviewTextName } from './en.ts';

/** French: texts of the parts of the script that show files. */
export const previewTexts: Record<PreviewTextName, Text> = {
  asText: 'En texte',
  table: 'Tableau',
  firstRows: { one: 'Seule la première ligne est affichée.', other: 'Seules les {count} premières lignes sont affichées.' },
  firstColumns: { one: 'Seule la première colonne est affichée.', other: 'Seules les {count} premières colonnes sont affichées.' },
  values: { one: '{count} valeur', other: '{count} valeurs' },
  showMore: 'Afficher plus',
  members: { one: '{count} élément dans cette archive.', other: '{count} éléments dans cette archive.' },
  membersShown: { one: 'Le premier est affiché.', other: 'Les {count} premiers sont affichés.' },
  backToArchive: 'Retour à l’archive',
  downloadName: 'Télécharger {name}',
  folder: 'dossier',
  changedMeanwhile: 'le fichier a changé entre-temps, ou sa fin manque',
  noArchive: 'ce n’est pas une archive ZIP',
  damagedArchive: 'l’élément est endommagé',
  encryptedMember: 'l’élément est chiffré',
  unknownPacking: 'l’élément est compressé d’une façon que cette page ne connaît pas ; téléchargez l’archive entière',
  archiveInParts: 'l’archive est en plusieurs parties',
  tooLargeToUnpack: 'l’élément est trop grand pour être décompressé ici ; téléchargez l’archive entière',
  noText: 'Ce fichier n’est pas un texte.',
  previewCut: 'Seul le début est affiché.',
  tooLargeToPreview: 'Le fichier est trop volumineux pour un aperçu.',
  zoomIn: 'Agrandir',
  zoomOut: 'Réduire',
  tooManyPixels: 'Cette image a {width} × {height} pixels, trop pour être affichée ici. Vous pouvez la télécharger.',
  brokenPicture: 'Cette image ne peut pas être affichée : elle est endommagée, ou votre navigateur ne connaît pas ce format.',
  brokenMedia: 'Lecture impossible : le fichier est endommagé ou d’un type que votre navigateur ne connaît pas.',
  player: 'Lecteur',
  previewOf: 'Aperçu de {name}',
};
