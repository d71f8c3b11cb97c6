import { displayName, nameInText } from '../../../lib/display-name.ts';
import type { IconName } from '../../../lib/icon-shapes.ts';
import { byId, make, makeButton } from '../../shared/dom.ts';
import { formatTag } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { folderUrl } from '../navigation/folder.ts';
import { isFolder, type Member, type Row, rowAt, rowLink, rowMember, rowName } from '../rows/rows.ts';
import { addAction, isSelected, selectedRows } from '../rows/selection.ts';
import { listMembers } from '../server.ts';
import { askAndRun, type Outcome, runAtOnce, showOutcome, type TransferKind } from './commands.ts';
import { noticeUndoable } from './undo.ts';

/** Rows on their way to another folder. */
let dragged: readonly Row[] = [];

let target: HTMLElement | undefined;

/** Rows can be dragged to the folders of the list, and to those on the way to this one; files that are dragged in from elsewhere are uploaded. */
export function startDrag(): void {
  endDrag();
  byId('list').addEventListener('dragstart', (event) => {
    const row = rowAt(event.target);
    if (row && event.dataTransfer) beginDrag(row, event.dataTransfer);
  });
  byId('main').addEventListener('dragover', (event) => {
    show(dropTarget(event));
    if (!target || !event.dataTransfer) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'move';
  });
  byId('main').addEventListener('drop', (event) => {
    const link = linkIn(dropTarget(event));
    if (!link) return;
    event.preventDefault();
    void moveTo(link.pathname);
  });
  byId('main').addEventListener('dragend', endDrag);
}

/** Dragging a selected row drags the whole selection, another row only itself. */
function beginDrag(row: Row, transfer: DataTransfer): void {
  dragged = isSelected(row) ? selectedRows() : [row];
  // Elsewhere it is a link as ever.
  transfer.effectAllowed = 'all';
  for (const each of dragged) each.classList.add('dragged');
  const count = dragged.length;
  const badge = make('div.badge', count === 1 ? displayName(rowName(row)) : text('selected', { count }));
  document.body.append(badge);
  transfer.setDragImage(badge, -12, -8);
  // The browser has painted it by then.
  setTimeout(() => badge.remove());
}

function dropTarget({ target: place }: DragEvent): HTMLElement | undefined {
  if (dragged.length === 0 || !(place instanceof Element)) return undefined;
  const row = place.closest<Row>('#list tbody tr');
  if (row) return isFolder(row) && !dragged.includes(row) ? row : undefined;
  return place.closest<HTMLElement>('.crumbs a:not([aria-current])') ?? undefined;
}

function linkIn(place: HTMLElement | undefined): HTMLAnchorElement | undefined {
  if (place instanceof HTMLTableRowElement) return rowLink(place);
  return place instanceof HTMLAnchorElement ? place : undefined;
}

function show(place: HTMLElement | undefined): void {
  if (place === target) return;
  target?.classList.remove('target');
  place?.classList.add('target');
  target = place;
}

function endDrag(): void {
  show(undefined);
  for (const row of dragged) row.classList.remove('dragged');
  dragged = [];
}

/** @param to URL path of the folder */
async function moveTo(to: string): Promise<void> {
  const from = folderUrl();
  const members = dragged.map(rowMember);
  endDrag();
  const main = byId('main');
  main.ariaBusy = 'true';
  const names = members.map(({ name }) => name);
  const outcome = await runAtOnce(text('move'), { command: 'move', destination: decodeURIComponent(to) }, names, from);
  main.ariaBusy = null;
  await showMoved(outcome, members, from, to);
}

async function showMoved(outcome: Outcome, members: readonly Member[], from: string, to: string): Promise<void> {
  const done = new Set(outcome.done);
  await showOutcome(outcome, 'moved', (message) => {
    noticeUndoable(message, { from, to, members: members.filter(({ name }) => done.has(name)) });
  });
}

const words = {
  move: { title: 'moveTo', here: 'moveHere' },
  copy: { title: 'copyTo', here: 'copyHere' },
} as const;

/** As the rows of the page are ordered. */
const naturally = new Intl.Collator(formatTag, { numeric: true }).compare;

/** Offers to move what is selected to another folder, or to copy the files of it. */
export function offerTransfer(kind: TransferKind): void {
  addAction({ label: text(kind), icon: kind, run: (rows) => void transfer(kind, rows), isForOne: false });
}

async function transfer(kind: TransferKind, selected: readonly Row[]): Promise<void> {
  // The service copies no folders.
  const rows = kind === 'copy' ? selected.filter((row) => !isFolder(row)) : selected;
  if (rows.length === 0) return void notice(text('copyFilesOnly'), 'error');
  const { title, here } = words[kind];
  const from = folderUrl();
  const members = rows.map(rowMember);
  const names = members.map(({ name }) => name);
  const browser = browseFolders(from, new Set(names));
  const left = rows.length < selected.length && make('p.hint', text('copyFilesOnly'));
  const content = [left, ...browser.content];
  const outcome = await askAndRun(text(title), content, { label: text(here), kind: 'primary' }, names, () => ({
    command: kind,
    destination: decodeURIComponent(browser.chosen),
  }));
  if (!outcome) return;
  if (kind === 'copy') await showOutcome(outcome, 'copied');
  else await showMoved(outcome, members, from, browser.chosen);
}

/** Has a folder chosen, from the one of the page on. @param moved names there that are to be moved: no folder goes into itself */
function browseFolders(from: string, moved: ReadonlySet<string>) {
  const place = make('p', { role: 'status' });
  const problem = make('p.notice.error', { hidden: true, role: 'alert' });
  const folders = make('ul.names');
  const browser = { chosen: from, content: [place, problem, folders] };
  const wayTo = (label: string, icon: IconName, url: string) => makeButton(label, icon, () => void browse(url), 'quiet');

  const browse = async (url: string) => {
    const content = await listMembers(url);
    // A press of "Move here" meant the folder shown before.
    if (folders.inert) return;
    problem.hidden = typeof content !== 'string';
    if (typeof content === 'string') {
      problem.textContent = `${folderLabel(url)}: ${content}`;
      return;
    }
    browser.chosen = url;
    place.textContent = folderLabel(url);
    const items = content
      .filter(({ name, is_directory }) => is_directory && (url !== from || !moved.has(name)))
      .map(({ name }) => name)
      .sort(naturally)
      .map((name) => wayTo(displayName(name), 'files', `${url}${encodeURIComponent(name)}/`));
    const parent = url.replace(/[^/]+\/$/, '');
    if (url !== '/home/') items.unshift(wayTo(text('folderUp', { name: folderLabel(parent) }), 'up', parent));
    folders.replaceChildren(...items.map((item) => make('li', item)));
    if (items.length === 0) folders.append(make('li.hint', text('noFolders')));
    folders.querySelector('button')?.focus();
  };

  void browse(from);
  return browser;
}

function folderLabel(url: string): string {
  const path = decodeURIComponent(url.slice('/home'.length));
  return path === '/' ? text('files') : nameInText(path);
}
