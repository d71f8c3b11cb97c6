import { byId, make, makeButton } from './dom.ts';
import { text } from './language.ts';
import { checkboxOf, nameOf, type Row, whenRowsChange } from './rows.ts';
import { updateSelection } from './selection.ts';

const field = make('input', { type: 'search', className: 'filter', placeholder: text('filterHint'), autocomplete: 'off' });
field.setAttribute('aria-label', text('filterHint'));
const result = make('span', { className: 'hint' });
result.setAttribute('role', 'status');

const nothing = make(
  'p',
  { className: 'empty', hidden: true },
  text('noMatches'),
  make('br'),
  makeButton(text('clearFilter'), 'close', clear),
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

function normalised(name: string): string {
  return name.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase();
}

/** Names as they are compared. */
const comparable = new WeakMap<Row, string>();

function matches(row: Row, wanted: string): boolean {
  if (wanted === '') return true;
  let name = comparable.get(row);
  if (name === undefined) {
    name = normalised(nameOf(row));
    comparable.set(row, name);
  }
  return name.includes(wanted);
}

/** Hides the rows whose names lack the text. What is hidden is not selected any more: nothing unseen is deleted. */
function apply(): void {
  const wanted = normalised(field.value.trim());
  const list = byId('list');
  let count = 0;
  for (const group of list.querySelectorAll('tbody')) {
    let shown = 0;
    for (const row of group.rows) {
      row.hidden = !matches(row, wanted);
      if (row.hidden) checkboxOf(row).checked = false;
      else shown++;
    }
    // A group out of sight takes the room of its rows before they are laid out.
    group.hidden = shown === 0;
    group.style.setProperty('--rows', String(shown));
    count += shown;
  }
  list.classList.toggle('filtered', wanted !== '');
  nothing.hidden = wanted === '' || count > 0;
  list.hidden = !nothing.hidden;
  result.textContent = wanted === '' ? '' : text('filtered', { count });
  updateSelection();
}

function clear(): void {
  setFilter('');
  byId('members').focus();
}

/** Adds an empty filter to the tools. */
export function startFilter(): void {
  byId('tools').querySelector('.switch')?.before(field, result);
  field.value = '';
  byId('list').after(nothing);
  whenRowsChange((wanted) => {
    if (wanted !== undefined && !normalised(wanted).includes(normalised(field.value.trim()))) field.value = '';
    apply();
  });
}
