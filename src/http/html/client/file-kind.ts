import { linkOf, type Row } from './rows.ts';

const kinds = ['image', 'pdf', 'audio', 'video', 'text'] as const;

/** Kind of a file's preview; its link's class also chooses the icon. */
export function kindOf(row: Row) {
  return kinds.find((kind) => linkOf(row).classList.contains(kind));
}

/** Whether a row's file can be looked at in the page. */
export function canPreview(row: Row): boolean {
  return kindOf(row) !== undefined;
}
