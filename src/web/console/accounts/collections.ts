import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { confirm } from '../confirm.ts';
import { field } from '../fields.ts';
import { text } from '../language.ts';
import { growingEnd } from '../more.ts';
import { ask, reasonText, withQuery } from '../request.ts';
import { hashFor } from '../route.ts';
import { actionButton, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import { ageElement, clear, datum, noValue, numberText, pathDatum, timeElement } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';
import { accountText, accountWord, componentName, type SearchedPanel } from './account-list.ts';
import { deviceName } from './device.ts';

/** A session, ban, lock, unfinished upload, token, link or deleted file, as the API shows it. */
type Item = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>> & { id: string };

interface Restored {
  path?: string;
  error?: string;
  code?: string;
}

/** Returns a path with a number in its name, such as `/in/orders (2).csv`. */
function numbered(path: string, isFolder: boolean): string {
  const dot = isFolder ? -1 : path.lastIndexOf('.');
  const end = dot > path.lastIndexOf('/') + 1 ? dot : path.length;
  return `${path.slice(0, end)} (2)${path.slice(end)}`;
}

interface Collection {
  name: 'sessions' | 'bans' | 'locks' | 'uploads' | 'trash' | 'tokens' | 'links';
  columns: readonly Column<Item>[];
  /** Returns the name of the item for the question that is asked before the item is removed. */
  label: (item: Item) => string;
  /** Set if items are not deleted, but revoked: with POST and a list of their IDs. */
  isRevoked?: true;
}

/** Number of rows that a collection shows at first, and that the button at its end adds. */
const pageSize = 50;

/** The highest number of items that the API sends at once. */
const maxItems = 10_000;

const plain = (value: Item[string]) => (Array.isArray(value) ? value.join(', ') : String(value ?? ''));

/** Shows a value that takes one line. The title has the whole value. */
const unbroken = (value: string) => (value === '' ? noValue() : Object.assign(datum(value), { title: clear(value) }));

// On phones, values with the class `plain` have no label.
const path: Column<Item> = { title: text('path'), cell: (item) => pathDatum(plain(item.path)) };
const address: Column<Item> = { title: text('address'), cell: (item) => unbroken(plain(item.address)), className: 'unbroken plain' };
const account: Column<Item> = {
  title: text('account'),
  cell: (item) => accountLink(String(item.account ?? '')),
  className: 'unbroken plain',
};
const expires: Column<Item> = { title: accountText('expires'), cell: (item) => timeElement(plain(item.expires)), className: 'narrow' };
const progress: Column<Item> = {
  title: text('progress'),
  cell: ({ received_bytes, total_bytes }) => {
    const [done, total] = [Number(received_bytes), Number(total_bytes)];
    return total > 0 ? text('running', { done: sizeText(done), total: sizeText(total) }) : sizeText(done);
  },
  className: 'number plain',
};

const lastUse: Column<Item> = {
  title: accountText('lastUse'),
  cell: ({ last_used, last_address }) =>
    last_used ? make('span', ageElement(String(last_used)), ' ', datum(String(last_address), 'code')) : accountText('neverUsed'),
  className: 'roomy',
};

/** Shows the name of an account as a link to its page. */
export function accountLink(name: string): HTMLElement {
  return name === '' ? noValue() : make('a.value', { href: hashFor('accounts', name) }, unbroken(name));
}

/** The collections in the order in which the page shows them. */
export const collections: readonly Collection[] = [
  {
    name: 'sessions',
    columns: [
      account,
      { title: text('service'), cell: ({ service }) => componentName(String(service)), className: 'roomy plain' },
      {
        title: accountText('device'),
        cell: ({ client }) => Object.assign(datum(deviceName(plain(client))), { title: clear(plain(client)) }),
        className: 'plain',
      },
      address,
      { title: accountText('lastUse'), cell: ({ last_used }) => ageElement(String(last_used)), className: 'narrow' },
      { ...expires, className: 'narrow roomy' },
    ],
    label: ({ account: of, address }) => `${of} (${address})`,
  },
  {
    name: 'bans',
    columns: [
      address,
      // The name is in lower case, and can be that of an administrator, so it is not a link to an account.
      { title: text('account'), cell: (item) => unbroken(plain(item.account)), className: 'unbroken' },
      { title: accountText('logins'), cell: ({ logins }) => accountWord('logins', String(logins ?? 'files')) },
      { title: text('reason'), cell: banReason },
      { title: accountText('banSince'), cell: ({ since }) => ageElement(since === null ? undefined : String(since)), className: 'narrow' },
      expires,
    ],
    label: ({ id }) => id,
  },
  {
    name: 'locks',
    columns: [
      path,
      account,
      address,
      { title: accountText('owner'), cell: ({ owner }) => (owner ? datum(String(owner)) : noValue()), className: 'roomy' },
      expires,
    ],
    label: ({ path }) => String(path),
  },
  { name: 'uploads', columns: [path, account, progress, expires], label: ({ path }) => String(path) },
  {
    name: 'trash',
    columns: [
      {
        ...path,
        cell: ({ path: of, size, by }) => {
          const about = `${sizeText(Number(size))} · ${accountText('deletedByName', { name: clear(plain(by)) })}`;
          return make('div', pathDatum(plain(of)), make('div.hint.if-not-roomy', about));
        },
      },
      account,
      { title: accountText('size'), cell: ({ size }) => sizeText(Number(size)), className: 'number roomy plain' },
      {
        title: accountText('deletedBy'),
        cell: ({ by, account: of }) => (by === of ? make('span.wide-only', datum(plain(by))) : datum(plain(by))),
        className: 'roomy',
      },
      { title: accountText('deleted'), cell: ({ deleted }) => ageElement(plain(deleted)), className: 'narrow plain' },
    ],
    label: ({ path }) => String(path),
  },
  {
    name: 'tokens',
    columns: [
      { title: text('name'), cell: ({ name, id }) => make('span', datum(plain(name)), ' ', datum(id, 'code')) },
      account,
      { title: text('path'), cell: ({ path }) => (path === null ? accountText('allPaths') : pathDatum(plain(path))) },
      {
        title: accountText('rights'),
        cell: ({ permissions }) => (permissions === null ? accountText('allRights') : datum(plain(permissions))),
      },
      lastUse,
      expires,
    ],
    label: ({ name, id, account: of }) => `${name || id} (${of})`,
    isRevoked: true,
  },
  {
    name: 'links',
    columns: [
      path,
      account,
      { title: accountText('linkKind'), cell: linkKind, className: 'plain' },
      { title: accountText('uses'), cell: linkUses, className: 'roomy' },
      lastUse,
      expires,
    ],
    label: ({ path, account: of }) => `${plain(path)} (${of})`,
    isRevoked: true,
  },
];

/** Returns the reason of a ban, as a link to the failures. Events contain addresses, not networks, so the ban of a network has no link. */
function banReason({ address, account: name, failures }: Item): HTMLElement {
  const words = accountText(address ? 'banOfAddress' : 'banOfName', { count: typeof failures === 'number' ? failures : '?' });
  const sought = address ? { address: String(address) } : { text: String(name ?? '') };
  if (String(address || name).includes('/')) return make('span', words);
  return make('a', { href: hashFor('events', '', { ...sought, status: 'failure' }) }, words);
}

function linkKind({ link, has_password }: Item): string {
  return `${accountWord('link', String(link))}${has_password ? accountText('withPassword') : ''}`;
}

/** Returns how often a link was used: the number of downloads, and for a link that takes uploads, how often it was opened. */
function linkUses({ downloads, opened, maximum_downloads, link }: Item): string {
  const count = Number(link === 'drop' ? opened : downloads);
  return maximum_downloads === null ? numberText(count) : accountText('usesOf', { count, total: Number(maximum_downloads) });
}

/** Shows one collection. @param of account whose items are shown; undefined for the items of all accounts */
export function collectionPanel({ name, columns, label: labelOf, isRevoked }: Collection, signal: AbortSignal, of?: string): SearchedPanel {
  const title = accountText(`${name}_title`);
  const action: Column<Item> = {
    title: text('action'),
    cell: (item) =>
      make(
        'div.row',
        name === 'trash' && actionButton(accountText('trash_restore'), 'restore', () => restore(item), 'quiet small'),
        makeButton(accountText(`${name}_remove`), 'close', () => void tell(remove(item)), 'quiet small'),
      ),
    className: 'narrow',
  };
  // On phones, the first cell is the title of a card. The first cell of a ban is its address, which is empty for a ban of an account. So
  // bans have no title.
  const shown = columns
    .filter((candidate) => of === undefined || candidate !== account)
    .map((one, index) => ({
      ...one,
      className: `${one.className ?? ''} ${index === 0 && name !== 'bans' ? 'title first' : 'third-line'}`,
    }));
  const table = makeTable<Item>(title, accountText(`${name}_none`), mayChange() ? [...shown, action] : shown, ({ id }) => id);
  table.element.classList.add('listed');
  const told = make('p.hint', { role: 'status' });
  let search = '';
  let total = 0;
  let limit = pageSize;
  const hasMore = () => table.size === limit && limit < Math.min(total, maxItems);
  const end = growingEnd(
    async () => {
      const { size } = table;
      limit = Math.min(size + pageSize, maxItems);
      await load();
      return { hasMore: hasMore(), first: table.rowAt(size) };
    },
    signal,
    false,
  );
  const load = async () => {
    const query = { account: name === 'bans' ? of?.toLowerCase() : of, search, limit: String(limit) };
    const found = await ask<{ items: Item[]; total: number }>('GET', withQuery(`/api/${name}`, query), { signal });
    // The reply to an earlier search can arrive later.
    if (query.search !== search) return;
    const whenEmpty = of === undefined ? accountText(`${name}_none`) : accountText('noneOfAccount');
    table.sayIfEmpty(search === '' ? whenEmpty : accountText('noMatch', { search: clear(search) }));
    table.show(found.items);
    total = found.total;
    told.textContent = table.size === total ? '' : text('heldMore', { shown: table.size, total });
    if (hasMore()) end.offer();
    else end.element.replaceChildren();
    // This button deletes all items, so it is hidden while a search shows only some of them.
    if (empty) empty.hidden = total === 0 || search !== '';
  };
  const remove = async (item: Item) => {
    const content = [make('p', make('bdi', clear(labelOf(item)))), make('p.hint', accountText(`${name}_effect`))];
    const label = accountText(name === 'uploads' || name === 'trash' ? `${name}_remove_long` : `${name}_remove`);
    // The button has the colour of a danger, except for bans, because lifting a ban takes nothing away from anybody.
    const button = { label, kind: name === 'bans' ? 'primary' : 'primary danger' } as const;
    const act = () =>
      isRevoked
        ? ask('POST', `/api/${name}/revoke`, { body: { ids: [item.id] } })
        : ask('DELETE', withQuery(`/api/${name}`, { id: item.id }));
    if (!(await confirm(accountText(`${name}_question`), content, button, act, name === 'uploads' ? accountText('keepIt') : undefined)))
      return;
    notice(accountText(`${name}_removed`, { name: clear(labelOf(item)) }));
    await load();
  };
  const restore = async (item: Item) => {
    const put = async (to?: string) => {
      const body = { ids: [item.id], ...(to !== undefined && { path: to }) };
      const { results } = await ask<{ results: Restored[] }>('POST', '/api/trash/restore', { body });
      const [{ error, ...result } = {}] = results;
      return { ...result, error: error === undefined ? undefined : clear(await reasonText({ message: error, code: result.code })) };
    };
    let result = await put();
    if (result.code === 'exists') {
      const wanted = make('input', {
        autocomplete: 'off',
        spellcheck: false,
        value: numbered(plain(item.path), item.is_directory === true),
      });
      const content = [make('p', accountText('trash_taken', { path: clear(plain(item.path)) })), field(text('path'), wanted)];
      const again = async () => {
        result = await put(wanted.value.trim());
        return result.error;
      };
      const button = { label: accountText('trash_restore'), kind: 'primary' } as const;
      if (!(await confirm(accountText('trash_restore_as'), content, button, again))) return;
    }
    if (result.error === undefined) notice(accountText('trash_restored', { path: clear(result.path ?? '') }));
    else notice(text('failed', { reason: result.error }), 'error');
    await load();
  };
  const emptyAll = async () => {
    const whose = of === undefined ? accountText('trash_of_all') : accountText('trash_of', { account: clear(of) });
    const content = [make('p', make('bdi', whose)), make('p.hint', accountText('trash_effect'))];
    const button = { label: accountText('trash_empty_count', { count: total }), kind: 'primary danger' } as const;
    const act = () => ask('DELETE', withQuery('/api/trash', of === undefined ? { all: '1' } : { account: of }));
    if (!(await confirm(accountText('trash_empty_question'), content, button, act))) return;
    notice(accountText('trash_removed', { name: whose }));
    await load();
  };
  const empty =
    name === 'trash' && mayChange()
      ? makeButton(accountText('trash_empty'), undefined, () => void tell(emptyAll()), 'quiet small')
      : undefined;
  if (empty) empty.hidden = true;
  const element = make('section.panel', make('div.heading', make('h2', title), told, empty), table.element, end.element);
  return {
    title,
    element,
    load: async (wanted) => {
      search = wanted;
      limit = pageSize;
      await load();
      return total;
    },
  };
}
