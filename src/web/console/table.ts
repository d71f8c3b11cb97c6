import { type Child, make, makeButton } from '../shared/dom.ts';
import { text } from './language.ts';

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

/**
 * Builds a column of check boxes, and the check box `element`, which selects all shown rows. Put `element` into the panel of the table.
 *
 * @param keyOf returns the key that identifies an item
 * @param nameOf returns the accessible name of an item's check box
 * @param onChange called after each change of the selection
 */
export function selection<T>(keyOf: (item: T) => string, nameOf: (item: T) => string, onChange: () => void) {
  const chosen = new Set<string>();
  const all = make('input', { type: 'checkbox' });
  const choose = (key: string, isChosen: boolean) => void (isChosen ? chosen.add(key) : chosen.delete(key));
  const settle = () => {
    all.indeterminate = chosen.size > 0 && !all.checked;
    unchoose.hidden = chosen.size === 0;
    onChange();
  };
  const chooseAll = () => {
    for (const box of all.closest('.panel')?.querySelectorAll<HTMLInputElement>('td input[type="checkbox"]') ?? []) {
      box.checked = all.checked;
      choose(box.value, all.checked);
    }
    settle();
  };
  all.addEventListener('change', chooseAll);
  const unchooseAll = () => {
    all.checked = false;
    chooseAll();
    all.focus();
  };
  const unchoose = makeButton(text('clearFilter'), undefined, unchooseAll, 'quiet small');
  unchoose.ariaLabel = text('clearSelection');
  unchoose.hidden = true;
  const cell = (item: T) => {
    const box = make('input', { type: 'checkbox', value: keyOf(item), ariaLabel: nameOf(item) });
    if (all.checked) chosen.add(box.value);
    box.checked = chosen.has(box.value);
    box.addEventListener('change', () => {
      choose(box.value, box.checked);
      if (!box.checked) all.checked = false;
      settle();
    });
    return box;
  };
  const column: Column<T> = { title: text('select'), isTitleHidden: true, cell, className: 'narrow chooses' };
  return {
    column,
    element: make('label.tick', all, make('span', text('selectAll'))),
    /** The button that ends the selection. Put it behind the buttons for the chosen items. */
    unchoose,
    chosen,

    /** Removes items from the selection that are no longer in the list. Call this before the table shows the list. */
    keep(items: readonly T[]): void {
      const keys = new Set(items.map(keyOf));
      for (const key of chosen) if (!keys.has(key)) chosen.delete(key);
      all.checked = keys.size > 0 && keys.size === chosen.size;
      settle();
    },
  };
}
