import { linkOf, nameOf, type Row } from './rows.ts';

const kinds = ['image', 'pdf', 'audio', 'video', 'text', 'zip'] as const;

/** How a file is shown in the page; its link's class also chooses the icon. A drawing as SVG is shown as a picture alone, which runs nothing. */
export function kindOf(row: Row) {
  if (/\.svg$/i.test(nameOf(row))) return 'image';
  return kinds.find((kind) => linkOf(row).classList.contains(kind));
}

/** Whether a row's file can be looked at in the page. */
export function canPreview(row: Row): boolean {
  return kindOf(row) !== undefined;
}
