import { byId, make } from './dom.ts';
import { text } from './language.ts';
import { allRows, checkboxOf, nameOf, whenRowsChange } from './rows.ts';
import { updateSelection } from './selection.ts';

const field = make('input', { type: 'search', className: 'filter', placeholder: text('filterHint'), autocomplete: 'off' });
field.setAttribute('aria-label', text('filterHint'));
const result = make('span', { className: 'hint' });
result.setAttribute('role', 'status');

/** Puts the cursor into the filter. */
export function focusFilter(): void {
  field.focus();
  field.select();
}

function normalised(name: string): string {
  return name.normalize('NFKD').replace(/\p{M}/gu, '').toLocaleLowerCase();
}

/** Hides the rows whose names lack the text. What is hidden is not selected any more: nothing unseen is deleted. */
function apply(): void {
  const wanted = normalised(field.value.trim());
  let count = 0;
  for (const row of allRows()) {
    row.hidden = wanted !== '' && !normalised(nameOf(row)).includes(wanted);
    if (row.hidden) checkboxOf(row).checked = false;
    else count++;
  }
  result.textContent = wanted === '' ? '' : text('filtered', { count });
  updateSelection();
}

/** Adds the filter to the tools. */
export function startFilter(): void {
  byId('tools').querySelector('.switch')?.before(field, result);
  let frame = 0;
  field.addEventListener('input', () => {
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(apply);
  });
  field.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return;
    field.value = '';
    apply();
    byId('members').focus();
  });
  whenRowsChange(apply);
}
