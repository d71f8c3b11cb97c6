import type { IconName } from '../../../lib/icon-shapes.ts';
import { byId, iconButton, make, makeButton } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { placedRows } from './row-window.ts';
import {
  allRows,
  areRowsComing,
  focusedRow,
  focusRow,
  isThere,
  type Row,
  rowAt,
  rowCheckbox,
  rowLink,
  rowName,
  shownRows,
  whenRowIsPlaced,
  whenRowsChange,
} from './rows.ts';

/**
 * A click anywhere in a row counts as one on its link, near the box as one on the box, with the same modifier keys; with Shift it selects
 * up to the row.
 */
export function startRowClicks(): void {
  byId('list').addEventListener('click', (event) => {
    const { target } = event;
    if (!(target instanceof Element) || target.closest('input, button')) return;
    const row = rowAt(target);
    if (!row) return;
    if (event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      // The press may have selected text.
      getSelection()?.empty();
      // From the row that was selected last, or has the focus.
      return extendSelection((isThere(end) ? end : focusedRow()) ?? row, row);
    }
    if (target.closest('a')) return;
    const isBox = target.closest('td') === row.cells[0];
    // The end of marking a text is no press.
    if (!isBox && getSelection()?.isCollapsed === false) return;
    const meant = isBox ? rowCheckbox(row) : rowLink(row);
    const { ctrlKey, metaKey, shiftKey, altKey } = event;
    meant.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey, altKey }));
  });
}

/** Selected rows, also those outside of the document. */
let selected = new Set<Row>();

/** Whether rows that are still to load are selected, too. */
let areAllMeant = false;

/** The rows as they were when the selection was made. */
let known: readonly Row[] = [];

/** The selected rows, in the order of the page. */
export function selectedRows(): Row[] {
  return selected.size === 0 ? [] : allRows().filter(isSelected);
}

export function isSelected(row: Row): boolean {
  return selected.has(row);
}

function setSelected(rows: Iterable<Row>): void {
  selected = new Set(rows);
  placedRows().forEach(tick);
}

/** Shows in a row whether it is selected. */
function tick(row: Row): void {
  rowCheckbox(row).checked = selected.has(row);
  row.classList.toggle('selected', selected.has(row));
}

/** The rows that an action is about: the selected ones, or else the one that has the focus. */
export function rowsMeant(): Row[] {
  const selected = selectedRows();
  const row = focusedRow();
  return selected.length > 0 || !row ? selected : [row];
}

const counter = make('span.chosen', { role: 'status' });

/** Time in milliseconds after which screen readers know an element; they do not announce its initial text. */
const knownAfterMs = 100;
const all = make('input', { type: 'checkbox', ariaLabel: text('selectAll') });
all.addEventListener('change', () => (all.checked ? selectAll() : clearSelection()));
let saying = 0;

/** Start of a range, and its present end: the row that was selected last. */
let anchor: Row | undefined;
let end: Row | undefined;

export interface MemberAction {
  label: string;
  icon: IconName;
  run: (rows: readonly Row[]) => void;
  /** Whether it only makes sense for exactly one. */
  isForOne: boolean;
}

let actions: MemberAction[] = [];

/** The actions from `addAction` for `count` members. */
export function actionsFor(count: number): MemberAction[] {
  return actions.filter(({ isForOne }) => count === 1 || !isForOne);
}

let forOne: HTMLButtonElement[] = [];

/** Shows the actions while something is selected, and how much. */
export function updateSelection(): void {
  const count = selected.size;
  const bar = document.getElementById('actions');
  // Results of a search have none.
  if (!bar) return;
  const isNew = bar.hidden;
  bar.hidden = count === 0;
  clearTimeout(saying);
  if (isNew) counter.textContent = '';
  saying = window.setTimeout(
    () => {
      counter.replaceChildren();
      // Narrow screens show the number alone.
      if (count > 0)
        counter.append(make('span.short', { ariaHidden: 'true' }, String(count)), make('span.wide', text('selected', { count })));
    },
    isNew ? knownAfterMs : 0,
  );
  // Hidden rows are never selected.
  all.checked = count > 0 && count === shownRows().length;
  all.indeterminate = count > 0 && !all.checked;
  for (const button of forOne) button.hidden = count !== 1;
}

