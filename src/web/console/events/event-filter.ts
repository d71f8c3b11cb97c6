import { make, makeButton } from '../../shared/dom.ts';
import { field, fill, filled } from '../fields.ts';
import { text } from '../language.ts';

/** The form by which events are searched for. @param onSearch gets what was filled in */
export function eventFilter(query: URLSearchParams, onSearch: (query: URLSearchParams) => void): HTMLElement {
  const input = (name: string, type = 'text', more: Record<string, string> = {}) =>
    make('input', { name, type, attributes: { autocomplete: 'off', autocapitalize: 'none', spellcheck: 'false', ...more } });
  const form = make(
    'form',
    { className: 'filter' },
    field(text('text'), input('text', 'search'), 'wide'),
    field(text('account'), input('account')),
    field(text('path'), input('path')),
    field(text('eventId'), input('id', 'text', { inputmode: 'numeric' })),
    field(text('group'), input('group', 'text', { list: 'event-groups' })),
    field(text('address'), input('address')),
    field(text('requestId'), input('request_id')),
    field(text('since'), input('since', 'datetime-local', { step: '1' })),
    field(text('until'), input('until', 'datetime-local', { step: '1' })),
    make(
      'div',
      { className: 'row buttons' },
      make('button', { className: 'primary' }, text('search')),
      makeButton(text('clearFilter'), undefined, () => onSearch(new URLSearchParams()), 'quiet'),
    ),
  );
  fill(form, query);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    onSearch(filled(form));
  });
  const count = [...query.keys()].length;
  const summary = make('summary', {}, count === 0 ? text('searchEvents') : text('searchEventsBy', { count }));
  // On a narrow screen the form would push what was found out of sight.
  return make('details', { className: 'filter-box', open: count > 0 || innerWidth > 900 }, summary, form);
}
