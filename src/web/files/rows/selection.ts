import type { IconName } from '../../../lib/icon-shapes.ts';
import { byId, iconButton, make, makeButton } from '../../shared/dom.ts';
import { formatTag } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { placedRows } from './row-window.ts';
import {
  allRows,
  areRowsComing,
  focusedRow,
  focusRow,
  isFolder,
  isThere,
  type Member,
  memberKey,
  type Row,
  rowAt,
  rowCheckbox,
  rowKey,
  rowLink,
  rowMember,
  shownRows,
  whenRowIsPlaced,
  whenRowsChange,
} from './rows.ts';

/**
 * Handles clicks anywhere in a row like clicks on its link, and clicks near the checkbox like clicks on the checkbox. Modifier keys keep
 * their meaning. With Shift, all rows up to the clicked one are selected.
 */
export function startRowClicks(): void {
  byId('list').addEventListener('click', (event) => {
    const { target } = event;
    if (!(target instanceof Element) || target.closest('input, button')) return;
    const row = rowAt(target);
    if (!row) return;
    if (event.shiftKey && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      getSelection()?.empty();
      return extendSelection((isThere(end) ? end : focusedRow()) ?? row, row);
    }
    if (target.closest('a')) return;
    const isBox = target.closest('td') === row.cells[0];
    // A click that ends a text selection is not meant for the row.
    if (!isBox && getSelection()?.isCollapsed === false) return;
    const meant = isBox ? rowCheckbox(row) : rowLink(row);
    const { ctrlKey, metaKey, shiftKey, altKey } = event;
    meant.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey, altKey }));
  });
}

let selected = new Set<Row>();

/** Whether the selection includes rows that are not loaded yet. */
let areAllMeant = false;

let known: readonly Row[] = [];

/** Returns the selected rows in the order of the page. */
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

function tick(row: Row): void {
  rowCheckbox(row).checked = selected.has(row);
  row.classList.toggle('selected', selected.has(row));
}

/** Returns the rows to which an action applies: the selected rows, or the focused row if none are selected. */
export function rowsMeant(): Row[] {
  const selected = selectedRows();
  const row = focusedRow();
  return selected.length > 0 || !row ? selected : [row];
}

const counter = make('span.chosen', { role: 'status' });

/** Time in milliseconds before a new element gets its text. Screen readers announce text that is added later, but not initial text. */
const knownAfterMs = 100;
const all = make('input', { type: 'checkbox', ariaLabel: text('selectAll') });
all.addEventListener('change', () => (all.checked ? selectAll() : clearSelection()));
let saying = 0;

/** The start and the current end of a range. The end is the row that was selected last. */
let anchor: Row | undefined;
let end: Row | undefined;

export interface MemberAction {
  label: string;
  icon: IconName;
  run: (rows: readonly Row[]) => void;
  isForOne: boolean;
}

let actions: MemberAction[] = [];

/** Returns the actions of `addAction` that are possible for `count` members. */
export function actionsFor(count: number): MemberAction[] {
  return actions.filter(({ isForOne }) => count === 1 || !isForOne);
}

let forOne: HTMLButtonElement[] = [];

/** Shows the action bar with the number of selected rows while at least one row is selected. */
export function updateSelection(): void {
  const count = selected.size;
  const bar = document.getElementById('actions');
  // A page without a list has no action bar.
  if (!bar) return;
  const isNew = bar.hidden;
  bar.hidden = count === 0;
  clearTimeout(saying);
  if (isNew) counter.textContent = '';
  saying = window.setTimeout(
    () => {
      counter.replaceChildren();
      if (count > 0)
        counter.append(
          make('span.short', { ariaHidden: 'true' }, count.toLocaleString(formatTag)),
          make('span.wide', text('selected', { count })),
        );
    },
    isNew ? knownAfterMs : 0,
  );
  // Rows that the filter hides are never selected, so the two numbers can be compared.
  all.checked = count > 0 && count === shownRows().length;
  all.indeterminate = count > 0 && !all.checked;
  for (const button of [...forOne, ...bar.querySelectorAll<HTMLElement>('[data-one]')]) button.hidden = count !== 1;
  const archive = bar.querySelector<HTMLElement>('[value=download-members]');
  if (!archive) return;
  archive.hidden = !areInOneFolder([...selected]);
  archive.dataset.many ??= archive.title;
  archive.title = onlyFile([...selected]) ? text('download') : archive.dataset.many;
  archive.querySelector('.wide')?.replaceChildren(archive.title);
}

