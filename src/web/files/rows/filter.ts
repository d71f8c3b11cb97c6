import { byId, iconButton, make, makeButton } from '../../shared/dom.ts';
import { inFrames } from '../frames.ts';
import { text } from '../language.ts';
import { allRows, areRowsComing, type Row, rowName, showOnly, whenRowsChange } from './rows.ts';
import { selectedRows, selectOnly } from './selection.ts';

const field = make('input.filter', {
  type: 'search',
  autocomplete: 'off',
  name: 'search',
  required: true,
});
const result = make('span.hint', { role: 'status' });
// This line is below the list, so that the list does not move when a filter begins.
const matches = make('div.matches', result);

/** The button that searches the folders below. It is beside the number of matches, or below a list without matches. */
const below = makeButton(text('searchBelow'), 'search', () => field.form?.requestSubmit());
const nothing = make('p.empty', { hidden: true }, text('noMatches'), make('br'), makeButton(text('clearFilter'), 'close', clear), below);

let frame = 0;
field.addEventListener('input', () => {
  cancelAnimationFrame(frame);
  const left = rowsLeft();
  frame = requestAnimationFrame(() => {
    // The first match would be out of sight above the window.
    const above = byId('list').getBoundingClientRect().top - byId('tools').offsetHeight;
    if (above < 0) scrollBy(0, above);
    show(left);
  });
});
field.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') clear();
});

export function filterText(): string {
  return field.isConnected ? field.value : '';
}

export function setFilter(value: string): void {
  // On a page of search results, the field starts searches and does not filter.
  if (!field.isConnected) return;
  field.value = value;
  if (value !== '') openSearch();
  apply();
}

export function focusFilter(): void {
  openSearch();
  const shown = byId('tools').querySelector<HTMLInputElement>('.search input');
  shown?.focus();
  shown?.select();
}

const accents = /\p{M}/gu;

/** Normalises a name for comparison, without accents and in lower case. */
export function normalised(name: string): string {
  return name.normalize('NFKD').replace(accents, '').toLocaleLowerCase();
}

const comparable = new WeakMap<Row, string>();

/** Returns the normalised name of a row's member. */
export function comparableName(row: Row): string {
  const name = comparable.get(row) ?? normalised(rowName(row));
  comparable.set(row, name);
  return name;
}

/** Normalised names of the rows. Most are computed in the frames before the first key is pressed, the rest when they are needed. */
let names: string[] = [];
let stopReading = () => {};

function readNames(): void {
  stopReading();
  names = [];
  stopReading = inFrames(allRows(), (row) => names.push(comparableName(row)));
}

function rowsLeft(): Row[] | undefined {
  const wanted = normalised(field.value.trim());
  // A search beyond this folder starts only with Enter.
  if (wanted === '' || field.form?.querySelector('select')?.value) return undefined;
  stopReading();
  const rows = allRows();
  for (let index = names.length; index < rows.length; index++) names.push(comparableName(rows[index] as Row));
  return rows.filter((_, index) => (names[index] as string).includes(wanted));
}

function apply(): void {
  cancelAnimationFrame(frame);
  show(rowsLeft());
}

/** Shows only these rows. The others are deselected, so that no hidden row can be deleted. */
function show(left: readonly Row[] | undefined): void {
  nothing.hidden = left === undefined || left.length > 0 || areRowsComing();
  byId('list').hidden = !nothing.hidden;
  byId('count').hidden = left !== undefined;
  const isCounted = left !== undefined && !areRowsComing();
  result.textContent = isCounted ? text('filtered', { count: left.length }) : '';
  (isCounted && left.length > 0 ? matches : nothing).append(below);
  showOnly(left);
  const selected = selectedRows();
  if (!left || selected.length === 0) return;
  const shown = new Set(left);
  selectOnly(selected.filter((row) => shown.has(row)));
}

function clear(): void {
  setFilter('');
  byId('tools').classList.remove('searching');
  byId('members').focus();
}

/** Opens the field on narrow screens, where it replaces the other tools. Wider screens always show it. */
function openSearch(): void {
  byId('tools').classList.add('searching');
}

/** Puts the text that the user is typing into the field, and focuses the field. */
export function continueFilter(value: string): void {
  setFilter(value);
  openSearch();
  field.focus();
}

/** Closes the field on narrow screens, and focuses the button that opens it. On wider screens, focuses the field. */
export function leaveFilter(): void {
  const tools = byId('tools');
  tools.classList.remove('searching');
  const opener = tools.querySelector<HTMLElement>('.search-opener');
  (opener?.checkVisibility() ? opener : field).focus();
}

/**
 * Adds a button that clears the field, and, for narrow screens, an icon that opens it.
 *
 * @param leave on a page of search results, shows the searched folder again. `isTyping`: whether the user has emptied the field
 */
export function startSearchField(leave?: (isTyping: boolean) => void): void {
  const tools = byId('tools');
  const form = tools.querySelector('.search');
  if (!form) return;
  const input = () => form.querySelector('input');
  const opener = iconButton(text('search'), 'search', () => {
    openSearch();
    input()?.focus();
  });
  opener.classList.add('search-opener');
  const closer = iconButton(text('clearSearch'), 'close', () => {
    if (leave) return leave(false);
    setFilter('');
    leaveFilter();
  });
  closer.title = text('clearSearch');
  closer.classList.add('search-closer');
  form.before(opener);
  input()?.after(closer);
  if (leave) {
    form.addEventListener('keydown', (event) => (event as KeyboardEvent).key === 'Escape' && leave(false));
    input()?.addEventListener('input', () => input()?.value === '' && leave(true));
  }
  form.addEventListener('focusout', (event) => {
    const { relatedTarget } = event as FocusEvent;
    if (input()?.value === '' && relatedTarget instanceof Node && !form.contains(relatedTarget)) tools.classList.remove('searching');
  });
}

/** Makes the search field also filter the current list. The filter is empty at first. */
export function startFilter(): void {
  const search = byId('tools').querySelector('.search');
  startSearchField();
  search?.querySelector('input')?.replaceWith(field);
  field.value = '';
  // In the trash, for example, there are no subfolders to search.
  below.hidden = field.form === null;
  field.placeholder = field.ariaLabel = text(field.form ? 'search' : 'filter');
  search?.querySelector('select')?.addEventListener('change', apply);
  byId('list').after(matches, nothing);
  whenRowsChange((wanted) => {
    if (wanted !== undefined && !normalised(wanted).includes(normalised(field.value.trim()))) field.value = '';
    readNames();
    apply();
  });
}
