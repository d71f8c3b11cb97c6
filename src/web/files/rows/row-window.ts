import { make } from '../../shared/dom.ts';

type Row = HTMLTableRowElement;

/** Rows are kept in the document up to this distance above and below the window, as a fraction of the window's height. */
const readyPart = 0.75;

/**
 * Maximum time in milliseconds for adding visible rows before a frame, and number of rows added in one step. A longer time would delay
 * painting on a slow machine.
 */
const budgetMs = 8;
const rowsAtOnce = 3;

/** Number of rows added in one step when all rows must enter the document. It is larger, because invisible rows need no layout. */
const hiddenRowsAtOnce = 60;

/**
 * Delays in milliseconds before more rows are added. The delay is usually `frameMs`, so that each group of rows has its own frame. After
 * the page was scrolled, the delay is `scrolledMs` if only invisible rows are missing.
 */
const frameMs = 20;
const scrolledMs = 100;

let table: HTMLElement | undefined;
let body = make('tbody', { role: 'rowgroup' });

let rows: readonly Row[] = [];

let coming = 0;

/** Whether only a part of the rows is in the document: those from `from` up to, but not including, `to`. */
let isPart = false;

let areAllWanted = false;
let from = 0;
let to = 0;

let prepare: (row: Row) => void = () => {};

/** Number of tiles in a line, the height of a line including the gap below it, and the height of this gap. Heights are in CSS pixels. */
let columns = 1;
let lineHeight = 46;
let gapHeight = 0;
let isMeasured = false;

/** Starts with a table that contains its first rows. @param preparation called for each row before it is added to the document */
export function startWindow(shown: HTMLElement, preparation: (row: Row) => void): void {
  table = shown;
  body = table.querySelector('tbody') ?? make('tbody', { role: 'rowgroup' });
  rows = [...body.rows];
  [from, to] = [0, rows.length];
  prepare = preparation;
  isMeasured = false;
  areAllWanted = false;
  table.addEventListener('viewchange', onNewSizes);
}

/** Shows these rows. @param folder whether it has too many rows to put all of them into the document, and how many are not loaded yet */
export function placeRows(shown: readonly Row[], folder: { isLong: boolean; coming: number }): void {
  const areTheSame = from < to && rows.slice(from, to).every((row, index) => row === shown[from + index]);
  rows = shown;
  coming = folder.coming;
  isPart = folder.isLong;
  table?.classList.toggle('long', isPart && !areAllWanted);
  if (table) table.ariaRowCount = isPart ? String(rows.length + coming + 1) : null;
  if (!isPart) place(0, rows.length);
  else if (areTheSame) {
    place(from, to);
    followIn(frameMs);
  } else {
    place(0, 0);
    follow();
  }
}

export function placedRows(): readonly Row[] {
  return [...body.rows];
}

/** Puts a row into the document, in place of the rows that were there before. The rows next to it follow when the page scrolls. */
export function bringIntoDocument(row: Row): void {
  const at = rows.indexOf(row);
  if (row.isConnected || at < 0) return;
  const first = firstOfLine(at);
  place(first, Math.min(rows.length, first + columns));
}

/** Returns the number of tiles in a line; 1 in the list. */
export function tilesOfLine(): number {
  if (!isMeasured) measure();
  return columns;
}

addEventListener('scroll', () => follow(scrolledMs), { passive: true });
addEventListener('keydown', onKey);
addEventListener('resize', onNewSizes);
addEventListener('beforeprint', () => isPart && place(0, rows.length));
addEventListener('afterprint', () => follow());

function onNewSizes(): void {
  isMeasured = false;
  follow();
}

/** Adds all rows when the user opens the browser's search, because that finds only text in the document. */
function onKey({ key, ctrlKey, metaKey }: KeyboardEvent): void {
  if (key !== 'F3' && !((ctrlKey || metaKey) && ['f', 'g'].includes(key.toLowerCase()))) return;
  areAllWanted = true;
  table?.classList.remove('long');
  follow();
}

let soon = 0;

function followIn(pauseMs: number): void {
  clearTimeout(soon);
  soon = window.setTimeout(follow, pauseMs, frameMs);
}

function follow(pauseMs = frameMs): void {
  if (!isPart || !body.isConnected) return;
  const endMs = performance.now() + budgetMs;
  let missing = step();
  while (missing === 'in sight' && performance.now() < endMs) missing = step();
  if (missing) followIn(missing === 'in sight' ? frameMs : pauseMs);
}

