import { byId, make, makeButton } from './dom.ts';
import { inFrames } from './frames.ts';
import { text } from './language.ts';
import { allRows, checkboxOf, nameOf, type Row, showOnly, whenRowsChange } from './rows.ts';
import { selectedRows, updateSelection } from './selection.ts';

const field = make('input', {
  type: 'search',
  className: 'filter',
  placeholder: text('filterHint'),
  autocomplete: 'off',
  name: 'search',
  required: true,
});
field.setAttribute('aria-label', text('filterHint'));
const result = make('span', { className: 'hint' });
result.setAttribute('role', 'status');

const nothing = make(
  'p',
  { className: 'empty', hidden: true },
  text('noMatches'),
  make('br'),
  makeButton(text('clearFilter'), 'close', clear),
  makeButton(text('searchBelow'), 'search', () => field.form?.requestSubmit()),
);

let frame = 0;
field.addEventListener('input', () => {
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(apply);
});
field.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') clear();
});

/** What is in the filter. */
export function filterText(): string {
  return field.isConnected ? field.value : '';
}

/** Fills in the filter. */
export function setFilter(value: string): void {
  field.value = value;
  apply();
}

/** Puts the cursor into the filter. */
export function focusFilter(): void {
  field.focus();
  field.select();
}

/** A name as names are compared: without accents and capitals. */
export function normalised(name: string): string {
  return name.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase();
}

const comparable = new WeakMap<Row, string>();

/** The name of a row's member as names are compared. */
export function comparableName(row: Row): string {
  let name = comparable.get(row);
  if (name === undefined) {
    name = normalised(nameOf(row));
    comparable.set(row, name);
  }
  return name;
}

let stopHiding = () => {};
let stopReading = () => {};

/**
 * Hides the rows whose names lack the text: whole groups at once, single rows as there is time. What is hidden is not selected any more:
 * nothing unseen is deleted.
 */
function apply(): void {
  stopHiding();
  const wanted = normalised(field.value.trim());
  const matches = (row: Row) => wanted === '' || comparableName(row).includes(wanted);
  const list = byId('list') as HTMLTableElement;
  const left: Row[] = [];
  const shownGroups: HTMLTableSectionElement[] = [];
  for (const group of list.tBodies) {
    const before = left.length;
    for (const row of group.rows) if (matches(row)) left.push(row);
    const count = left.length - before;
    // A group out of sight takes the room of its rows before they are laid out.
    group.hidden = count === 0;
    group.style.setProperty('--rows', String(count));
    if (count > 0) shownGroups.push(group);
  }
  showOnly(wanted === '' ? undefined : left);
  for (const row of selectedRows()) checkboxOf(row).checked = matches(row);
  stopHiding = inFrames(shownGroups, (group) => {
    for (const row of group.rows) row.hidden = !matches(row);
  });
  list.classList.toggle('filtered', wanted !== '');
  nothing.hidden = wanted === '' || left.length > 0;
  list.hidden = !nothing.hidden;
  result.textContent = wanted === '' ? '' : text('filtered', { count: left.length });
  updateSelection();
}

function clear(): void {
  setFilter('');
  byId('members').focus();
}

/** The field to search below the folder becomes an empty filter of its list, too. */
export function startFilter(): void {
  const search = byId('tools').querySelector('.search');
  search?.querySelector('input')?.replaceWith(field);
  search?.after(result);
  field.value = '';
  byId('list').after(nothing);
  whenRowsChange((wanted) => {
    if (wanted !== undefined && !normalised(wanted).includes(normalised(field.value.trim()))) field.value = '';
    apply();
    // Before the first key is pressed all names are read.
    stopReading();
    stopReading = inFrames(allRows(), comparableName);
  });
}
