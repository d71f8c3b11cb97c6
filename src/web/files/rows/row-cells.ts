import { escapeInvisible, visibleControls } from '../../../lib/display-name.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { text } from '../language.ts';

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

/** What the page knows of a row's member. */
export function memberOf(row: Row): Member {
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

/** A row without cells. */
export function makeRow(member: Member): Row {
  const row = document.createElement('tr');
  members.set(row, member);
  return row;
}

/** Whether a row has its cells. */
export function isWritten(row: Row): boolean {
  return row.firstElementChild !== null;
}

/** Cells as the service writes them; a copy for each row costs less than making them anew. */
const template = new DocumentFragment();
template.append(
  make('td', {}, make('input', { type: 'checkbox', name: 'selected-members' })),
  make('td', {}, make('a')),
  make('td'),
  make('td'),
);

/** Gives a row its cells. */
export function writeCells(row: Row): void {
  const { name, isFolder, sizeBytes, modified, look } = memberOf(row);
  row.append(template.cloneNode(true));
  const [boxCell, nameCell, sizeCell, timeCell] = row.cells as unknown as [
    Row['cells'][0],
    Row['cells'][0],
    Row['cells'][0],
    Row['cells'][0],
  ];
  const box = boxCell.firstChild as HTMLInputElement;
  const shown = visibleControls(name);
  box.value = name;
  box.setAttribute('aria-label', text('selectName', { name: shown }));
  const link = nameCell.firstChild as HTMLAnchorElement;
  link.className = `i ${look}`;
  link.setAttribute('href', `./${encodeURIComponent(name)}${isFolder ? '/' : ''}`);
  link.append(/^[ -~]+$/.test(name) ? name : make('bdi', {}, escapeInvisible(shown)));
  sizeCell.append(isFolder ? make('span', { className: 'hidden' }, text('folder')) : sizeText(sizeBytes));
  timeCell.dataset.time = String(modified);
}
