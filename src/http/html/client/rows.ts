import { showDate } from './dates.ts';
import { byId } from './dom.ts';
import { inFrames } from './frames.ts';
import { shownPage } from './navigation/folder.ts';
import { fetchPage } from './navigation/page-request.ts';

/** A member of the folder as its row in the listing. */
export type Row = HTMLTableRowElement;

/** All rows, in the order of the page. */
export function allRows(): Row[] {
  return [...document.querySelectorAll<Row>('#list tbody tr')];
}

/** Rows that the filter leaves; undefined without a filter. */
let left: readonly Row[] | undefined;

/** Says which rows the filter leaves; undefined without a filter. */
export function showOnly(rows: readonly Row[] | undefined): void {
  left = rows;
}

/** Rows that the filter does not hide. */
export function shownRows(): Row[] {
  return left === undefined ? allRows() : [...left];
}

export function checkboxOf(row: Row): HTMLInputElement {
  return row.querySelector('input') as HTMLInputElement;
}

export function linkOf(row: Row): HTMLAnchorElement {
  return row.querySelector('a') as HTMLAnchorElement;
}

/** The row that has the focus in it. */
export function focusedRow(): Row | undefined {
  return document.activeElement?.closest<Row>('#list tbody tr') ?? undefined;
}

/** Puts the focus into a row, and the row into sight. */
export function focusRow(row: Row): void {
  linkOf(row).focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
}

/** The member's real name. */
export function nameOf(row: Row): string {
  return checkboxOf(row).value;
}

/** A member as the page knows it, to find out later whether it is still the same. */
export interface Member {
  name: string;
  isFolder: boolean;
  sizeBytes: number;
  /** When it was changed, in whole seconds of Unix time. */
  modified: number;
}

/** What the page knows of a row's member. */
export function memberOf(row: Row): Member {
  const time = row.querySelector<HTMLElement>('[data-time]')?.dataset.time;
  return { name: nameOf(row), isFolder: isFolder(row), sizeBytes: Number(row.dataset.size), modified: Number(time) };
}

export function isFolder(row: Row): boolean {
  return linkOf(row).pathname.endsWith('/');
}

/** Something that depends on the rows. @param wanted name of the row that is to be seen */
type RowsListener = (wanted?: string) => void;

let listeners: RowsListener[] = [];

/** Begins with the rows of a folder that was not shown before. */
export function startRows(): void {
  left = undefined;
  listeners = [finishRows];
  finishRows();
}

/** Calls `listener` now and each time that the rows of the folder are new. */
export function whenRowsChange(listener: RowsListener): void {
  listeners.push(listener);
  listener();
}

/**
 * Fetches the page anew and takes its rows; selection and focus stay with their names.
 *
 * @param focusOn name of the row that receives the focus instead
 */
export async function refreshRows(focusOn?: string): Promise<void> {
  const table = document.getElementById('list');
  if (!table) return;
  // Only a session that has ended can be mended here: without a connection, and without the folder, the rows stay as they are.
  const { page: fresh } = await fetchPage(shownPage());
  const list = fresh?.getElementById('list');
  // Another folder may be shown by now.
  if (!fresh || !list || !table.isConnected) return;
  const selected = new Set(
    allRows()
      .filter((row) => checkboxOf(row).checked)
      .map(nameOf),
  );
  const focused = focusedRow();
  const focusedName = focusOn ?? (focused && nameOf(focused));
  for (const group of table.querySelectorAll('tbody')) group.remove();
  table.append(...[...list.querySelectorAll('tbody')].map((group) => document.importNode(group, true)));
  const count = fresh.getElementById('count');
  if (count) byId('count').replaceWith(document.importNode(count, true));
  for (const row of allRows()) checkboxOf(row).checked = selected.has(nameOf(row));
  for (const listener of listeners) listener(focusOn);
  const row = focusedName === undefined ? undefined : shownRows().find((candidate) => nameOf(candidate) === focusedName);
  if (row) focusRow(row);
  else if (focusedName !== undefined && document.activeElement === document.body) byId('members').focus();
}

/**
 * Writes all times as the reader says them, and says that rows are rows: some browsers forget it where a table is laid out as a grid.
 * The rows in sight come first.
 */
function finishRows(): void {
  const heading = document.querySelector<HTMLElement>('[data-local]');
  if (heading) heading.textContent = heading.dataset.local ?? '';
  inFrames(allRows(), finish);
}

function finish(row: Row): void {
  row.role = 'row';
  for (const cell of row.cells) {
    cell.role = 'cell';
    if (cell.dataset.time !== undefined) showDate(cell);
  }
}
