import { escapeInvisible } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { showDate } from '../../shared/dates.ts';
import { make } from '../../shared/dom.ts';
import { sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { deleteMembers, shareMember } from '../actions/members.ts';
import { transferMembers } from '../actions/move.ts';
import { canMove, rename } from '../actions/rename.ts';
import { addMenuButton, closeMenu, type Item, showMenu } from '../actions/row-menu.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { showFolder } from '../navigation/folder-change.ts';
import { leadToPreview } from '../navigation/links.ts';
import { kindOfFile, type Member } from '../rows/rows.ts';
import { type ListedMember, memberUrl, obstacle } from '../server.ts';
import { watchForThumbnail } from '../thumbnails/thumbnails.ts';
import { foundText } from './found-text.ts';

/** A member that a search found. Its path begins at the account's root. */
export type FoundMember = ListedMember & { path: string };

/** Whether members can be renamed and moved; false until that is known. */
let isMovable = false;

/** Returns the path of the folder that contains a result. */
export function parentOf({ path, name }: Pick<FoundMember, 'path' | 'name'>): string {
  return path.slice(0, path.length - name.length);
}

/** Builds a row of the results with name, folder, size, time, and a menu like that of a row in a folder. @param wanted the searched text */
export function foundRow(found: FoundMember, wanted: string): HTMLTableRowElement {
  const { name, is_directory: isFolder, size } = found;
  const folder = homeUrl(parentOf(found));
  const look = isFolder ? 'folder' : fileIconClasses(name);
  const member = { name, isFolder, sizeBytes: size, modified: Math.floor(found.modified), look };
  const url = memberUrl(name, isFolder, folder);
  const link = make('a', { className: `i ${look}`, href: url }, make('bdi', ...marked(escapeInvisible(name), wanted)));
  leadToPreview(link);
  const place = parentOf(found) === '/' ? text('files') : escapeInvisible(parentOf(found).slice(0, -1));
  const time = make('td', { attributes: { 'data-time': String(member.modified) } });
  showDate(time);
  const about = isFolder ? make('span.hidden', foundText('folder')) : sizeText(size);
  const row = make(
    'tr',
    { role: 'row' },
    make('td', link),
    make('td', make('a', { href: folder }, make('bdi', place))),
    make('td', about),
    time,
  );
  for (const cell of row.cells) cell.role = 'cell';
  const button = addMenuButton(row, name);
  // The arrow keys do not reach these buttons, as they do in a folder, so the buttons are in the tab order.
  button.tabIndex = 0;
  const open = (from: HTMLElement, beside: DOMRect) => showMenu(from, beside, button.ariaLabel ?? '', itemsFor(link, member, folder));
  button.addEventListener('click', () => {
    if (button.ariaExpanded === 'true') closeMenu(true);
    else open(button, button.getBoundingClientRect());
  });
  row.addEventListener('contextmenu', (event) => {
    if (event.shiftKey) return;
    event.preventDefault();
    link.focus({ preventScroll: true });
    open(link, new DOMRect(event.clientX, event.clientY));
  });
  if (may('read')) watchForThumbnail(row, { ...member, url, kind: isFolder ? undefined : kindOfFile(name, look.split(' ')), link });
  void canMove().then((can) => {
    isMovable = can;
  });
  return row;
}

/** Returns the same menu items as in the folder of the result. The service decides about each of them by the rights in that folder. */
function itemsFor(link: HTMLAnchorElement, member: Member, folder: string): Item[] {
  const { isFolder } = member;
  const can = isMovable && may('rename');
  const items: (Item | false)[] = [
    isFolder && { label: text('keyOpen'), icon: 'files', run: () => link.click() },
    // If a file has a preview, its link leads to that.
    link.search !== '' && may('read') && { label: text('preview'), icon: 'eye', run: () => link.click() },
    { label: foundText('showInFolder'), icon: 'up', run: () => void showFolder(new URL(folder, location.href)) },
    may('read') && { label: text('download'), icon: 'download', run: () => void download(member, folder) },
    may('share') && { label: text('share'), icon: 'share', run: () => void shareMember(member, folder) },
    can && { label: text('rename'), icon: 'rename', run: () => void rename(member, folder) },
    can && { label: text('move'), icon: 'move', run: () => void transferMembers('move', [member], folder) },
    may('read') &&
      (may('write') || may('rename')) && { label: text('copy'), icon: 'copy', run: () => void transferMembers('copy', [member], folder) },
    may('delete') && { label: text('delete'), icon: 'trash', isDanger: true, run: () => void deleteMembers([member], folder) },
  ];
  return items.filter((item) => item !== false);
}

/** Downloads a file, or a folder as an archive. */
async function download({ name, isFolder }: Member, folder: string): Promise<void> {
  if (!isFolder) return make('a', { href: memberUrl(name, false, folder), download: name }).click();
  const problem = await obstacle(memberUrl(name, true, folder));
  if (problem !== undefined) return void notice(text('error', { reason: problem }), 'error');
  const field = (key: string, value: string) => make('input', { type: 'hidden', name: key, value });
  const fields = [field('action', 'download-members'), field('selected-members', name)];
  const form = make('form.archive', { method: 'post', action: folder, enctype: 'multipart/form-data', hidden: true }, ...fields);
  document.body.append(form);
  form.requestSubmit();
  form.remove();
}

/** Highlights the searched text in a name, ignoring case. If the name does not contain it in that form, the name is returned unchanged. */
export function marked(name: string, wanted: string): (Node | string)[] {
  const at = name.toLowerCase().indexOf(wanted.toLowerCase());
  if (wanted === '' || at < 0 || name.toLowerCase().length !== name.length) return [name];
  const end = at + wanted.length;
  return [name.slice(0, at), make('mark', name.slice(at, end)), name.slice(end)];
}

/** Returns the URL path for a path of the account. */
function homeUrl(path: string): string {
  return `/home${path.split('/').map(encodeURIComponent).join('/')}`;
}
