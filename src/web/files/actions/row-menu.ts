import type { IconName } from '../../../lib/icon-shapes.ts';
import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { normalised } from '../rows/filter.ts';
import { canPreview, isFolder, isLinked, type Row, rowAt, rowLink, rowName, whenRowIsWritten } from '../rows/rows.ts';
import { actionsFor, areInOneFolder, isSelected, selectedRows, selectOnly, toggleRow } from '../rows/selection.ts';
import { deleteRows, download } from './members.ts';

interface Item {
  label: string;
  icon: IconName;
  run: () => void;
  isDanger?: boolean;
}

/** Distance in CSS pixels that the page may scroll before an open menu closes. */
const maxScroll = 4;

const margin = 8;

const menu = make('div', { id: 'row-menu', popover: 'manual', role: 'menu' });
let opener: HTMLElement | undefined;
let expanded: HTMLElement | undefined;
let openedAt = 0;

/** Opens the menu of a row next to its button. */
export function openRowMenu(row: Row): void {
  const button = row.querySelector<HTMLElement>('.more button');
  open(row, button && document.activeElement === button ? button : rowLink(row), (button ?? row).getBoundingClientRect());
}

/** @param isWanted returns whether the menu contains an item. If none is wanted, it contains all items */
function open(row: Row, from: HTMLElement, beside: DOMRect, isWanted?: (item: Item) => boolean): void {
  const selected = selectedRows();
  const rows = selected.includes(row) ? selected : [row];
  const label = rows.length === 1 ? text('actionsFor', { name: rowName(row) }) : text('selected', { count: rows.length });
  const items = itemsFor(row, rows);
  const wanted = isWanted ? items.filter(isWanted) : [];
  showMenu(from, beside, label, wanted.length > 0 ? wanted : items);
}

/** Returns whether an item is not in the bar of the selection, because the bar has no room for it. */
function isLeftOut({ label, icon: name }: Item): boolean {
  const buttons = [...byId('actions').querySelectorAll('button')];
  const isThere = buttons.some((button) => button.textContent === label && button.checkVisibility());
  return !isThere && name !== 'download' && name !== 'list';
}

/**
 * Opens a menu.
 *
 * @param from element that gets the focus when the menu closes
 * @param beside position of the menu's button, or of the pointer
 */
function showMenu(from: HTMLElement, beside: DOMRect, label: string, menuItems: readonly Item[]): void {
  opener = from;
  expanded = from.closest('tr')?.querySelector<HTMLElement>('.more button') ?? from;
  expanded?.setAttribute('aria-expanded', 'true');
  menu.setAttribute('aria-label', label);
  menu.replaceChildren(...menuItems.map(element));
  // Elements outside of an open dialog do not react.
  (from.closest('dialog') ?? byId('main')).append(menu);
  menu.showPopover();
  openedAt = scrollY;
  place(beside);
  items()[0]?.focus({ preventScroll: true });
}

/**
 * Places the menu below its button, with aligned right edges. If there is no room below, places the menu above the button. A menu at the
 * pointer opens to the right of the pointer.
 */
function place({ left, right, top, bottom }: DOMRect): void {
  const { width, height } = menu.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const wantedLeft = left === right ? left : right - width;
  const wantedTop = bottom + height + margin <= clientHeight ? bottom : Math.min(top, clientHeight - margin) - height;
  menu.style.left = `${Math.max(margin, Math.min(wantedLeft, clientWidth - width - margin))}px`;
  menu.style.top = `${Math.max(margin, wantedTop)}px`;
}

/** Opens the menu of the buttons for folders, for which phones have no room. */
export function openNewMenu(button: HTMLElement): void {
  const items = [...byId('tools').querySelectorAll<HTMLElement>('.joined')].map((joined, index): Item => {
    return { label: joined.title, icon: index === 0 ? 'uploadFolder' : 'newFolder', run: () => joined.click() };
  });
  if (isOpen()) closeMenu(true);
  else showMenu(button, button.getBoundingClientRect(), text('new'), items);
}

