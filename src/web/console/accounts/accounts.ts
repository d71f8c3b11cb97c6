import { make, makeButton } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { hashFor } from '../route.ts';
import { actionButton, heading, problem, type Stage } from '../section.ts';
import { mayChange } from '../session.ts';
import { numberText } from '../shown.ts';
import { accountList } from './account-list.ts';
import { collectionPanel, collections, type SearchedPanel } from './collections.ts';
import { authTestPanel, explainPanel } from './questions.ts';

/** Shows the accounts with their sessions, bans, locks, uploads and trash, and explains the rights of an account. */
export function showAccounts({ main, route: { query }, signal }: Stage): void {
  const search = make('input', {
    type: 'search',
    value: query.get('search') ?? '',
    ariaLabel: text('search'),
    placeholder: text('accountSearch'),
    autocomplete: 'off',
    autocapitalize: 'none',
  });
  const find = async () => {
    const wanted = search.value.trim();
    history.replaceState(null, '', hashFor('accounts', '', wanted === '' ? {} : { search: wanted }));
    await load(wanted);
  };
  const submit = actionButton(text('search'), 'search', find, 'compact');
  submit.type = 'submit';
  const form = make('form.row.search', search, submit);
  form.addEventListener('submit', (event) => event.preventDefault());
  main.append(heading(text('accounts')));
  // Both panels use POST, which viewers must not send.
  if (mayChange()) main.append(make('div.pair', explainPanel(), authTestPanel()));
  main.append(form);
  const load = showPanels(main, [accountList(signal), ...collections.map((collection) => collectionPanel(collection, signal))], signal);
}

/** Shows panels below buttons that lead to them. @returns a function that loads all of them with a search */
export function showPanels(main: HTMLElement, panels: readonly SearchedPanel[], signal: AbortSignal): (search: string) => Promise<void> {
  const counts = panels.map(() => make('span.count'));
  const leads = panels.map(({ title, element }, index) => {
    const lead = makeButton(title, undefined, () => element.scrollIntoView(), 'small');
    lead.append(' ', counts[index] as HTMLElement);
    return lead;
  });
  main.append(make('div.presets.leads', { role: 'group', ariaLabel: text('sections') }, ...leads), ...panels.map(({ element }) => element));
  const load = async (search: string) => {
    const loads = panels.map(async ({ element, load: loadPanel }, index) => {
      element.querySelector('.notice')?.remove();
      try {
        (counts[index] as HTMLElement).textContent = numberText(await loadPanel(search));
      } catch (error) {
        if (!signal.aborted) element.append(problem(error));
      }
    });
    await Promise.all(loads);
  };
  void load(new URLSearchParams(location.hash.split('?')[1]).get('search') ?? '');
  return load;
}
