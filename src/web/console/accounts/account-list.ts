import type { AccountPage, AccountView } from '../../../console/api/schemas/accounts.ts';
import { type Child, make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';
import { growingEnd } from '../more.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { actionButton, badge, panel, tell } from '../section.ts';
import { datum, numberText, timeElement } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';

/** Pauses, in milliseconds, before the list is requested again while the journal is still being read or files are still being counted. */
const againAfterMs = [1000, 2000, 4000, 8000, 15_000, 30_000];

/** Returns a badge for an account that cannot be used; nothing for any other account. */
export function accountState({ enabled, problem }: AccountView): HTMLElement | false {
  if (!enabled) return badge(text('state_disabled'), 'calm');
  return problem !== '' && badge(text('accountUnusable'), 'bad');
}

/** Shows how much of its quota an account uses. */
export function quotaText({ quota_bytes, used_bytes }: AccountView): Child {
  if (quota_bytes === null) return datum('');
  const total = sizeText(quota_bytes);
  if (used_bytes === null) return total;
  const words = text('running', { done: sizeText(used_bytes), total });
  return used_bytes >= quota_bytes ? badge(words, 'bad') : used_bytes >= quota_bytes * 0.9 ? badge(words, 'warn') : words;
}

/** Lists the services on which an account has sessions, with the number of sessions. */
export function sessionsText({ sessions }: AccountView): Child {
  if (sessions.length === 0) return datum('');
  return datum(sessions.map(({ service, count }) => `${service}: ${numberText(count)}`).join(', '));
}

const columns: readonly Column<AccountView>[] = [
  {
    title: text('account'),
    cell: (account) =>
      make('span.badges', make('a.row-link', { href: hashFor('accounts', account.name) }, datum(account.name)), accountState(account)),
  },
  { title: text('group'), cell: ({ group }) => datum(group) },
  { title: text('home'), cell: ({ home }) => datum(home, 'code'), className: 'roomy' },
  { title: text('quota'), cell: quotaText, className: 'number' },
  { title: text('lastLogin'), cell: ({ last_login }) => timeElement(last_login?.time), className: 'narrow' },
  { title: text('sessions_title'), cell: sessionsText },
];

/** Shows the accounts by name, page by page. @param wanted initial text of the search for names */
export function accountList(wanted: string, signal: AbortSignal): HTMLElement {
  const search = make('input', {
    type: 'search',
    value: wanted,
    ariaLabel: text('filterBy', { title: text('accounts') }),
    placeholder: text('account'),
    autocomplete: 'off',
    autocapitalize: 'none',
  });
  const table = makeTable<AccountView>(text('accounts'), text('accountsNone'), columns, ({ name }) => name);
  const told = make('p.hint', { role: 'status' });
  let next: string | null = null;
  let timer = 0;
  const page = (cursor?: string) =>
    ask<AccountPage>('GET', withQuery('/api/accounts', { search: search.value.trim(), cursor }), { signal });
  const tellOf = ({ total, logins_complete }: AccountPage) => {
    const words = [text('accountCount', { count: total }), ...(logins_complete ? [] : [text('loginsRead')])].join(' ');
    if (told.textContent !== words) told.textContent = words;
  };
  const end = growingEnd(async () => {
    const found = await page(next ?? undefined);
    const first = table.append(found.items);
    next = found.next;
    return { hasMore: next !== null, first };
  }, signal);
  /** Requests the shown accounts again, until the journal has been read and files have been counted. */
  const lookAgain = (found: AccountPage, attempt: number) => {
    const isCounting = found.items.some(({ quota_bytes, used_bytes, home }) => quota_bytes !== null && used_bytes === null && home !== '');
    const pauseMs = againAfterMs[attempt];
    if ((found.logins_complete && !isCounting) || pauseMs === undefined) return;
    timer = window.setTimeout(async () => {
      // More pages were loaded meanwhile, so the list is not replaced.
      if (table.size > found.items.length) return;
      const again = await page().catch(() => undefined);
      if (!again || signal.aborted || table.size > found.items.length) return;
      table.show(again.items);
      tellOf(again);
      lookAgain(again, attempt + 1);
    }, pauseMs);
  };
  const load = async () => {
    clearTimeout(timer);
    const query = { search: search.value.trim() };
    history.replaceState(null, '', hashFor('accounts', '', query.search === '' ? {} : query));
    const found = await page();
    table.show(found.items);
    next = found.next;
    tellOf(found);
    if (next === null) end.element.replaceChildren();
    else end.offer();
    lookAgain(found, 0);
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  const reload = actionButton(text('search'), 'search', load, 'compact');
  reload.type = 'submit';
  const form = make('form.row.search', search, reload);
  form.addEventListener('submit', (event) => event.preventDefault());
  void tell(load());
  return panel(text('accounts'), form, told, table.element, end.element);
}