/** Adds some rows to the document, visible ones first. @returns the kind of rows that are still missing; undefined if none are */
function step(): 'in sight' | 'ready' | undefined {
  const [first, end] = inSight();
  const ready = areAllWanted ? rows.length : linesInHeight(innerHeight * readyPart) * columns;
  const some = linesFor(areAllWanted ? hiddenRowsAtOnce : rowsAtOnce) * columns;
  const [firstReady, endReady] = [Math.max(0, first - ready), Math.min(rows.length, end + ready)];
  const isNear = from < end && first < to;
  let [nextFrom, nextTo] = isNear ? [Math.max(from, firstReady), Math.min(to, endReady)] : [first, first];
  if (nextTo < end) nextTo = Math.min(end, nextTo + some);
  else if (nextFrom > first) nextFrom = Math.max(first, nextFrom - some);
  else [nextFrom, nextTo] = [Math.max(firstReady, nextFrom - some), Math.min(endReady, nextTo + some)];
  if (nextFrom !== from || nextTo !== to) place(firstOfLine(nextFrom), nextTo);
  if (nextFrom > first || nextTo < end) return 'in sight';
  return nextFrom > firstReady || nextTo < endReady ? 'ready' : undefined;
}

function inSight(): [first: number, end: number] {
  if (!isMeasured) measure();
  const count = linesInHeight(innerHeight) + 1;
  const first = Math.max(0, Math.min(Math.floor(lineAt(0)), linesFor(rows.length) - count));
  const end = Math.max(first + count, Math.ceil(lineAt(innerHeight)));
  return [first * columns, Math.min(rows.length, end * columns)];
}

/**
 * Returns the line at a vertical position in the window. Rows in the document count with their real height, and others with the average
 * height.
 */
function lineAt(y: number): number {
  const [first, last] = [rows[from], rows[to - 1]];
  const top = (row: Row) => row.getBoundingClientRect().top;
  if (!first?.isConnected || !last?.isConnected) return (y - body.getBoundingClientRect().top) / lineHeight;
  const [firstTop, lastBottom] = [top(first), last.getBoundingClientRect().bottom + gapHeight];
  const [firstLine, endLine] = [from / columns, linesFor(to)];
  if (y < firstTop) return firstLine - (firstTop - y) / lineHeight;
  if (y > lastBottom) return endLine + (y - lastBottom) / lineHeight;
  return firstLine + ((y - firstTop) / (lastBottom - firstTop)) * (endLine - firstLine);
}

function linesInHeight(height: number): number {
  return Math.ceil(height / lineHeight);
}

function linesFor(count: number): number {
  return Math.ceil(count / columns);
}

function firstOfLine(index: number): number {
  return index - (index % columns);
}

function measure(): void {
  const heights = placedRows().map((row) => row.getBoundingClientRect().height);
  const style = getComputedStyle(body);
  const sum = heights.reduce((before, height) => before + height, 0);
  if (sum === 0) return;
  columns = style.display === 'grid' ? style.gridTemplateColumns.split(' ').length : 1;
  gapHeight = Number.parseFloat(style.rowGap) || 0;
  lineHeight = sum / heights.length + gapHeight;
  isMeasured = true;
}

/** Keeps only these rows and the focused row in the document. The latter is kept because the next key starts from it. */
function place(first: number, end: number): void {
  [from, to] = [first, end];
  const focused = rows.indexOf(document.activeElement?.closest<Row>('#list tbody tr') as Row);
  const parts: [first: number, end: number][] = [[first, end]];
  if (focused >= end) parts.push([focused, focused + 1]);
  else if (focused >= 0 && focused < first) parts.unshift([focused, focused + 1]);
  const wanted: HTMLElement[] = [];
  let line = 0;
  const leaveRoom = (upTo: number) => {
    if (upTo > line) wanted.push(room((upTo - line) * lineHeight - gapHeight));
  };
  for (const [partFirst, partEnd] of parts) {
    leaveRoom(Math.floor(partFirst / columns));
    for (let index = partFirst; index < partEnd; index++) wanted.push(prepared(index));
    line = linesFor(partEnd);
  }
  leaveRoom(linesFor(rows.length + coming));
  putIn(wanted);
}

function prepared(index: number): Row {
  const row = rows[index] as Row;
  prepare(row);
  const place = isPart ? String(index + 2) : null;
  if (row.ariaRowIndex !== place) row.ariaRowIndex = place;
  return row;
}

function room(height: number): HTMLElement {
  const element = make('div.room', { ariaHidden: 'true' });
  element.style.height = `${height}px`;
  return element;
}

/** Puts elements into the table. It does not move rows that are kept, because a moved row is laid out again and loses the focus. */
function putIn(wanted: readonly HTMLElement[]): void {
  const kept = new Set<Element>(wanted);
  for (const element of [...body.children]) if (!kept.has(element)) element.remove();
  let next = body.firstElementChild;
  for (const element of wanted) {
    if (element === next) next = next.nextElementSibling;
    else body.insertBefore(element, next);
  }
  if (wanted.length === 0) body.remove();
  else if (!body.isConnected) table?.append(body);
}
