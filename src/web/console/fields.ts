import { make, makeButton } from '../shared/dom.ts';
import { notice } from '../shared/notices.ts';
import { spans } from './events/query.ts';
import { colon, text, translate } from './language.ts';
import { hashFor, type SectionName } from './route.ts';
import { actionButton } from './section.ts';
import { clear } from './shown.ts';
import type { Column } from './table.ts';

let made = 0;
/** Name of the list from which a value was chosen. The section is then shown again, and the list keeps the focus. */
let chosen = '';

export function field<E extends HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>(
  label: string,
  input: E,
  className = '',
): HTMLElement {
  input.id ||= `field-${++made}`;
  return make('div', { className: `field ${className}` }, make('label', { htmlFor: input.id }, label), input);
}

/**
 * Builds a button that copies a text, and then says so.
 * @param refused called if the browser does not let the page copy, which without https is always so; by default, a notice says so
 */
export function copyButton(label: string, content: () => string, done: string, className = '', refused?: () => void): HTMLButtonElement {
  const copy = async () => {
    await navigator.clipboard.writeText(content());
    notice(done);
  };
  return actionButton(label, 'copy', () => (refused ? copy().catch(refused) : copy()), className);
}

/** Says that a section shows only what one account has. A button shows the whole section. Without an account, it returns nothing. */
export function ofAccount(section: SectionName, query: URLSearchParams): HTMLElement[] {
  const account = query.get('account');
  if (account === null) return [];
  const remove = makeButton('', 'close', () => openSearch(section, changed(query, { account: undefined })), 'quiet');
  remove.ariaLabel = text('removeCondition', { condition: `account:${clear(account)}` });
  const shown = make('span', make('b', `${text('account')}${colon}`), make('bdi', clear(account)));
  return [make('p', make('span.chip', shown, remove))];
}

/** Builds a link to the results of a search. It is visible while it has the focus. */
export function skipTo(results: HTMLElement): HTMLElement {
  const link = make('a.skip', { href: location.hash }, text('skipToResults'));
  link.addEventListener('click', (event) => {
    event.preventDefault();
    results.tabIndex = -1;
    results.focus();
  });
  return link;
}

/** Builds a list of choices. The first one is selected. */
export function choice(name: string, values: readonly (readonly [value: string, label: string])[]): HTMLSelectElement {
  return make('select', { name }, ...values.map(([value, label]) => make('option', { value }, label)));
}

/** Opens a section with a query. If the section already shows this query, it is reloaded. */
export function openSearch(section: SectionName, query: URLSearchParams): void {
  const hash = hashFor(section, '', query);
  if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
  else location.hash = hash;
}

/** Returns a copy of a query with other values. An undefined value removes its name. */
export function changed(query: URLSearchParams, values: Record<string, string | undefined>): URLSearchParams {
  const next = new URLSearchParams(query);
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return next;
}

/** Builds the buttons for common time ranges, which are the parameter `last` of a query. @param open opens a page with the new query */
export function timePresets(query: URLSearchParams, open: (query: URLSearchParams) => void): HTMLElement {
  const isAll = !['last', 'since', 'until'].some((name) => query.has(name));
  const preset = (name: string | undefined) => {
    const label = translate('span', name ?? 'all');
    const button = makeButton(label, undefined, () => open(changed(query, { last: name, since: undefined, until: undefined })), 'small');
    button.ariaPressed = String(name === undefined ? isAll : query.get('last') === name);
    return button;
  };
  return make('div.presets', { role: 'group', ariaLabel: text('timeRange') }, ...[...Object.keys(spans), undefined].map(preset));
}

/** Shows below a field why its value is wrong; an empty text removes the message. */
export function tellUnder(input: HTMLInputElement, reason: string): void {
  const id = `${input.id}-problem`;
  let told = document.getElementById(id) ?? input.parentElement?.querySelector<HTMLElement>(`#${CSS.escape(id)}`);
  if (!told) {
    told = make('p.field-error', { id, role: 'alert' });
    input.after(told);
    input.setAttribute('aria-describedby', id);
  }
  told.textContent = reason;
  told.hidden = reason === '';
  input.ariaInvalid = String(reason !== '');
}

/**
 * Builds the search form of a section. On narrow screens it is folded at first. A choice from a list applies at once.
 *
 * @param query values of the fields by name. When the form is sent, the section opens with the new values
 * @param problemOf returns why the value of a field is wrong. The reason is shown below the field and prevents the search
 * @param above shown above the fields
 */
