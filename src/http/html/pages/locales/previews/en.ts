import type { Text } from '../text.ts';

/** English: texts of the parts of the script that show files. */
export const previewTexts = {
  asText: 'As text',
  table: 'Table',
  firstRows: { one: 'Only the first row is shown.', other: 'Only the first {count} rows are shown.' },
  firstColumns: { one: 'Only the first column is shown.', other: 'Only the first {count} columns are shown.' },
  values: { one: '{count} value', other: '{count} values' },
  showMore: 'Show more',
  members: { one: '{count} item in this archive.', other: '{count} items in this archive.' },
  membersShown: { one: 'The first one is shown.', other: 'The first {count} are shown.' },
  backToArchive: 'Back to the archive',
  downloadName: 'Download {name}',
  folder: 'folder',
  changedMeanwhile: 'the file has changed meanwhile, or its end is missing',
  noArchive: 'it is no ZIP archive',
  damagedArchive: 'it is damaged',
  encryptedMember: 'it is encrypted',
  unknownPacking: 'it is packed in a way that this page does not know; download the whole archive',
  archiveInParts: 'the archive has several parts',
  tooLargeToUnpack: 'it is too large to be unpacked here; download the whole archive',
  noText: 'This file is no text.',
  emptyFile: 'This file is empty.',
  previewCut: 'Only the beginning is shown.',
  tooLargeToPreview: 'The file is too large for a preview.',
  zoomIn: 'Zoom in',
  zoomOut: 'Zoom out',
  tooManyPixels: 'This picture has {width} × {height} pixels, too many to be shown here. You can download it.',
  drawingTooLarge: 'This drawing is too large or too complicated to be shown here. You can download it.',
  brokenPicture: 'This picture cannot be shown: it is damaged, or of a kind that your browser does not know.',
  brokenMedia: 'This cannot be played: it is damaged, or of a kind that your browser does not know.',
  player: 'Player',
  previewOf: 'Preview of {name}',
} satisfies Record<string, Text>;

export type PreviewTextName = keyof typeof previewTexts;
