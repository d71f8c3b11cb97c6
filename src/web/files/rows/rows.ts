import { escapeInvisible, visibleControls } from '../../../lib/display-name.ts';
import { byId, make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { inFrames } from '../frames.ts';
import { text } from '../language.ts';
import { shownPage } from '../navigation/folder.ts';
import { fetchPage, replyReason, send } from '../server.ts';
import { bringIntoDocument, placeRows, startWindow } from './row-window.ts';

const kinds = ['image', 'pdf', 'audio', 'video', 'text', 'zip'] as const;

/** How a file is shown in the page; its link's class also chooses the icon. A drawing as SVG is shown as a picture alone, which runs nothing. */
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

/** A row as the service sends it in a line. */
type Line = [name: string, look: string, sizeBytes: number, modified: number];

/**
 * All rows of a page that was sent with the first ones only; unchanged ones are reused. @returns undefined after a failure, which was shown
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
      rows.push(isSame ? before : makeRow({ name, isFolder: look === 'folder', sizeBytes, modified, look }));
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

/** A member of the folder as its row in the listing. One that was not sent with the page has no cells until they are needed. */
export type Row = HTMLTableRowElement;

/** A member as the page knows it, to find out later whether it is still the same. */
export interface Member {
  name: string;
  isFolder: boolean;
  sizeBytes: number;
  /** When it was changed, in whole seconds of Unix time. */
  modified: number;
  /** Classes of its icon: the kind of its preview, and what chooses the icon where that is not the same. */
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
  const look = row.querySelector('a')?.className.slice('i '.length) ?? '';
  return {
    name: row.querySelector('input')?.value ?? '',
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

/** Cells as the service writes them; copying them for each row is faster than creating them. */
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

/** Rows that the document holds at once; of more, only those near to the window are in it. */
const maxRowsInDocument = 500;

let rows: readonly Row[] = [];

/** All rows, in the order of the page; of a long folder most are not in the document. */
export function allRows(): readonly Row[] {
  return rows;
}

/** Rows that the filter leaves; undefined without a filter. */
let left: readonly Row[] | undefined;

/** Shows only the rows that the filter leaves; all when it is undefined. */
export function showOnly(shown: readonly Row[] | undefined): void {
  left = shown;
  placeShown();
}

export function shownRows(): readonly Row[] {
  return left ?? rows;
}

/** Whether a row is still one of the page's. */
export function isThere(row: Row | undefined): row is Row {
  return row !== undefined && rows.includes(row);
}

export function rowCheckbox(row: Row): HTMLInputElement {
  return withCells(row).querySelector('input') as HTMLInputElement;
}

export function rowLink(row: Row): HTMLAnchorElement {
  return withCells(row).querySelector('a') as HTMLAnchorElement;
}

function withCells(row: Row): Row {
  return isWritten(row) ? row : writtenRow(row);
}

/** The row of the list that holds an element. */
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

/** The member's real name. */
export function rowName(row: Row): string {
  return rowMember(row).name;
}

export function isFolder(row: Row): boolean {
  return rowMember(row).isFolder;
}

/** Something that depends on the rows. @param wanted name of the row that is to be seen */
type RowsListener = (wanted?: string) => void;

let listeners: RowsListener[] = [];

/** Called once for each row with its cells. */
let finishers: ((row: Row) => void)[] = [];
const finished = new WeakSet<Row>();

/** Called for each row whenever it enters the document. */
let markers: ((row: Row) => void)[] = [];

let stopFinishing = () => {};

/** Shows anew what a page lists in place of the rows of a folder. */
let renewOthers: (() => Promise<void>) | undefined;

/** Has `renew` show anew what the page lists in place of the rows of a folder. */
export function renewBy(renew: () => Promise<void>): void {
  renewOthers = renew;
}

let whole: Promise<void> = Promise.resolve();

let coming = 0;

let changes = 0;

/** Whether all have said what depends on the rows. */
let isStarted = false;

/** Begins with the rows of a new folder; a folder that the account may not list has none. */
export function startRows(): void {
  changes++;
  isStarted = false;
  renewOthers = undefined;
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

/** Calls `listener` now and each time that the rows of the folder are new. */
export function whenRowsChange(listener: RowsListener): void {
  listeners.push(listener);
  listener();
}

/** Calls `finisher` once for each row, when that has its cells. */
export function whenRowIsWritten(finisher: (row: Row) => void): void {
  finishers.push(finisher);
}

/** Calls `marker` for each row whenever it comes into the document. */
export function whenRowIsPlaced(marker: (row: Row) => void): void {
  markers.push(marker);
}

/** Finishes the rows that the page came with, and fetches the others. To be called when all have said what depends on them. */
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

/** Settled once the page has all of its rows, or cannot have them. */
export function rowsAreWhole(): Promise<void> {
  return whole;
}

/** The row, with its cells and all that they get. */
function writtenRow(row: Row): Row {
  if (!isWritten(row)) writeCells(row);
  if (!finished.has(row)) {
    finished.add(row);
    for (const finisher of finishers) finisher(row);
  }
  return row;
}

/** Fetches the page again and takes its rows; selection and focus stay with their names. @param focusOn name of the row to focus */
export async function refreshRows(focusOn?: string): Promise<void> {
  const table = document.getElementById('list');
  if (!table) return renewOthers?.();
  // Only an ended session can be repaired here; without a connection or the folder the rows stay unchanged.
  const url = shownPage();
  const { page: fresh } = await fetchPage(url);
  const list = fresh?.getElementById('list');
  const count = fresh?.getElementById('count');
  if (!list || !count) return;
  const sent = listRows(list).map((row) => document.adoptNode(row));
  const later = comingAfter(sent, count) > 0 ? await laterRows(url, sent) : undefined;
  // Another folder may be shown by now.
  if (!table.isConnected) return;
  const focused = focusedRow();
  const focusedName = focusOn ?? (focused && rowName(focused));
  byId('count').replaceWith(document.adoptNode(count));
  takeRows(later ?? sent, focusOn);
  const row = focusedName === undefined ? undefined : shownRows().find((candidate) => rowName(candidate) === focusedName);
  if (row) focusRow(row);
  else if (focusedName !== undefined && document.activeElement === document.body) byId('members').focus();
}

async function takeLaterRows(change: number): Promise<void> {
  const later = await laterRows(shownPage(), rows);
  if (changes === change) takeRows(later ?? rows);
}

function takeRows(taken: readonly Row[], wanted?: string): void {
  changes++;
  coming = 0;
  rows = taken;
  // The filter places them.
  for (const listener of listeners) listener(wanted);
  finishAll();
}

/** Number of rows of the page beyond those that were sent. @param count the element with the number */
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

/** Says that a row is one: some browsers forget it where a table is laid out as a grid. */
function finish(row: Row): void {
  row.role = 'row';
  for (const cell of row.cells) cell.role = 'cell';
}
