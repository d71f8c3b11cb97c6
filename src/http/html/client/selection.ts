import type { IconName } from '../pages/icons.ts';
import { byId, icon, make, makeButton } from './dom.ts';
import { text } from './language.ts';
import { allRows, checkboxOf, type Row, shownRows, whenRowsChange } from './rows.ts';

/** The selected rows. */
export function selectedRows(): Row[] {
  return [...document.querySelectorAll<HTMLInputElement>('#list tbody input:checked')].map((box) => box.closest('tr') as Row);
}

const counter = make('span', { className: 'chosen', attributes: { role: 'status' } });

/** Time in milliseconds after which screen readers know of an element: what it says from its beginning they do not read out. */
const knownAfterMs = 100;
const all = make('input', { type: 'checkbox', attributes: { 'aria-label': text('selectAll') } });
all.addEventListener('change', () => {
  for (const row of shownRows()) checkboxOf(row).checked = all.checked;
  updateSelection();
});
let lastTouched: Row | undefined;
let saying = 0;

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
  lastTouched = row;
  updateSelection();
}

export function clearSelection(): void {
  for (const row of allRows()) checkboxOf(row).checked = false;
  updateSelection();
}

/** Adds a button for the selected members. */
export function addAction(label: string, iconName: IconName, action: () => void, isForOne = false): void {
  const button = makeButton(label, iconName, action, 'compact');
  if (isForOne) forOne.push(button);
  byId('actions').insertBefore(button, byId('actions').querySelector('.danger, .trigger, .quiet'));
  updateSelection();
}

/** Starts the counter, the box that selects all, ranges with Shift, and the bar of actions. */
export function startSelection(): void {
  forOne = [];
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
    if (event.shiftKey && lastTouched?.isConnected) selectRange(lastTouched, row, box.checked);
    lastTouched = row;
    updateSelection();
  });
  whenRowsChange(updateSelection);
}

function selectRange(from: Row, to: Row, isChecked: boolean): void {
  const rows = shownRows();
  const [start = 0, end = 0] = [rows.indexOf(from), rows.indexOf(to)].sort((a, b) => a - b);
  for (const row of rows.slice(Math.max(0, start), end + 1)) checkboxOf(row).checked = isChecked;
}
