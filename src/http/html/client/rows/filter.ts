import { byId, make, makeButton } from '../dom.ts';
import { inFrames } from '../frames.ts';
import { text } from '../language.ts';
import { allRows, areRowsComing, nameOf, type Row, showOnly, whenRowsChange } from './rows.ts';
import { selectedRows, selectOnly } from './selection.ts';

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

let stopReading = () => {};

/** Shows only the rows whose names have the text. What is not shown is not selected any more: nothing unseen is deleted. */
function apply(): void {
  const wanted = normalised(field.value.trim());
  const matches = (row: Row) => comparableName(row).includes(wanted);
  const left = wanted === '' ? undefined : allRows().filter(matches);
  // What is still to come may have it.
  nothing.hidden = left === undefined || left.length > 0 || areRowsComing();
  byId('list').hidden = !nothing.hidden;
  result.textContent = left && !areRowsComing() ? text('filtered', { count: left.length }) : '';
  showOnly(left);
  if (left) selectOnly(selectedRows().filter(matches));
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