/** Opens the menu of the file that a preview shows. The preview itself has a button for the download. */
export function openPreviewMenu(row: Row, button: HTMLElement): void {
  if (isOpen()) closeMenu(true);
  else showMenu(button, button.getBoundingClientRect(), text('actionsFor', { name: rowName(row) }), previewItems(row));
}

/** Returns the items of the menu of a preview. */
export function previewItems(row: Row): Item[] {
  return itemsFor(row, [row]).filter(({ icon: iconName }) => !['eye', 'download', 'list'].includes(iconName));
}

function itemsFor(row: Row, rows: readonly Row[]): Item[] {
  const list: Item[] = [];
  const isOne = rows.length === 1;
  const canOpen = isLinked(row) && (isFolder(row) || (may('read') && canPreview(row)));
  const opening = isFolder(row) ? ({ label: text('keyOpen'), icon: 'files' } as const) : ({ label: text('preview'), icon: 'eye' } as const);
  if (isOne && canOpen) list.push({ ...opening, run: () => rowLink(row).click() });
  if (isOne && canOpen && isFolder(row))
    list.push({ label: text('openInTab'), icon: 'newTab', run: () => void window.open(rowLink(row).href, '_blank', 'noopener') });
  if (may('read') && areInOneFolder(rows)) list.push({ label: text('download'), icon: 'download', run: () => void download(rows) });
  for (const { label, icon: iconName, run } of actionsFor(rows.length)) list.push({ label, icon: iconName, run: () => run(rows) });
  for (const button of byId('actions').querySelectorAll<HTMLButtonElement>(isOne ? '.trigger' : '.trigger:not([data-one])'))
    list.push({
      label: button.textContent ?? '',
      icon: (button.dataset.icon as IconName | undefined) ?? 'resume',
      run: () => submit(rows, button),
      isDanger: button.dataset.icon !== undefined && button.matches('.danger'),
    });
  if (isOne) list.push({ label: text(isSelected(row) ? 'deselect' : 'keySelect'), icon: 'list', run: () => toggleRow(row) });
  if (may('delete')) list.push({ label: text('delete'), icon: 'trash', run: () => void deleteRows(rows), isDanger: true });
  return list.sort((a, b) => +!!a.isDanger - +!!b.isDanger);
}

function submit(rows: readonly Row[], button: HTMLButtonElement): void {
  selectOnly(rows);
  (byId('members') as HTMLFormElement).requestSubmit(button);
}

function element({ label, icon: iconName, run, isDanger }: Item): HTMLElement {
  const className = isDanger ? 'quiet danger' : 'quiet';
  const button = make('button', { type: 'button', className, tabIndex: -1, role: 'menuitem' }, icon(iconName), label);
  button.addEventListener('click', () => {
    closeMenu(true);
    run();
  });
  return button;
}

