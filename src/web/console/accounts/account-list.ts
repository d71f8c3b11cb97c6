import type { AccountPage, AccountView } from '../../../console/api/schemas/accounts.ts';
import type { Overview } from '../../../console/api/schemas/overview.ts';
import { type Child, make } from '../../shared/dom.ts';
import { partTexts, sizeText } from '../../shared/locale.ts';
import de from '../../texts/accounts/de.json' with { type: 'json' };
import en from '../../texts/accounts/en.json' with { type: 'json' };
import es from '../../texts/accounts/es.json' with { type: 'json' };
import fr from '../../texts/accounts/fr.json' with { type: 'json' };
import { colon, text } from '../language.ts';
import { growingEnd } from '../more.ts';
import { ask, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { badge } from '../section.ts';
import { ageElement, clear, datum, noValue, numberText, pathEnd } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';

type AccountTextName = keyof typeof en;

/** Returns a text of the pages of accounts. */
export const accountText = partTexts<AccountTextName>({ en, de, es, fr });

/** Translates a name from the service, such as the kind of a link; returns the name itself if it has no translation. */
export function accountWord(prefix: string, name: string): string {
  const key = `${prefix}_${name.replaceAll('-', '_')}`;
  return Object.hasOwn(en, key) ? accountText(key as AccountTextName) : name;
}

const names = new Map<string, string>();
let asked: Promise<void> | undefined;

/** Shows the name of a service or an authentication method as soon as it is known, and its UUID as title. */
export function componentName(uuid: string): HTMLElement {
  const element = datum(uuid);
  const show = () => {
    const name = names.get(uuid);
    if (name && name !== uuid) Object.assign(element, { textContent: clear(name), title: clear(uuid) });
  };
  asked ??= ask<Overview>('GET', '/api/overview').then(
    ({ services, methods }) => {
      for (const each of [...services, ...methods]) names.set(each.uuid, each.name);
    },
    () => {
      asked = undefined;
    },
  );
  show();
  if (element.title === '') void asked.then(show);
  return element;
}

/** Shows the name of the group of an account, with its UUID as title. */
export function groupText({ group, group_name: name }: AccountView): HTMLElement {
  const shown = name || (group === 'DEFAULT_GROUP' && accountText('defaultGroup'));
  return shown ? Object.assign(datum(shown), { title: clear(group) }) : datum(group);
}

/** While the journal is being read or files are being counted, the list is requested again after these pauses, in milliseconds. */
const againAfterMs = [1000, 2000, 4000, 8000, 15_000, 30_000];

/** Returns a badge for an account that cannot be used; false for any other account. */
export function accountState({ enabled, problem }: AccountView): HTMLElement | false {
  if (!enabled) return badge(text('state_disabled'), 'calm');
  return problem !== '' && badge(accountText('accountUnusable'), 'bad');
}

/** Shows how much of its quota an account uses. */
export function quotaText({ quota_bytes, used_bytes }: AccountView): Child {
  if (quota_bytes === null) return noValue();
  const total = sizeText(quota_bytes);
  if (used_bytes === null) return total;
  const words = text('running', { done: sizeText(used_bytes), total });
  return used_bytes >= quota_bytes ? badge(words, 'bad') : used_bytes >= quota_bytes * 0.9 ? badge(words, 'warn') : words;
}

/** Lists the services on which an account has sessions, with the number of sessions. */
export function sessionsText({ sessions }: AccountView): Child {
  if (sessions.length === 0) return noValue();
  const parts = sessions.flatMap(({ service, count }) => [', ', componentName(service), `${colon}${numberText(count)}`]);
  return make('span', ...parts.slice(1));
}

const columns: readonly Column<AccountView>[] = [
  {
    title: text('account'),
    cell: (account) => {
      const name = Object.assign(datum(account.name), { title: clear(account.name) });
      return make('span.badges', make('a.row-link', { href: hashFor('accounts', account.name) }, name), accountState(account));
    },
    className: 'first one-line account-name',
  },
  { title: text('group'), cell: (account) => (account.group === '' ? noValue() : groupText(account)), className: 'third-line' },
  {
    title: accountText('home'),
    cell: ({ home }) => (home === '' ? noValue() : pathEnd(home)),
    className: 'roomy wide-only one-line home',
  },
  { title: accountText('quota'), cell: quotaText, className: 'number third-line' },
  {
    title: accountText('lastLogin'),
    cell: ({ last_login }) => (last_login ? ageElement(last_login.time) : noValue()),
    className: 'narrow third-line',
  },
  { title: accountText('sessions_title'), cell: sessionsText, className: 'third-line' },
];

/** A panel with a table; `load` shows the items that contain a text. */
export interface SearchedPanel {
  title: string;
  element: HTMLElement;
  /** @returns the number of items found @throws Refused */
  load: (search: string) => Promise<number>;
}

/** Shows the accounts, sorted by name, page by page. */
export function accountList(signal: AbortSignal): SearchedPanel {
  let search = '';
  const table = makeTable<AccountView>(text('accounts'), accountText('accountsNone'), columns, ({ name }) => name);
  table.element.classList.add('listed');
  const told = make('p.hint', { role: 'status' });
  let next: string | null = null;
  let timer = 0;
  const page = (cursor?: string) => ask<AccountPage>('GET', withQuery('/api/accounts', { search, cursor }), { signal });
  const showCount = ({ total, logins_complete }: AccountPage) => {
    const words = [accountText('accountCount', { count: total }), ...(logins_complete ? [] : [accountText('loginsRead')])].join(' ');
    if (told.textContent !== words) told.textContent = words;
  };
  const end = growingEnd(async () => {
    const wanted = search;
    const found = await page(next ?? undefined);
    if (wanted !== search) return { hasMore: next !== null, first: undefined };
    const first = table.append(found.items);
    next = found.next;
    return { hasMore: next !== null, first };
  }, signal);
  const lookAgain = (found: AccountPage, attempt: number) => {
    const isCounting = found.items.some(({ quota_bytes, used_bytes, home }) => quota_bytes !== null && used_bytes === null && home !== '');
    const pauseMs = againAfterMs[attempt];
    if ((found.logins_complete && !isCounting) || pauseMs === undefined) return;
    timer = window.setTimeout(async () => {
      // If more pages were loaded meanwhile, the first page must not replace them.
      if (table.size > found.items.length) return;
      const wanted = search;
      const again = await page().catch(() => undefined);
      if (!again || signal.aborted || wanted !== search || table.size > found.items.length) return;
      table.show(again.items);
      showCount(again);
      lookAgain(again, attempt + 1);
    }, pauseMs);
  };
  const load = async (wanted: string) => {
    clearTimeout(timer);
    search = wanted;
    const found = await page();
    // The reply to an earlier search can arrive later.
    if (wanted !== search) return found.total;
    table.show(found.items);
    next = found.next;
    showCount(found);
    if (next === null) end.element.replaceChildren();
    else end.offer();
    lookAgain(found, 0);
    return found.total;
  };
  signal.addEventListener('abort', () => clearTimeout(timer));
  return {
    title: text('accounts'),
    element: make('section.panel', make('div.heading', make('h2', text('accounts')), told), table.element, end.element),
    load,
  };
}
