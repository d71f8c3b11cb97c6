import { type Child, make } from '../shared/dom.ts';

let made = 0;

/** A field of a form with its label. */
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

/** A box to tick with its label. */
export function tick(label: Child, input: HTMLInputElement): HTMLElement {
  return make('label.tick', input, make('span', label));
}

/** Fills in the fields of a form, by their names. Times of the API become those of the reader's time zone. */
export function fill(form: HTMLFormElement, query: URLSearchParams): void {
  for (const [name, value] of query) {
    const input = form.elements.namedItem(name);
    if (input instanceof HTMLSelectElement) input.value = value;
    else if (input instanceof HTMLInputElement) input.value = input.type === 'datetime-local' ? localTime(value) : value;
  }
}

/** What a form has been filled with, by the names of its fields; times as the API has them, in UTC. Fields that are empty are left out. */
export function filled(form: HTMLFormElement): URLSearchParams {
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
