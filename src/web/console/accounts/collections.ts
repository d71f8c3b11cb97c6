import { make, makeButton } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { confirm } from '../confirm.ts';
import { type TextName, text } from '../language.ts';
import { ask, withQuery } from '../request.ts';
import { actionButton, panel } from '../section.ts';
import { mayChange } from '../session.ts';
import { clear, datum, timeOf } from '../shown.ts';
import { type Column, Table } from '../table.ts';

/** A session, ban, lock or unfinished upload, as the API shows it. */
export type Item = Readonly<Record<string, string | number | null | undefined>> & { id: string };

type CollectionName = 'sessions' | 'bans' | 'locks' | 'uploads';

interface CollectionModel {
  name: CollectionName;
  columns: () => Column<Item>[];
  /** What the item is called when somebody is asked whether it shall go. */
  label: (item: Item) => string;
}

const column = (title: TextName, name: string, className = ''): Column<Item> => ({
  title: text(title),
  cell: (item) => datum(item[name] === undefined || item[name] === null ? '' : String(item[name])),
  className,
});
const time = (title: TextName, name: string): Column<Item> => ({
  title: text(title),
  cell: (item) => timeOf(String(item[name] ?? '')),
  className: 'narrow',
});

/** Collections of what accounts have, in the order of the page. */
export const collections: readonly CollectionModel[] = [
  {
    name: 'sessions',
    columns: () => [column('account', 'account'), column('address', 'address'), time('created', 'created'), time('expires', 'expires')],
    label: ({ account, address }) => `${account} (${address})`,
  },
  {
    name: 'bans',
    columns: () => [column('address', 'address'), column('account', 'account'), time('expires', 'expires')],
    label: ({ id }) => id,
  },
  {
    name: 'locks',
    columns: () => [
      column('path', 'path'),
      column('account', 'account'),
      column('address', 'address'),
      column('owner', 'owner'),
      time('expires', 'expires'),
    ],
    label: ({ path }) => String(path),
  },
  {
    name: 'uploads',
    columns: () => [
      column('path', 'path'),
      column('account', 'account'),
      {
        title: text('progress'),
        cell: (item) => sizesOf(Number(item.received_bytes), Number(item.total_bytes)),
        className: 'number',
      },
      time('expires', 'expires'),
    ],
    label: ({ path }) => String(path),
  },
];

function sizesOf(done: number, total: number): string {
  return total > 0 ? text('running', { done: sizeText(done), total: sizeText(total) }) : sizeText(done);
}

/** One collection with what can be done with its items. */
export class CollectionPanel {
  readonly element: HTMLElement;
  readonly #model: CollectionModel;
  readonly #table: Table<Item>;
  readonly #signal: AbortSignal;
  readonly #search: HTMLInputElement;

  constructor(model: CollectionModel, signal: AbortSignal) {
    this.#model = model;
    this.#signal = signal;
    const { name } = model;
    const title = text(`${name}_title`);
    const actions: Column<Item>[] = mayChange()
      ? [
          {
            title: text('action'),
            cell: (item) => makeButton(text(`${name}_remove`), 'close', () => void this.#remove(item), 'quiet small'),
            className: 'narrow',
          },
        ]
      : [];
    this.#table = new Table<Item>(title, text(`${name}_none`), [...model.columns(), ...actions], ({ id }) => id);
    this.#search = make('input', {
      type: 'search',
      attributes: {
        'aria-label': text('filterBy', { title }),
        placeholder: text('account'),
        autocomplete: 'off',
        autocapitalize: 'none',
      },
    });
    const reload = actionButton(text('search'), 'search', () => this.load(), 'compact');
    const form = make('form', { className: 'row search' }, this.#search, reload);
    form.addEventListener('submit', (event) => event.preventDefault());
    reload.type = 'submit';
    this.element = panel(title, form, this.#table.element);
  }

  async load(): Promise<void> {
    const { name } = this.#model;
    const wanted = this.#search.value.trim();
    const isAddress = name === 'bans' && /^[\da-f.:/]*[.:][\da-f.:/]*$/i.test(wanted);
    const query = isAddress ? { address: wanted } : { account: name === 'bans' ? wanted.toLowerCase() : wanted };
    const { items } = await ask<{ items: Item[] }>('GET', withQuery(`/api/${name}`, query), { signal: this.#signal });
    this.#table.show(items);
  }

  async #remove(item: Item): Promise<void> {
    const { name, label } = this.#model;
    const content = [make('p', {}, make('bdi', {}, clear(label(item)))), make('p', { className: 'hint' }, text(`${name}_effect`))];
    const button = { label: text(`${name}_remove`), kind: 'primary danger' } as const;
    const isRemoved = await confirm(text(`${name}_question`), content, button, async () => {
      await ask('DELETE', withQuery(`/api/${name}`, { id: item.id }));
      return undefined;
    });
    if (!isRemoved) return;
    notice(text(`${name}_removed`));
    await this.load();
  }
}
