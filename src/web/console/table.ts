import { type Child, make } from '../shared/dom.ts';
import { nothing } from './section.ts';

const focusable = 'a[href], button, input, select, summary, [tabindex]';

/**
 * Replaces nodes, but keeps equal ones, so that live figures take neither the focus nor selected text. `data-key`, else the
 * position, identifies a node; of a row only the cells that differ are replaced.
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
  before.replaceWith(node);
  if (at >= 0) node.querySelectorAll<HTMLElement>(focusable)[at]?.focus();
}

export interface Column<T> {
  title: string;
  cell: (item: T) => Child;
  className?: string;
}

/** A table of items. On narrow screens each row is a block, and each cell tells its column. */
export class Table<T> {
  readonly element: HTMLElement;
  readonly #columns: readonly Column<T>[];
  readonly #keyOf: (item: T) => string;
  readonly #body = make('tbody');
  readonly #table: HTMLElement;
  readonly #empty: HTMLElement;
  readonly #items = new WeakMap<Element, T>();

  /**
   * @param caption names the table for screen readers
   * @param empty is shown when there are no items
   * @param keyOf identifies an item
   */
  constructor(caption: string, empty: string, columns: readonly Column<T>[], keyOf: (item: T) => string) {
    this.#columns = columns;
    this.#keyOf = keyOf;
    const head = columns.map(({ title, className = '' }) =>
      title === '' ? make('td', { className }) : make('th', { className, scope: 'col' }, title),
    );
    this.#table = make('table', { hidden: true }, make('caption.hidden', caption), make('thead', make('tr', ...head)), this.#body);
    this.#empty = nothing(empty);
    this.#empty.hidden = true;
    this.element = make('div.table', this.#table, this.#empty);
    const onSize = new ResizeObserver(() => this.#setScrollable(caption));
    for (const element of [this.element, this.#table]) onSize.observe(element);
  }

  get size(): number {
    return this.#body.childElementCount;
  }

  /** An item that is shown. @param key of the item */
  find(key: string): T | undefined {
    return this.#itemOf(this.#body.querySelector(`[data-key="${CSS.escape(key)}"]`));
  }

  /** The items of the first row and of the last one; undefined where that is a note, or none. */
  get ends(): { first: T | undefined; last: T | undefined } {
    return { first: this.#itemOf(this.#body.firstElementChild), last: this.#itemOf(this.#body.lastElementChild) };
  }

  show(items: readonly T[]): void {
    renew(
      this.#body,
      items.map((item) => this.#row(item)),
    );
    // Kept rows belong to the current items.
    for (const [index, row] of [...this.#body.children].entries()) this.#items.set(row, items[index] as T);
    this.#settle();
  }

  /** Adds items at the end. @returns the first row of them */
  append(items: readonly T[]): HTMLElement | undefined {
    const rows = items.map((item) => this.#row(item));
    this.#body.append(...rows);
    this.#settle();
    return rows[0];
  }

  /** Adds items before all others and keeps at most `most` rows, none of them a note at the end. @returns whether rows were removed */
  prepend(items: readonly T[], most: number): boolean {
    const hadFocus = this.#body.contains(document.activeElement);
    this.#body.prepend(...items.map((item) => this.#row(item)));
    const isTooLong = this.size > most;
    while (this.size > most || (isTooLong && this.size > 0 && !this.ends.last)) this.#body.lastElementChild?.remove();
    if (hadFocus && !this.#body.contains(document.activeElement))
      this.#body.lastElementChild?.querySelector<HTMLElement>('a, button')?.focus();
    this.#settle();
    return isTooLong;
  }

  /** Adds a row that says something before all others. */
  prependNote(...children: Child[]): void {
    this.#body.prepend(make('tr.note', make('td', { colSpan: this.#columns.length }, ...children)));
    this.#settle();
  }

  #itemOf(row: Element | null): T | undefined {
    return row ? this.#items.get(row) : undefined;
  }

  #settle(): void {
    this.#table.hidden = this.size === 0;
    this.#empty.hidden = this.size > 0;
  }

  /** A table wider than its container gets a tab stop, so that the keyboard can scroll it. */
  #setScrollable(caption: string): void {
    const isWide = this.element.scrollWidth > this.element.clientWidth;
    const attributes = { tabindex: '0', role: 'group', 'aria-label': caption };
    for (const [name, value] of Object.entries(attributes)) {
      if (isWide) this.element.setAttribute(name, value);
      else this.element.removeAttribute(name);
    }
  }

  #row(item: T): HTMLElement {
    const cells = this.#columns.map(({ title, cell, className = '' }) =>
      make('td', { className, attributes: { 'data-title': title } }, cell(item)),
    );
    const row = make('tr', { attributes: { 'data-key': this.#keyOf(item) } }, ...cells);
    this.#items.set(row, item);
    return row;
  }
}
