import { make, makeButton } from '../shared/dom.ts';
import { text } from './language.ts';
import { hashFor, type SectionName } from './route.ts';

let made = 0;

export function field<E extends HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement>(
  label: string,
  input: E,
  className = '',
): HTMLElement {
  input.id ||= `field-${++made}`;
  return make('div', { className: `field ${className}` }, make('label', { htmlFor: input.id }, label), input);
}

/** A choice of a few values, the first of which is chosen. */
export function choice(name: string, values: readonly (readonly [value: string, label: string])[]): HTMLSelectElement {
  return make('select', { name }, ...values.map(([value, label]) => make('option', { value }, label)));
}

/** The search form of a section. @param query values of its fields, by name; a search opens the section with the new query */
export function filterForm(section: SectionName, query: URLSearchParams, fields: readonly HTMLElement[]): HTMLFormElement {
  const search = (wanted: URLSearchParams) => {
    const hash = hashFor(section, '', wanted);
    if (location.hash === hash) dispatchEvent(new HashChangeEvent('hashchange'));
    else location.hash = hash;
  };
  const clear = makeButton(text('clearFilter'), undefined, () => search(new URLSearchParams()), 'quiet');
  const form = make('form.filter', ...fields, make('div.row.buttons', make('button.primary', text('search')), clear));
  for (const [name, value] of query) {
    const input = form.elements.namedItem(name);
    if (input instanceof HTMLSelectElement) input.value = value;
    else if (input instanceof HTMLInputElement) input.value = input.type === 'datetime-local' ? localTime(value) : value;
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    search(filled(form));
  });
  return form;
}

/** The values of a form by the names of its fields, without empty ones; times in UTC, as the API has them. */
function filled(form: HTMLFormElement): URLSearchParams {
  const query = new URLSearchParams();
  for (const input of form.elements) {
    if (!(input instanceof HTMLInputElement || input instanceof HTMLSelectElement) || input.name === '' || input.value === '') continue;
    const value = input.type === 'datetime-local' ? new Date(input.value).toISOString() : input.value.trim();
    if (value !== '') query.set(input.name, value);
  }
  return query;
}

function localTime(iso: string): string {
  const time = new Date(iso);
  if (Number.isNaN(time.getTime())) return '';
  const local = new Date(time.getTime() - time.getTimezoneOffset() * 60_000);
  return local.toISOString().slice(0, 19);
}
