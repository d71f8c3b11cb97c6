import { memberOf, type Row } from './rows/rows.ts';

const kinds = ['image', 'pdf', 'audio', 'video', 'text', 'zip'] as const;

/** How a file is shown in the page; its link's class also chooses the icon. A drawing as SVG is shown as a picture alone, which runs nothing. */
export function kindOfFile(name: string, looks: readonly string[]) {
  if (/\.svg$/i.test(name)) return 'image';
  return kinds.find((kind) => looks.includes(kind));
}

/** How a row's file is shown in the page. */
export function kindOf(row: Row) {
  const { name, look } = memberOf(row);
  return kindOfFile(name, look.split(' '));
}

/** Whether a row's file can be looked at in the page. */
export function canPreview(row: Row): boolean {
  return kindOf(row) !== undefined;
}
