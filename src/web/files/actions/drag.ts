import { displayName } from '../../../lib/display-name.ts';
import { byId, make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { folderUrl } from '../navigation/folder.ts';
import { isFolder, linkOf, memberOf, nameOf, type Row } from '../rows/rows.ts';
import { isSelected, selectedRows } from '../rows/selection.ts';
import { runAtOnce, showOutcome } from './commands.ts';
import { noticeUndoable } from './undo.ts';

/** Rows on their way to another folder. */
let dragged: readonly Row[] = [];

let target: HTMLElement | undefined;

/** Rows can be dragged to the folders of the list, and to those on the way to this one; files that are dragged in from elsewhere are uploaded. */
export function startDrag(): void {
  endDrag();
  byId('list').addEventListener('dragstart', (event) => {
    const row = event.target instanceof Element ? event.target.closest<Row>('tbody tr') : null;
    if (row && event.dataTransfer) beginDrag(row, event.dataTransfer);
  });
  byId('main').addEventListener('dragover', (event) => {
    show(targetOf(event));
    if (!target || !event.dataTransfer) return;
    event.preventDefault();
    event.dataTransfer.dropEffect = 'move';
  });
  byId('main').addEventListener('drop', (event) => {
    const link = linkIn(targetOf(event));
    if (!link) return;
    event.preventDefault();
    void moveTo(link.pathname);
  });
  byId('main').addEventListener('dragend', endDrag);
}

/** A row of the selection takes all of it along, another one goes alone. */
function beginDrag(row: Row, transfer: DataTransfer): void {
  dragged = isSelected(row) ? selectedRows() : [row];
  // Elsewhere it is a link as ever.
  transfer.effectAllowed = 'all';
  for (const each of dragged) each.classList.add('dragged');
  const count = dragged.length;
  const badge = make('div', { className: 'badge' }, count === 1 ? displayName(nameOf(row)) : text('selected', { count }));
  document.body.append(badge);
  transfer.setDragImage(badge, -12, -8);
  // The browser has painted it by then.
  setTimeout(() => badge.remove());
}

function targetOf({ target: place }: DragEvent): HTMLElement | undefined {
  if (dragged.length === 0 || !(place instanceof Element)) return undefined;
  const row = place.closest<Row>('#list tbody tr');
  if (row) return isFolder(row) && !dragged.includes(row) ? row : undefined;
  return place.closest<HTMLElement>('.crumbs a:not([aria-current])') ?? undefined;
}

function linkIn(place: HTMLElement | undefined): HTMLAnchorElement | undefined {
  if (place instanceof HTMLTableRowElement) return linkOf(place);
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
  const members = dragged.map(memberOf);
  endDrag();
  const main = byId('main');
  main.ariaBusy = 'true';
  const names = members.map(({ name }) => name);
  const outcome = await runAtOnce(text('move'), { command: 'move', destination: decodeURIComponent(to) }, names, from);
  main.ariaBusy = null;
  const done = new Set(outcome.done);
  await showOutcome(outcome, 'moved', (message) => {
    noticeUndoable(message, { from, to, members: members.filter(({ name }) => done.has(name)) });
  });
}