export function filterForm(
  section: SectionName,
  query: URLSearchParams,
  fields: readonly HTMLElement[],
  problemOf: (input: HTMLInputElement, form: HTMLFormElement) => string | undefined = () => undefined,
  ...above: HTMLElement[]
): HTMLElement {
  const search = (wanted: URLSearchParams) => openSearch(section, wanted);
  const clear = makeButton(text('clearFilter'), undefined, () => search(new URLSearchParams()), 'quiet');
  clear.hidden = query.size === 0;
  const submit = make('button.primary', text('search'));
  // The last field and the buttons come into a new line together.
  const form = make('form.filter', ...fields.slice(0, -1), make('div.ending', ...fields.slice(-1), make('div.row.buttons', submit)));
  above.at(-1)?.append(clear);
  for (const [name, value] of query) {
    const input = form.elements.namedItem(name);
    if (input instanceof HTMLSelectElement) input.value = value;
    else if (input instanceof HTMLInputElement) input.value = input.type === 'datetime-local' ? localTime(value) : value;
  }
  const check = () => {
    const inputs = [...form.elements].filter((input) => input instanceof HTMLInputElement);
    const problems = inputs.map((input) => [input, problemOf(input, form) ?? ''] as const);
    for (const [input, reason] of problems) if (reason !== '' || input.ariaInvalid === 'true') tellUnder(input, reason);
    submit.disabled = problems.some(([, reason]) => reason !== '');
    return !submit.disabled;
  };
  form.addEventListener('input', check);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    if (check()) search(filled(form));
  });
  form.addEventListener('change', ({ target }) => {
    if (!(target instanceof HTMLSelectElement) || !check()) return;
    chosen = target.name;
    search(filled(form));
  });
  check();
  const box = folded(query.size, ...above, form);
  const again = form.elements.namedItem(chosen);
  chosen = '';
  if (again instanceof HTMLSelectElement) {
    box.setAttribute('open', '');
    setTimeout(() => again.focus({ preventScroll: true }));
  }
  return box;
}

/** Builds a filter that is folded on narrow screens, where it would hide the results. @param count number of active filters */
export function folded(count: number, ...content: HTMLElement[]): HTMLElement {
  const summary = make('summary', count === 0 ? text('filters') : text('filtersInForce', { count }));
  return make('details.filter-box', { open: innerWidth > 700 }, summary, ...content);
}

/** Returns the values of a form by field name, without empty ones. Times are in UTC, as the API requires. */
function filled(form: HTMLFormElement): URLSearchParams {
  const query = new URLSearchParams();
  for (const input of form.elements) {
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement) || input.name === '' || input.value === '') continue;
    const value = input.type === 'datetime-local' ? new Date(input.value).toISOString() : input.value.trim();
    if (value !== '') query.set(input.name, value);
  }
  return query;
}

export function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}

/**
 * Builds a column of check boxes, and the check box `element`, which selects all shown rows. Put `element` into the panel of the table.
 *
 * @param keyOf returns the key that identifies an item
 * @param nameOf returns the accessible name of an item's check box
 * @param onChange called after each change of the selection
 */
export function selection<T>(keyOf: (item: T) => string, nameOf: (item: T) => string, onChange: () => void) {
  const chosen = new Set<string>();
  const all = make('input', { type: 'checkbox' });
  const choose = (key: string, isChosen: boolean) => void (isChosen ? chosen.add(key) : chosen.delete(key));
  const settle = () => {
    all.indeterminate = chosen.size > 0 && !all.checked;
    unchoose.hidden = chosen.size === 0;
    onChange();
  };
  const chooseAll = () => {
    for (const box of all.closest('.panel')?.querySelectorAll<HTMLInputElement>('td input[type="checkbox"]') ?? []) {
      box.checked = all.checked;
      choose(box.value, all.checked);
    }
    settle();
  };
  all.addEventListener('change', chooseAll);
  const unchooseAll = () => {
    all.checked = false;
    chooseAll();
    all.focus();
  };
  const unchoose = makeButton(text('clearFilter'), undefined, unchooseAll, 'quiet small');
  unchoose.ariaLabel = text('clearSelection');
  unchoose.hidden = true;
  const cell = (item: T) => {
    const box = make('input', { type: 'checkbox', value: keyOf(item), ariaLabel: nameOf(item) });
    if (all.checked) chosen.add(box.value);
    box.checked = chosen.has(box.value);
    box.addEventListener('change', () => {
      choose(box.value, box.checked);
      if (!box.checked) all.checked = false;
      settle();
    });
    return box;
  };
  const column: Column<T> = { title: text('select'), isTitleHidden: true, cell, className: 'narrow chooses' };
  return {
    column,
    element: make('label.tick', all, make('span', text('selectAll'))),
    /** The button that ends the selection. Put it behind the buttons for the chosen items. */
    unchoose,
    chosen,

    /** Removes items from the selection that are no longer in the list. Call this before the table shows the list. */
    keep(items: readonly T[]): void {
      const keys = new Set(items.map(keyOf));
      for (const key of chosen) if (!keys.has(key)) chosen.delete(key);
      all.checked = keys.size > 0 && keys.size === chosen.size;
      settle();
    },
  };
}
