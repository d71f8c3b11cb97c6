import { displayName } from '../../../lib/display-name.ts';
import { byId, make } from '../../shared/dom.ts';
import { text } from '../language.ts';
import { partFor, whileBusy } from '../navigation/folder-change.ts';
import { isFolder, type Member, type Row, rowAt, rowLink, rowMember, rowName } from '../rows/rows.ts';
import { addAction, isSelected, selectedRows } from '../rows/selection.ts';
import { failedTexts, messageName, outermost, type TransferKind } from './commands.ts';

let dragged: readonly Row[] = [];

let target: HTMLElement | undefined;

/**
 * Lets the user drag rows to folders in the list and in the breadcrumbs. Files that are dragged in from outside the page are handled in
 * `uploads/`.
 */
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

/** Starts to drag. If the row is selected, the whole selection is dragged; otherwise only this row. */
function beginDrag(row: Row, transfer: DataTransfer): void {
  dragged = isSelected(row) ? selectedRows() : [row];
  // With `all`, the row can be dropped outside the page like any link.
  transfer.effectAllowed = 'all';
  for (const each of dragged) each.classList.add('dragged');
  const count = dragged.length;
  const badge = make('div.badge', count === 1 ? displayName(rowName(row)) : text('selected', { count }));
  document.body.append(badge);
  transfer.setDragImage(badge, -12, -8);
  // Before this callback runs, the browser has copied the image.
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

/** Moves the dragged rows. @param to URL path of the destination folder */
async function moveTo(to: string): Promise<void> {
  const members = outermost(dragged.map(rowMember));
  endDrag();
  await moveMembers(members, to);
}

async function moveMembers(members: readonly Member[], to: string): Promise<void> {
  const part = await loadTransfer('move', members, () => void moveMembers(members, to));
  if (part) await whileBusy(part.transferTo('move', members, to));
}

function loadTransfer(kind: TransferKind, members: readonly Member[], again: () => void) {
  const tell = (reason: string) => text(failedTexts[kind], { count: members.length, name: messageName(members[0]?.name ?? ''), reason });
  return partFor('transfer', () => import('./transfer.ts'), tell, again);
}

/** Offers to move or copy the selection to another folder. */
export function offerTransfer(kind: TransferKind): void {
  addAction({
    label: text(kind),
    icon: kind,
    run: (rows) => void transferMembers(kind, rows.map(rowMember)),
    isForOne: false,
  });
}

async function transferMembers(kind: TransferKind, members: readonly Member[]): Promise<void> {
  const part = await loadTransfer(kind, members, () => void transferMembers(kind, members));
  await part?.transfer(kind, outermost(members));
}
