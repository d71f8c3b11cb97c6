import { ask, cancelButton } from './dialogs.ts';
import { byId, make, makeButton } from './dom.ts';
import { text } from './language.ts';
import { notice } from './notices.ts';
import { isFolder, nameOf, type Row, refreshRows } from './rows.ts';
import { addAction, clearSelection, selectedRows } from './selection.ts';
import { folderUrl, memberUrl, reasonOf, send } from './server.ts';

let isOffered = false;

/** Offers renaming and moving where the service has WebDAV's MOVE (RFC 4918 §9.9). */
export async function startMove(): Promise<void> {
  if (!(await hasMove())) return;
  isOffered = true;
  addAction(text('rename'), 'rename', () => void renameSelected(), true);
  addAction(text('move'), 'move', () => void moveSelected());
  document.addEventListener('keydown', (event) => {
    if (event.key === 'F2' && !document.querySelector('dialog[open]')) void renameSelected();
  });
}

/** Whether renaming and moving are offered. */
export function offersMove(): boolean {
  return isOffered;
}

async function hasMove(): Promise<boolean> {
  try {
    const reply = await fetch(folderUrl, { method: 'OPTIONS' });
    return (reply.headers.get('allow') ?? '').split(/[\s,]+/).includes('MOVE');
  } catch {
    return false;
  }
}

/** @returns what went wrong, for people; undefined when it was moved */
async function move(row: Row, destination: string): Promise<string | undefined> {
  const headers = { destination: new URL(destination, location.href).href, overwrite: 'F' };
  try {
    const reply = await send('MOVE', memberUrl(nameOf(row), isFolder(row)), { headers });
    if (reply.ok) return undefined;
    return reply.status === 412 ? text('nameTaken') : await reasonOf(reply);
  } catch {
    return text('noConnection');
  }
}

async function renameSelected(): Promise<void> {
  const focused = document.activeElement?.closest<Row>('#list tbody tr');
  const [row] = selectedRows().length > 0 ? selectedRows() : focused ? [focused] : [];
  if (!row) return;
  const oldName = nameOf(row);
  const name = make('input', { required: true, maxLength: 255, autocomplete: 'off', value: oldName });
  const answer = await ask({
    title: text('rename'),
    content: [make('label', { className: 'labelled' }, text('renameTo'), name)],
    buttons: [cancelButton(), { value: 'ok', label: text('rename'), kind: 'primary' }],
    focus: name,
    check: async () => (name.value === oldName ? undefined : move(row, memberUrl(name.value, isFolder(row)))),
  });
  if (answer !== 'ok') return;
  clearSelection();
  notice(text('renamed', { name: name.value }));
  await refreshRows(name.value);
}

async function moveSelected(): Promise<void> {
  const rows = selectedRows();
  const chosen = { url: folderUrl };
  const place = make('p', { attributes: { role: 'status' } });
  const folders = make('ul', { className: 'names' });
  const show = (url: string) => void browse(url, chosen, place, folders, rows, show);
  show(folderUrl);
  const problems: string[] = [];
  const answer = await ask({
    title: text('moveTo'),
    content: [place, folders],
    buttons: [cancelButton(), { value: 'ok', label: text('moveHere'), kind: 'primary' }],
    check: async () => {
      for (const row of rows) {
        const problem = await move(row, chosen.url + encodeURIComponent(nameOf(row)) + (isFolder(row) ? '/' : ''));
        if (problem !== undefined) problems.push(`${nameOf(row)}: ${problem}`);
      }
      return undefined;
    },
  });
  if (answer !== 'ok') return;
  clearSelection();
  if (problems.length > 0) notice(text('error', { reason: problems.join('; ') }), 'error');
  else notice(text('moved', { count: rows.length }));
  await refreshRows();
  byId('members').focus();
}

/** Shows the folders of one folder in the dialog; a press on one goes there. */
async function browse(
  url: string,
  chosen: { url: string },
  place: HTMLElement,
  list: HTMLElement,
  rows: readonly Row[],
  show: (url: string) => void,
): Promise<void> {
  const reply = await send('GET', url).catch(() => undefined);
  if (!reply?.ok) return;
  const { content } = (await reply.json()) as { content: { name: string; is_directory: boolean }[] };
  chosen.url = url;
  place.textContent = titleOf(url);
  // A folder cannot be moved into itself.
  const own = new Set(url === folderUrl ? rows.map(nameOf) : []);
  const items = content
    .filter((entry) => entry.is_directory && !own.has(entry.name))
    .map((entry) => makeButton(entry.name, 'files', () => show(`${url}${encodeURIComponent(entry.name)}/`), 'quiet'));
  const parent = url === '/home/' ? undefined : url.replace(/[^/]+\/$/, '');
  if (parent !== undefined) items.unshift(makeButton(text('folderUp', { name: titleOf(parent) }), 'up', () => show(parent), 'quiet'));
  list.replaceChildren(...items.map((item) => make('li', {}, item)));
  if (items.length === 0) list.append(make('li', { className: 'hint' }, text('noFolders')));
  list.querySelector('button')?.focus();
}

function titleOf(url: string): string {
  const path = decodeURIComponent(url.slice('/home'.length));
  return path === '/' ? text('files') : path;
}
