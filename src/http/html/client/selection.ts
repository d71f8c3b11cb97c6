import type { IconName } from '../pages/icons.ts';
import { byId, icon, make, makeButton } from './dom.ts';
import { text } from './language.ts';
import { allRows, checkboxOf, focusedRow, focusRow, type Row, shownRows, whenRowsChange } from './rows.ts';

/** The selected rows. */
export function selectedRows(): Row[] {
  return [...document.querySelectorAll<HTMLInputElement>('#list tbody input:checked')].map((box) => box.closest('tr') as Row);
}

/** The rows that an action is about: the selected ones, or else the one that has the focus. */
export function rowsMeant(): Row[] {
  const selected = selectedRows();
  const row = focusedRow();
  return selected.length > 0 || !row ? selected : [row];
}

const counter = make('span', { className: 'chosen', attributes: { role: 'status' } });

/** Time in milliseconds after which screen readers know of an element: what it says from its beginning they do not read out. */
const knownAfterMs = 100;
const all = make('input', { type: 'checkbox', attributes: { 'aria-label': text('selectAll') } });
all.addEventListener('change', () => (all.checked ? selectAll() : clearSelection()));
let saying = 0;

/** Where a range begins, and where it ends at present: the row that was selected last. */
let anchor: Row | undefined;
let end: Row | undefined;

/** Something that can be done with members. */
export interface MemberAction {
  label: string;
  icon: IconName;
  run: (rows: readonly Row[]) => void;
  /** Whether it only makes sense for exactly one. */
  isForOne: boolean;
}

let actions: MemberAction[] = [];

/** What was offered by `addAction`, for so many members. */
export function actionsFor(count: number): MemberAction[] {
  return actions.filter(({ isForOne }) => count === 1 || !isForOne);
}

/** Buttons that only make sense for exactly one member. */
let forOne: HTMLButtonElement[] = [];

/** Shows the actions while something is selected, and how much. */
export function updateSelection(): void {
  const count = selectedRows().length;
  const isNew = byId('actions').hidden;
  byId('actions').hidden = count === 0;
  clearTimeout(saying);
  if (isNew) counter.textContent = '';
  saying = window.setTimeout(
    () => {
      counter.textContent = text('selected', { count });
    },
    isNew ? knownAfterMs : 0,
  );
  // What is hidden is never selected.
  all.checked = count > 0 && count === shownRows().length;
  all.indeterminate = count > 0 && !all.checked;
  for (const button of forOne) button.hidden = count !== 1;
}

/** Selects a row or takes it out of the selection. */
export function toggleRow(row: Row): void {
  checkboxOf(row).checked = !checkboxOf(row).checked;
  anchor = end = row;
  updateSelection();
}

/** Selects all rows that the filter does not hide. */
export function selectAll(): void {
  for (const row of shownRows()) checkboxOf(row).checked = true;
  updateSelection();
}

/** Selects these rows alone. */
export function selectOnly(rows: readonly Row[]): void {
  for (const row of allRows()) checkboxOf(row).checked = rows.includes(row);
  updateSelection();
}

/** Extends the range that ends at one row to another one, which receives the focus; where none ends there, it begins there. */
export function extendSelection(from: Row, to: Row): void {
  if (end === from && anchor?.isConnected) selectRange(anchor, end, false);
  else anchor = from;
  selectRange(anchor, to, true);
  end = to;
  focusRow(to);
  updateSelection();
}

/** Selects from the row that was selected last, or has the focus, to this one. */
export function selectUpTo(row: Row): void {
  extendSelection((end?.isConnected ? end : focusedRow()) ?? row, row);
}

export function clearSelection(): void {
  anchor = end = undefined;
  for (const row of allRows()) checkboxOf(row).checked = false;
  updateSelection();
}

/** Offers an action: with a button for the selected members, and in the menu of each row. */
export function addAction(action: MemberAction): void {
  actions.push(action);
  const button = makeButton(action.label, action.icon, () => action.run(selectedRows()), 'compact');
  if (action.isForOne) forOne.push(button);
  byId('actions').insertBefore(button, byId('actions').querySelector('.danger, .trigger, .quiet'));
  updateSelection();
}

/** Starts the counter, the box that selects all, ranges with Shift, and the bar of actions. */
export function startSelection(): void {
  forOne = [];
  actions = [];
  anchor = end = undefined;
  byId('actions').prepend(counter);
  const clear = make('button', { type: 'button', className: 'quiet', title: text('clearSelection') }, icon('close'));
  clear.setAttribute('aria-label', text('clearSelection'));
  clear.addEventListener('click', () => {
    clearSelection();
    byId('members').focus();
  });
  byId('actions').append(clear);
  document.querySelector('#list th.check')?.replaceChildren(all);
  byId('list').addEventListener('click', (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || box === all) return;
    const row = box.closest('tr') as Row;
    if (event.shiftKey && end?.isConnected) selectRange(end, row, box.checked);
    anchor = end = row;
    updateSelection();
  });
  whenRowsChange(updateSelection);
}

function selectRange(from: Row, to: Row, isChecked: boolean): void {
  const rows = shownRows();
  const [start = 0, end = 0] = [rows.indexOf(from), rows.indexOf(to)].sort((a, b) => a - b);
  for (const row of rows.slice(Math.max(0, start), end + 1)) checkboxOf(row).checked = isChecked;
}