export function toggleRow(row: Row): void {
  select([row], !isSelected(row));
  anchor = end = row;
  updateSelection();
}

/** Adds rows to the selection, or removes them from it. */
function select(rows: readonly Row[], areSelected: boolean): void {
  const wanted = new Set(selected);
  for (const row of rows) {
    if (areSelected) wanted.add(row);
    else wanted.delete(row);
  }
  setSelected(wanted);
}

/** Selects all rows that the filter does not hide. */
export function selectAll(): void {
  select(shownRows(), true);
  areAllMeant = areRowsComing();
  updateSelection();
}

export function selectOnly(rows: readonly Row[]): void {
  areAllMeant = false;
  setSelected(rows);
  updateSelection();
}

/** Extends the range that ends at one row to another one, which receives the focus; where none ends there, it begins there. */
export function extendSelection(from: Row, to: Row): void {
  if (end === from && isThere(anchor)) selectRange(anchor, end, false);
  else anchor = from;
  selectRange(anchor, to, true);
  end = to;
  focusRow(to);
  updateSelection();
}

export function deselect(names: readonly string[]): void {
  const gone = new Set(names);
  setSelected(selectedRows().filter((row) => !gone.has(rowName(row))));
  updateSelection();
}

export function clearSelection(): void {
  anchor = end = undefined;
  selectOnly([]);
}

/** Offers an action: with a button for the selected members, and in the menu of each row. */
export function addAction(action: MemberAction): void {
  actions.push(action);
  const button = makeButton(action.label, action.icon, () => action.run(selectedRows()), `compact to-${action.icon}`);
  if (action.isForOne) forOne.push(button);
  byId('actions').insertBefore(button, byId('actions').querySelector('.danger, .trigger, .quiet'));
  updateSelection();
}

/** Starts the counter, the box that selects all, ranges with Shift, and the bar of actions. */
export function startSelection(): void {
  forOne = [];
  actions = [];
  anchor = end = undefined;
  areAllMeant = false;
  byId('actions').prepend(counter);
  const clear = iconButton(text('clearSelection'), 'close', () => {
    clearSelection();
    byId('members').focus();
  });
  clear.title = text('clearSelection');
  clear.classList.add('clear');
  byId('actions').append(clear);
  document.querySelector('#list th.check')?.replaceChildren(all);
  byId('list').addEventListener('click', (event) => {
    const box = event.target;
    if (!(box instanceof HTMLInputElement) || box === all) return;
    const row = box.closest('tr') as Row;
    select([row], box.checked);
    if (event.shiftKey && isThere(end)) selectRange(end, row, box.checked);
    anchor = end = row;
    updateSelection();
  });
  const form = byId('members');
  form.addEventListener('formdata', ({ formData }) => {
    formData.delete('selected-members');
    for (const row of selectedRows()) formData.append('selected-members', rowName(row));
  });
  // On a reload the browser may restore the boxes.
  selected = new Set(allRows().filter((row) => rowCheckbox(row).checked));
  whenRowIsPlaced(tick);
  whenRowsChange(keepNames);
}

/** Selects rows with the names of the earlier selection, and new ones if all were selected. */
function keepNames(): void {
  const names = new Set([...selected].map(rowName));
  const before = areAllMeant ? new Set(known.map(rowName)) : undefined;
  const isMeant = (name: string) => names.has(name) || before?.has(name) === false;
  if (names.size > 0 || before) setSelected(allRows().filter((row) => isMeant(rowName(row))));
  areAllMeant = false;
  known = allRows();
  updateSelection();
}

function selectRange(from: Row, to: Row, isChecked: boolean): void {
  const rows = shownRows();
  const [start = 0, end = 0] = [rows.indexOf(from), rows.indexOf(to)].sort((a, b) => a - b);
  select(rows.slice(Math.max(0, start), end + 1), isChecked);
}