function items(): HTMLElement[] {
  return [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')];
}

function isOpen(): boolean {
  return menu.matches(':popover-open');
}

function closeMenu(givesFocusBack: boolean): void {
  if (!isOpen()) return;
  menu.hidePopover();
  expanded?.setAttribute('aria-expanded', 'false');
  if (givesFocusBack) opener?.focus({ preventScroll: true });
}

/** Handles keys in an open menu (ARIA Authoring Practices, menu button). The shortcuts of the page do not get these keys. */
function onKey(event: KeyboardEvent, all: readonly HTMLElement[], close: () => void): void {
  event.stopPropagation();
  const at = all.indexOf(document.activeElement as HTMLElement);
  const isLetter = event.key.length === 1 && event.key !== ' ' && !event.ctrlKey && !event.metaKey && !event.altKey;
  if (event.key === 'Escape' || event.key === 'Tab') close();
  else if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
  else if (event.key === 'ArrowUp') all.at(Math.max(at, 0) - 1)?.focus();
  else if (event.key === 'Home') all[0]?.focus();
  else if (event.key === 'End') all.at(-1)?.focus();
  else if (isLetter) {
    const ordered = [...all.slice(at + 1), ...all.slice(0, at + 1)];
    ordered.find((item) => normalised(item.textContent ?? '').startsWith(normalised(event.key)))?.focus();
  } else return;
  event.preventDefault();
}

/** The cell of a menu button. Cloning it for each row is faster than creating it. */
const template = make(
  'td.more',
  { role: 'cell' },
  make('button.quiet', { type: 'button', tabIndex: -1, ariaHasPopup: 'menu', ariaExpanded: 'false' }, '⋯'),
);

function addMenuButton(row: Row): void {
  const cell = template.cloneNode(true) as HTMLTableCellElement;
  const button = cell.firstElementChild as HTMLElement;
  button.ariaLabel = text('actionsFor', { name: rowName(row) });
  row.append(cell);
}

function menuHead(): HTMLElement {
  return make('th.more', { role: 'columnheader' }, make('span.hidden', text('actions')));
}

/**
 * Gives each row a menu, which its button, a right click, a long press or the menu key opens. A right click with Shift opens the browser's
 * own menu.
 */
export function startRowMenu(): void {
  const list = byId('list');
  list.querySelector('thead tr')?.append(menuHead());
  whenRowIsWritten(addMenuButton);
  // On narrow screens there is not enough room for all buttons of the selection.
  const rest = makeButton(
    '⋯',
    undefined,
    () => {
      const [row] = selectedRows();
      if (isOpen()) closeMenu(true);
      else if (row) open(row, rest, rest.getBoundingClientRect(), isLeftOut);
    },
    'quiet rest',
  );
  rest.ariaLabel = text('moreActions');
  rest.ariaHasPopup = 'menu';
  byId('actions').append(rest);
  list.addEventListener('click', (event) => {
    const button = (event.target as Element).closest<HTMLElement>('.more button');
    const row = button?.closest<Row>('tr');
    if (!button || !row) return;
    if (button.getAttribute('aria-expanded') === 'true') return closeMenu(true);
    open(row, button, button.getBoundingClientRect());
  });
  list.addEventListener('contextmenu', (event) => {
    const row = rowAt(event.target);
    if (!row || event.shiftKey) return;
    event.preventDefault();
    rowLink(row).focus({ preventScroll: true });
    open(row, rowLink(row), new DOMRect(event.clientX, event.clientY));
  });
}

/** Adds the listeners that close the menu and move the focus within it. They are added once for all folder pages. */
export function startRowMenus(): void {
  menu.addEventListener('keydown', (event) => onKey(event, items(), () => closeMenu(true)));
  // The menu of sorting, which also opens without scripts
  document.addEventListener(
    'keydown',
    (event) => {
      const sorting = (event.target as Element).closest<HTMLDetailsElement>('.sort [open]');
      if (!sorting) return;
      onKey(event, [...sorting.querySelectorAll('a')], () => {
        sorting.open = false;
        sorting.querySelector('summary')?.focus();
      });
    },
    { capture: true },
  );
  const closeOutside = ({ target }: Event) => {
    // The button of the open menu closes the menu itself. If the menu were closed here, the button would open it again.
    if (!(target instanceof Element)) return;
    if (!menu.contains(target) && !target.closest('[aria-expanded=true]')) closeMenu(false);
    const sorting = document.querySelector<HTMLDetailsElement>('.sort [open]');
    if (sorting && !sorting.contains(target)) sorting.open = false;
  };
  for (const type of ['pointerdown', 'focusin'] as const) document.addEventListener(type, closeOutside, { capture: true });
  for (const type of ['resize', 'blur'] as const) window.addEventListener(type, () => closeMenu(true));
  window.addEventListener('scroll', () => isOpen() && Math.abs(scrollY - openedAt) > maxScroll && closeMenu(true), { passive: true });
}