/** Returns the file if the rows are a single file. A single file is downloaded as it is, and any other selection as an archive. */
export function onlyFile([row, ...others]: readonly Row[]): Member | undefined {
  return row && others.length === 0 && !isFolder(row) ? rowMember(row) : undefined;
}

/** Returns whether rows are in one folder, so that one archive can contain them. Search results can be in several folders. */
export function areInOneFolder(rows: readonly Row[]): boolean {
  const [first] = rows;
  return !first || rows.every((row) => rowMember(row).folder === rowMember(first).folder);
}

export function toggleRow(row: Row): void {
  select([row], !isSelected(row));
  anchor = end = row;
  updateSelection();
}

function select(rows: readonly Row[], areSelected: boolean): void {
  const wanted = new Set(selected);
  for (const row of rows) {
    if (areSelected) wanted.add(row);
    else wanted.delete(row);
  }
  setSelected(wanted);
}

/** Selects all rows that are not hidden by the filter. */
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

/** Moves the end of the selected range from `from` to `to`, and focuses `to`. If no range ends at `from`, a new range begins there. */
export function extendSelection(from: Row, to: Row): void {
  if (end === from && isThere(anchor)) selectRange(anchor, end, false);
  else anchor = from;
  selectRange(anchor, to, true);
  end = to;
  focusRow(to);
  updateSelection();
}

export function deselect(members: readonly Pick<Member, 'folder' | 'name'>[]): void {
  const gone = new Set(members.map(memberKey));
  setSelected(selectedRows().filter((row) => !gone.has(rowKey(row))));
  updateSelection();
}

export function clearSelection(): void {
  anchor = end = undefined;
  selectOnly([]);
}

/**
 * Adds an action. It becomes a button for the selected members, and an item in the menu of each row.
 *
 * @param before icon of the action before which the new action is inserted. If no action has this icon, the new action is added at the end
 */
export function addAction(action: MemberAction, before?: IconName): void {
  const at = actions.findIndex((other) => other.icon === before);
  actions.splice(at < 0 ? actions.length : at, 0, action);
  const button = makeButton(action.label, action.icon, () => action.run(selectedRows()), `compact to-${action.icon}`);
  if (action.isForOne) forOne.push(button);
  byId('actions').insertBefore(button, byId('actions').querySelector(at < 0 ? '.danger, .trigger, .quiet' : `.to-${before}`));
  updateSelection();
}

/** Adds the counter, the checkbox that selects all rows, selection of ranges with Shift, and the action bar. */
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
    for (const row of selectedRows()) formData.delete(rowCheckbox(row).name);
    for (const row of selectedRows()) formData.append(rowCheckbox(row).name, rowCheckbox(row).value);
  });
  // The user has perhaps ticked boxes before the script ran.
  selected = new Set(allRows().filter((row) => rowCheckbox(row).checked));
  whenRowIsPlaced(tick);
  whenRowsChange(keepNames);
}

/**
 * After the rows were replaced, selects those whose names were selected before. If all rows were selected, added rows are selected, too.
 */
function keepNames(): void {
  const keys = new Set([...selected].map(rowKey));
  const before = areAllMeant ? new Set(known.map(rowKey)) : undefined;
  const isMeant = (key: string) => keys.has(key) || before?.has(key) === false;
  if (keys.size > 0 || before) setSelected(allRows().filter((row) => isMeant(rowKey(row))));
  areAllMeant = false;
  known = allRows();
  updateSelection();
}

function selectRange(from: Row, to: Row, isChecked: boolean): void {
  const rows = shownRows();
  const [start = 0, end = 0] = [rows.indexOf(from), rows.indexOf(to)].sort((a, b) => a - b);
  select(rows.slice(Math.max(0, start), end + 1), isChecked);
}
