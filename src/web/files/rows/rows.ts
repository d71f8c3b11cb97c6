import { escapeInvisible, visibleControls } from '../../../lib/display-name.ts';
import { byId, make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { keepShort } from '../../shared/long-names.ts';
import { notice } from '../../shared/notices.ts';
import { inFrames } from '../frames.ts';
import { text } from '../language.ts';
import { folderUrl, shownPage } from '../navigation/folder.ts';
import { fetchPage, replyReason, send } from '../server.ts';
import { bringIntoDocument, placeRows, startWindow } from './row-window.ts';

const kinds = ['image', 'pdf', 'audio', 'video', 'text', 'zip'] as const;

/**
 * Returns the kind of a file's preview. The classes of the file's link determine the kind and the icon. An SVG is an exception: the preview
 * shows it as a picture, which runs no scripts.
 */
export function kindOfFile(name: string, looks: readonly string[]) {
  if (/\.svg$/i.test(name)) return 'image';
  return kinds.find((kind) => looks.includes(kind));
}

export function previewKind(row: Row) {
  const { name, look } = rowMember(row);
  return kindOfFile(name, look.split(' '));
}

export function canPreview(row: Row): boolean {
  return previewKind(row) !== undefined;
}

/** A row as the service sends it, one per line. */
type Line = [name: string, look: string, sizeBytes: number, modified: number];

/**
 * Fetches all rows of a page that was sent with only its first rows. These first rows are reused.
 * @returns undefined after a failure, for which a message is shown
 */
async function laterRows(page: URL, sent: readonly Row[]): Promise<Row[] | undefined> {
  const lines = await fetchLines(page);
  if (!lines) return undefined;
  return new Promise((resolve) => {
    const rows: Row[] = [];
    const add = (line: string) => {
      const [name, look, sizeBytes, modified] = JSON.parse(line) as Line;
      const before = sent[rows.length];
      const isSame = before !== undefined && rowMember(before).name === name;
      rows.push(isSame ? before : makeRow({ name, folder: page.pathname, isFolder: look === 'folder', sizeBytes, modified, look }));
    };
    inFrames(lines, add, () => resolve(rows));
  });
}

async function fetchLines(page: URL): Promise<string[] | undefined> {
  const url = new URL(page);
  url.searchParams.set('rows', 'lines');
  let problem: string;
  try {
    const reply = await send('GET', url.href, { headers: { accept: 'application/x-ndjson' } });
    if (reply.ok) return (await reply.text()).split('\n').slice(0, -1);
    problem = await replyReason(reply);
  } catch {
    problem = text('noConnection');
  }
  notice(text('error', { reason: problem }), 'error');
  return undefined;
}

/** The row of a member of the folder. A row that was not sent with the page gets its cells only when they are needed. */
export type Row = HTMLTableRowElement;

/** The known state of a member, which is compared with later states to detect changes. */
export interface Member {
  name: string;
  /** URL path of the folder that contains it. */
  folder: string;
  isFolder: boolean;
  sizeBytes: number;
  /** Modification time, as Unix time in whole seconds. */
  modified: number;
  /** ID of the item on a page such as the trash, where several items can have the same name. */
  id?: string | undefined;
  /** Classes of the link. They name the kind of preview, and the icon if the kind does not determine the icon. */
  look: string;
}

const members = new WeakMap<Row, Member>();

export function rowMember(row: Row): Member {
  const known = members.get(row);
  if (known) return known;
  const member = writtenMember(row);
  members.set(row, member);
  return member;
}

function writtenMember(row: Row): Member {
  const look = row.querySelector('.i')?.className.slice('i '.length) ?? '';
  const box = row.querySelector('input');
  return {
    // In the trash, for example, the value of the checkbox is an ID.
    name: box?.dataset.name ?? box?.value ?? '',
    folder: folderUrl(),
    id: box?.dataset.name === undefined ? undefined : box.value,
    isFolder: look === 'folder',
    sizeBytes: Number(row.dataset.size),
    modified: Number(row.querySelector<HTMLElement>('[data-time]')?.dataset.time),
    look,
  };
}

export function makeRow(member: Member): Row {
  const row = document.createElement('tr');
  members.set(row, member);
  return row;
}

export function isWritten(row: Row): boolean {
  return row.firstElementChild !== null;
}

/** Cells with the same markup as the service writes. Cloning them for each row is faster than creating them. */
const template = new DocumentFragment();
template.append(make('td', make('input', { type: 'checkbox', name: 'selected-members' })), make('td', make('a')), make('td'), make('td'));

type Cell = HTMLTableCellElement;

function writeCells(row: Row): void {
  const { name, isFolder, sizeBytes, modified, look } = rowMember(row);
  row.append(template.cloneNode(true));
  const [boxCell, nameCell, sizeCell, timeCell] = [...row.cells] as [Cell, Cell, Cell, Cell];
  const box = boxCell.firstChild as HTMLInputElement;
  const shown = visibleControls(name);
  box.value = name;
  box.setAttribute('aria-label', text('selectName', { name: shown }));
  const link = nameCell.firstChild as HTMLAnchorElement;
  link.className = `i ${look}`;
  link.setAttribute('href', `./${encodeURIComponent(name)}${isFolder ? '/' : ''}`);
  link.append(/^[ -~]+$/.test(name) ? name : make('bdi', escapeInvisible(shown)));
  sizeCell.append(isFolder ? make('span.hidden', text('folder')) : sizeText(sizeBytes));
  timeCell.dataset.time = String(modified);
}

/** Maximum number of rows in the document. If a folder has more, only rows near the window are in the document. */
const maxRowsInDocument = 500;

let rows: readonly Row[] = [];

/** Returns all rows in the order of the page. In a long folder, most of them are not in the document. */
export function allRows(): readonly Row[] {
  return rows;
}

/** Rows that match the filter; undefined without a filter. */
let left: readonly Row[] | undefined;

/** Shows only the given rows; undefined shows all. */
export function showOnly(shown: readonly Row[] | undefined): void {
  left = shown;
  placeShown();
}

export function shownRows(): readonly Row[] {
  return left ?? rows;
}

/** Returns whether a row still belongs to the page. */
export function isThere(row: Row | undefined): row is Row {
  return row !== undefined && rows.includes(row);
}

export function rowCheckbox(row: Row): HTMLInputElement {
  return withCells(row).querySelector('input') as HTMLInputElement;
}

export function rowLink(row: Row): HTMLAnchorElement {
  // An item of the trash, for example, has no link, so its checkbox is returned.
  return (withCells(row).querySelector('a.i') ?? rowCheckbox(row)) as HTMLAnchorElement;
}

/** Whether the row has a link to its member. */
export function isLinked(row: Row): boolean {
  return row.querySelector('a.i') !== null;
}

function withCells(row: Row): Row {
  return isWritten(row) ? row : writtenRow(row);
}

/** Returns the row of the list that contains an element. */
export function rowAt(target: EventTarget | null): Row | undefined {
  return (target instanceof Element && target.closest<Row>('#list tbody tr')) || undefined;
}

export function focusedRow(): Row | undefined {
  return rowAt(document.activeElement);
}

export function focusRow(row: Row): void {
  bringIntoDocument(row);
  rowLink(row).focus({ preventScroll: true });
  row.scrollIntoView({ block: 'nearest' });
}

/** Returns the member's real name, without replaced characters. */
export function rowName(row: Row): string {
  return rowMember(row).name;
}

/** Returns a key that identifies a row on its page: the ID of the member, or its path if it has no ID. */
export function rowKey(row: Row): string {
  return rowMember(row).id ?? memberKey(rowMember(row));
}

/** Returns the key of the row of a member. */
export function memberKey({ folder, name }: Pick<Member, 'folder' | 'name'>): string {
  return folder + name;
}

export function isFolder(row: Row): boolean {
  return rowMember(row).isFolder;
}

/** Called when the rows change. @param wanted name of a row that the filter must not hide */
type RowsListener = (wanted?: string) => void;

let listeners: RowsListener[] = [];

let finishers: ((row: Row) => void)[] = [];
const finished = new WeakSet<Row>();

let markers: ((row: Row) => void)[] = [];

let stopFinishing = () => {};

/** Refreshes the list of a page that does not show a folder's rows, such as search results. */
let renewOthers: (focusOn?: string) => Promise<boolean>;

/** Registers a function that refreshes the list of a page which does not show a folder's rows. It gets the name of the row to focus. */
export function renewBy(renew: (focusOn?: string) => Promise<void>): void {
  renewOthers = (focusOn) => renew(focusOn).then(() => true);
}

let whole: Promise<void> = Promise.resolve();
let coming = 0;
let changes = 0;
let isStarted = false;

/** Starts with the rows of a new folder. If the account may not list the folder, there are no rows. */
export function startRows(): void {
  changes++;
  isStarted = false;
  renewOthers = async () => true;
  left = undefined;
  whole = Promise.resolve();
  coming = 0;
  listeners = [];
  finishers = [finish];
  markers = [];
  const list = document.getElementById('list');
  rows = listRows(list);
  if (list) startWindow(list, prepare);
}

/** Calls `listener` now, and each time the rows of the folder change. @returns a function that ends this */
export function whenRowsChange(listener: RowsListener): () => void {
  listeners.push(listener);
  listener();
  return () => {
    listeners = listeners.filter((other) => other !== listener);
  };
}

/** Calls `finisher` once for each row, after the row has its cells. */
export function whenRowIsWritten(finisher: (row: Row) => void): void {
  finishers.push(finisher);
}

/** Calls `marker` for each row each time it enters the document. */
export function whenRowIsPlaced(marker: (row: Row) => void): void {
  markers.push(marker);
}

/** Finishes the rows that were sent with the page and fetches the others. Called after all listeners for rows are registered. */
export function finishRows(): void {
  const heading = byId('list').querySelector<HTMLElement>('[data-local]');
  if (heading) heading.textContent = heading.dataset.local ?? '';
  coming = comingAfter(rows, byId('count'));
  isStarted = true;
  placeShown();
  finishAll();
  if (coming > 0) whole = takeLaterRows(changes);
}

export function areRowsComing(): boolean {
  return coming > 0;
}

/** Resolves when all rows of the page are loaded, or when loading them has failed. */
export function rowsAreWhole(): Promise<void> {
  return whole;
}

function writtenRow(row: Row): Row {
  if (!isWritten(row)) writeCells(row);
  if (!finished.has(row)) {
    finished.add(row);
    for (const finisher of finishers) finisher(row);
  }
  return row;
}

/** Numbers of the last request for rows, and of the request whose rows are shown. Replies can arrive in another order. */
let [lastAsked, lastShown] = [0, 0];

/**
 * Fetches the page again and uses its rows. The selected rows and the focused row are found again by name.
 *
 * @param focusOn name of the row to focus
 * @returns false if the service cannot be reached
 */
export async function refreshRows(focusOn?: string): Promise<boolean> {
  const table = document.getElementById('list');
  if (!table || table.matches('.found')) return renewOthers(focusOn);
  const [url, asked] = [shownPage(), ++lastAsked];
  const { page: fresh } = await fetchPage(url);
  const list = fresh?.getElementById('list');
  const count = fresh?.getElementById('count');
  // For example, the page of an empty trash has no list.
  if (!list || !count) return fresh !== undefined && renewOthers();
  const sent = listRows(list).map((row) => document.adoptNode(row));
  const later = comingAfter(sent, count) > 0 ? await laterRows(url, sent) : undefined;
  if (!table.isConnected || asked < lastShown) return true;
  lastShown = asked;
  byId('count').replaceWith(document.adoptNode(count));
  replaceRows(later ?? sent, focusOn);
  return true;
}

/** Shows other rows. The selected rows and the focused row are found again. @param focusOn name of the row to focus */
export function replaceRows(taken: readonly Row[], focusOn?: string): void {
  const focused = focusedRow();
  const key = focused && rowKey(focused);
  takeRows(taken, focusOn);
  if (focusOn === undefined && key === undefined) return;
  const row = shownRows().find((candidate) => (focusOn === undefined ? rowKey(candidate) === key : rowName(candidate) === focusOn));
  if (row && row !== focusedRow()) focusRow(row);
  else if (!row && document.activeElement === document.body) byId('members').focus();
}

async function takeLaterRows(change: number): Promise<void> {
  const later = await laterRows(shownPage(), rows);
  if (changes === change) takeRows(later ?? rows);
}

function takeRows(taken: readonly Row[], wanted?: string): void {
  changes++;
  coming = 0;
  rows = taken;
  // One of the listeners is the filter, which puts the rows into the table (`showOnly`).
  for (const listener of listeners) listener(wanted);
  finishAll();
}

function comingAfter(sent: readonly Row[], count: HTMLElement): number {
  return Math.max(0, Number(count.dataset.rows ?? 0) - sent.length);
}

function listRows(list: HTMLElement | null): Row[] {
  return [...(list?.querySelectorAll<Row>('tbody tr') ?? [])];
}

function placeShown(): void {
  const isLong = rows.length + coming > maxRowsInDocument;
  if (isStarted) placeRows(shownRows(), { isLong, coming: left ? 0 : coming });
}

function prepare(row: Row): void {
  if (!isWritten(row)) writtenRow(row);
  if (!row.isConnected) for (const marker of markers) marker(row);
}

function finishAll(): void {
  stopFinishing();
  stopFinishing = inFrames(rows.filter(isWritten), writtenRow);
}

/** Sets the ARIA roles of a row, because some browsers forget them when a table has a grid layout. */
function finish(row: Row): void {
  row.role = 'row';
  for (const cell of row.cells) cell.role = 'cell';
}

/** Shortens the names in the rows of the list to two lines. @param draw creates the nodes of a part of a name */
export function startLongNames(draw?: (part: string) => (Node | string)[]): void {
  // An item of the trash has a name without a link.
  const shown = (row: Row) => ({ link: row.querySelector<HTMLElement>('.i') ?? rowLink(row), name: rowName(row) });
  const fit = keepShort(byId('list'), () => allRows().filter(isWritten).map(shown), draw);
  whenRowIsWritten((row) => fit([shown(row)]));
}
