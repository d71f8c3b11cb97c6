import { ask, cancelButton } from '../dialogs.ts';
import { byId, make } from '../dom.ts';
import { text } from '../language.ts';
import { folderUrl, may } from '../navigation/folder.ts';
import { notice } from '../notices.ts';
import { focusedRow, isFolder, nameOf, type Row, refreshRows } from '../rows.ts';
import { addAction, clearSelection, selectedRows } from '../selection.ts';
import { memberUrl, reasonOf, send } from '../server.ts';
import { nameProblem } from './members.ts';

let moves: Promise<boolean> | undefined;
let isOffered = false;

/** Offers renaming where the service has WebDAV's MOVE (RFC 4918 §9.9). @returns whether it does, and the folder is still shown */
export async function startRename(): Promise<boolean> {
  const bar = byId('actions');
  moves ??= hasMove();
  isOffered = await moves;
  if (!isOffered || !bar.isConnected) return false;
  addAction(text('rename'), 'rename', renameSelected, true);
  document.addEventListener('keydown', onKey);
  return true;
}

function renameSelected(): void {
  const [row, ...others] = selectedRows();
  if (row && others.length === 0) void rename(row);
  else if (row) notice(text('renameOne'), 'error');
}

function onKey(event: KeyboardEvent): void {
  if (event.key !== 'F2' || document.querySelector('dialog[open]') || !may('rename')) return;
  const row = focusedRow();
  if (row) void rename(row);
  else renameSelected();
}

/** Whether renaming is offered. */
export function offersRename(): boolean {
  return isOffered;
}

async function hasMove(): Promise<boolean> {
  try {
    const reply = await fetch(folderUrl(), { method: 'OPTIONS' });
    return (reply.headers.get('allow') ?? '').split(/[\s,]+/).includes('MOVE');
  } catch {
    moves = undefined;
    return false;
  }
}

async function rename(row: Row): Promise<void> {
  const oldName = nameOf(row);
  const field = make('input', { required: true, maxLength: 255, autocomplete: 'off', value: oldName });
  const dot = oldName.lastIndexOf('.');
  const answer = await ask({
    title: text('renameItem', { name: oldName }),
    content: [make('label', { className: 'labelled' }, text('renameTo'), field)],
    buttons: [cancelButton(), { value: 'ok', label: text('rename'), kind: 'primary' }],
    focus: field,
    selectedLength: dot > 0 && !isFolder(row) ? dot : oldName.length,
    check: async () => (field.value === oldName ? undefined : (nameProblem(field.value) ?? moveTo(row, field.value))),
  });
  if (answer !== 'ok') return;
  clearSelection();
  if (field.value !== oldName) notice(text('renamed', { name: field.value }));
  await refreshRows(field.value);
}

/** @returns what went wrong, for people; undefined when it has the new name */
async function moveTo(row: Row, newName: string): Promise<string | undefined> {
  const headers = { destination: new URL(memberUrl(newName, isFolder(row)), location.href).href, overwrite: 'F' };
  try {
    const reply = await send('MOVE', memberUrl(nameOf(row), isFolder(row)), { headers });
    if (reply.ok) return undefined;
    return reply.status === 412 ? text('nameTaken') : await reasonOf(reply);
  } catch {
    return text('noConnection');
  }
}
