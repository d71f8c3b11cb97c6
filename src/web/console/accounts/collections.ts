import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { confirm } from '../confirm.ts';
import { text, translate } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import { actionButton, panel, problem, tell } from '../section.ts';
import { mayChange } from '../session.ts';
import { clear, datum, timeElement } from '../shown.ts';
import { type Column, makeTable } from '../table.ts';

/** A session, ban, lock, unfinished upload, token or link, as the API shows it. */
type Item = Readonly<Record<string, string | number | boolean | readonly string[] | null | undefined>> & { id: string };

interface Collection {
  name: 'sessions' | 'bans' | 'locks' | 'uploads' | 'tokens' | 'links';
  columns: readonly Column<Item>[];
  /** Names the item in the question whether to remove it. */
  label: (item: Item) => string;
  /** Whether items are revoked, several at once, and not deleted. */
  isRevoked?: true;
}

const column = (name: 'account' | 'address' | 'owner' | 'path'): Column<Item> => ({
  title: text(name),
  cell: (item) => datum(plain(item[name])),
});
const plain = (value: Item[string]) => (Array.isArray(value) ? value.join(', ') : (value as string | number | null | undefined));
const time = (name: 'created' | 'expires'): Column<Item> => ({
  title: text(name),
  cell: (item) => timeElement(String(item[name] ?? '')),
  className: 'narrow',
});
const progress: Column<Item> = {
  title: text('progress'),
  cell: ({ received_bytes, total_bytes }) => {
    const [done, total] = [Number(received_bytes), Number(total_bytes)];
    return total > 0 ? text('running', { done: sizeText(done), total: sizeText(total) }) : sizeText(done);
  },
  className: 'number',
};

const lastUse: Column<Item> = {
  title: text('lastUse'),
  cell: ({ last_used, last_address }) =>
    last_used ? make('span', timeElement(String(last_used)), ' ', datum(String(last_address), 'code')) : text('neverUsed'),
  className: 'narrow',
};

/** In the order of the page. */
const collections: readonly Collection[] = [
  {
    name: 'sessions',
    columns: [column('account'), column('address'), time('created'), time('expires')],
    label: ({ account, address }) => `${account} (${address})`,
  },
  {
    name: 'bans',
    columns: [
      column('address'),
      column('account'),
      { title: text('logins'), cell: ({ logins }) => translate('logins', String(logins ?? 'files')) },
      time('expires'),
    ],
    label: ({ id }) => id,
  },
  {
    name: 'locks',
    columns: [column('path'), column('account'), column('address'), column('owner'), time('expires')],
    label: ({ path }) => String(path),
  },
  { name: 'uploads', columns: [column('path'), column('account'), progress, time('expires')], label: ({ path }) => String(path) },
  {
    name: 'tokens',
    columns: [
      { title: text('name'), cell: ({ name, id }) => make('span', datum(plain(name)), ' ', datum(id, 'code')) },
      column('account'),
      { title: text('path'), cell: ({ path }) => (path === null ? text('allPaths') : datum(plain(path))) },
      { title: text('rights'), cell: ({ permissions }) => (permissions === null ? text('allRights') : datum(plain(permissions))) },
      lastUse,
      time('expires'),
    ],
    label: ({ name, id, account }) => `${name || id} (${account})`,
    isRevoked: true,
  },
  {
    name: 'links',
    columns: [
      column('path'),
      column('account'),
      { title: text('linkKind'), cell: linkKind },
      { title: text('uses'), cell: linkUses, className: 'number' },
      lastUse,
      time('expires'),
    ],
    label: ({ path, account }) => `${plain(path)} (${account})`,
    isRevoked: true,
  },
];

function linkKind({ link, has_password }: Item): string {
  return `${translate('link', String(link))}${has_password ? text('withPassword') : ''}`;
}

function linkUses({ downloads, opened, maximum_downloads, link }: Item): string {
  if (link === 'drop') return text('linkOpened', { count: Number(opened) });
  return maximum_downloads === null ? String(downloads) : text('usesOf', { count: Number(downloads), total: Number(maximum_downloads) });
}

function collectionPanel({ name, columns, label: labelOf, isRevoked }: Collection, signal: AbortSignal): HTMLElement {
  const title = text(`${name}_title`);
  const action: Column<Item> = {
    title: text('action'),
    cell: (item) => makeButton(text(`${name}_remove`), 'close', () => void tell(remove(item)), 'quiet small'),
    className: 'narrow',
  };
  const table = makeTable<Item>(title, text(`${name}_none`), mayChange() ? [...columns, action] : columns, ({ id }) => id);
  const search = make('input', {
    type: 'search',
    ariaLabel: text('filterBy', { title }),
    placeholder: text('account'),
    autocomplete: 'off',
    autocapitalize: 'none',
  });
  const more = make('p.hint', { hidden: true });
  const load = async () => {
    const wanted = search.value.trim();
    const isAddress = name === 'bans' && /^[\da-f.:/]*[.:][\da-f.:/]*$/i.test(wanted);
    const query = isAddress ? { address: wanted } : { account: name === 'bans' ? wanted.toLowerCase() : wanted };
    const { items, total } = await ask<{ items: Item[]; total?: number }>('GET', withQuery(`/api/${name}`, query), { signal });
    table.show(items);
    more.hidden = total === undefined || items.length === total;
    more.textContent = text('heldMore', { shown: items.length, total: total ?? items.length });
  };
  const remove = async (item: Item) => {
    const content = [make('p', make('bdi', clear(labelOf(item)))), make('p.hint', text(`${name}_effect`))];
    const label = name === 'uploads' ? text('uploads_remove_long') : text(`${name}_remove`);
    const button = { label, kind: 'primary danger' } as const;
    const act = () =>
      isRevoked
        ? ask('POST', `/api/${name}/revoke`, { body: { ids: [item.id] } })
        : ask('DELETE', withQuery(`/api/${name}`, { id: item.id }));
    if (!(await confirm(text(`${name}_question`), content, button, act, name === 'uploads' ? text('keepIt') : undefined))) return;
    notice(text(`${name}_removed`));
    await load();
  };
  const reload = actionButton(text('search'), 'search', load, 'compact');
  reload.type = 'submit';
  const form = make('form.row.search', search, reload);
  form.addEventListener('submit', (event) => event.preventDefault());
  const element = panel(title, form, table.element, more);
  load().catch((error: unknown) => signal.aborted || element.append(problem(error)));
  return element;
}

/** A panel for each collection, which operators may end items of. @param signal aborts when the page shows something else */
export function collectionPanels(signal: AbortSignal): HTMLElement[] {
  return collections.map((collection) => collectionPanel(collection, signal));
}
