import { type Child, make } from '../shared/dom.ts';

const focusable = 'a[href], button, input, select, summary, [tabindex]';

/**
 * Replaces nodes but keeps equal ones, so that live updates do not remove the focus or selected text. A node is identified by `data-key`,
 * or by its position if it has none. In table rows, only the cells that differ are replaced.
 */
export function renew(place: Element, nodes: readonly Element[]): void {
  const old = new Map([...place.children].map((node, index) => [keyOf(node, index), node]));
  const keys = new Set(nodes.map(keyOf));
  for (const [key, gone] of old) if (!keys.has(key)) gone.remove();
  for (const [index, node] of nodes.entries()) {
    const before = old.get(keyOf(node, index));
    const there = place.children[index] ?? null;
    if (!before || before !== there) place.insertBefore(before ?? node, there);
    if (before && !before.isEqualNode(node)) exchange(before, node);
  }
}

function keyOf(node: Element, index: number): string {
  return node.getAttribute('data-key') ?? String(index);
}

function exchange(before: Element, node: Element): void {
  if (before instanceof HTMLTableRowElement) {
    renew(before, [...node.children]);
    return;
  }
  const at = [...before.querySelectorAll(focusable)].indexOf(document.activeElement as Element);
  const hadFocus = before === document.activeElement;
  before.replaceWith(node);
  if (hadFocus) (node as HTMLElement).focus({ preventScroll: true });
  if (at >= 0) node.querySelectorAll<HTMLElement>(focusable)[at]?.focus();
}

/** Focuses the link that opens a row, or the first link or button in the row. */
export function focusRow(row: Element | null | undefined): void {
  (row?.querySelector<HTMLElement>('.row-link') ?? row?.querySelector<HTMLElement>('a, button'))?.focus();
}

export interface Column<T> {
  title: string;
  /** Whether only screen readers get the title. */
  isTitleHidden?: true;
  cell: (item: T) => Child;
  className?: string;
}

export type Table<T> = ReturnType<typeof makeTable<T>>;

/**
 * Builds a table of items. On narrow screens each row is a block, and each cell shows the title of its column.
 * @param caption name of the table for screen readers
 * @param empty text to show if there are no items
 * @param keyOf returns the key that identifies an item
 */
export function makeTable<T>(caption: string, empty: string, columns: readonly Column<T>[], keyOf: (item: T) => string) {
  const items = new WeakMap<Element, T>();
  const head = columns.map(({ title, isTitleHidden, className = '' }) =>
    title === '' ? make('td', { className }) : make('th', { className, scope: 'col' }, isTitleHidden ? make('span.hidden', title) : title),
  );
  const body = make('tbody');
  const table = make('table', { hidden: true }, make('caption.hidden', caption), make('thead', make('tr', ...head)), body);
  const none = make('p.nothing', { hidden: true }, empty);
  const element = make('div.table', table, none);

  const onSize = new ResizeObserver(() => {
    const isWide = element.scrollWidth > element.clientWidth;
    for (const [name, value] of Object.entries({ tabindex: '0', role: 'group', 'aria-label': caption })) {
      if (isWide) element.setAttribute(name, value);
      else element.removeAttribute(name);
    }
  });
  for (const watched of [element, table]) onSize.observe(watched);

  const makeRow = (item: T) => {
    const cells = columns.map(({ title, cell, className = '' }) =>
      make('td', { className, attributes: { 'data-title': title } }, cell(item)),
    );
    const row = make('tr', { attributes: { 'data-key': keyOf(item) } }, ...cells);
    items.set(row, item);
    return row;
  };

  const findItem = (row: Element | null) => (row ? items.get(row) : undefined);

  const settle = () => {
    table.hidden = body.childElementCount === 0;
    none.hidden = !table.hidden;
  };

  return {
    element,

    get size(): number {
      return body.childElementCount;
    },

    rowAt: (index: number) => body.children[index] as HTMLElement | undefined,

    sayIfEmpty(words: string): void {
      none.textContent = words;
    },

    /** Returns the item with this key, if the table shows it. */
    find: (key: string) => findItem(body.querySelector(`[data-key="${CSS.escape(key)}"]`)),

    items: (): T[] => [...body.children].flatMap((row) => findItem(row) ?? []),

    /** The items of the first and the last row; undefined if that row is a note or does not exist. */
    get ends(): { first: T | undefined; last: T | undefined } {
      return { first: findItem(body.firstElementChild), last: findItem(body.lastElementChild) };
    },

    show(shown: readonly T[]): void {
      renew(body, shown.map(makeRow));
      for (const [index, row] of [...body.children].entries()) items.set(row, shown[index] as T);
      settle();
    },

    /** Appends items. @returns the first new row */
    append(added: readonly T[]): HTMLElement | undefined {
      const rows = added.map(makeRow);
      body.append(...rows);
      settle();
      return rows[0];
    },

    /**
     * Inserts items at the beginning, and removes rows from the end until at most `most` are left. A note that would then be the last row
     * is removed, too.
     *
     * @returns whether rows were removed
     */
    prepend(added: readonly T[], most: number): boolean {
      const hadFocus = body.contains(document.activeElement);
      body.prepend(...added.map(makeRow));
      const isTooLong = this.size > most;
      while (this.size > most || (isTooLong && this.size > 0 && !this.ends.last)) body.lastElementChild?.remove();
      if (hadFocus && !body.contains(document.activeElement)) focusRow(body.lastElementChild);
      settle();
      return isTooLong;
    },

    prependNote(...children: Child[]): void {
      body.prepend(make('tr.note', make('td', { colSpan: columns.length }, ...children)));
      settle();
    },
  };
}
