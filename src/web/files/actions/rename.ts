import { nameInText } from '../../../lib/display-name.ts';
import { byId } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { folderUrl, may } from '../navigation/folder.ts';
import { focusedRow, type Member, type Row, refreshRows, rowMember } from '../rows/rows.ts';
import { addAction, clearSelection, selectedRows } from '../rows/selection.ts';
import { messageName, renameMember } from './commands.ts';
import { askName, noticeUndoable } from './members.ts';

let moves: Promise<boolean> | undefined;

/** Returns whether the service supports WebDAV's MOVE (RFC 4918 §9.9). */
function canMove(): Promise<boolean> {
  moves ??= hasMove();
  return moves;
}

export let isRenameOffered = false;

/** Offers renaming if the service supports MOVE. @returns whether renaming is offered; false if another folder was opened meanwhile */
export async function startRename(): Promise<boolean> {
  const bar = byId('actions');
  isRenameOffered = await canMove();
  if (!isRenameOffered || !bar.isConnected) return false;
  addAction({ label: text('rename'), icon: 'rename', run: renameOne, isForOne: true }, 'copy');
  document.addEventListener('keydown', onKey);
  return true;
}

function renameOne([row, ...others]: readonly Row[]): void {
  if (row && others.length === 0) void rename(rowMember(row));
  else if (row) notice(text('renameOne'), 'error');
}

function onKey(event: KeyboardEvent): void {
  if (event.key !== 'F2' || document.querySelector('dialog[open]') || !may('rename')) return;
  const row = focusedRow();
  if (row) void rename(rowMember(row));
  else renameOne(selectedRows());
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

async function rename(member: Member): Promise<void> {
  const oldName = member.name;
  const dot = oldName.lastIndexOf('.');
  const question = {
    title: text('renameItem', { name: nameInText(oldName) }),
    label: text('renameTo'),
    button: text('rename'),
    value: oldName,
    selectedLength: dot > 0 && !member.isFolder ? dot : oldName.length,
  };
  const newName = await askName(question, (name) => renameMember(member, name));
  if (newName === undefined) return;
  clearSelection();
  if (newName !== oldName) {
    noticeUndoable(text('renamed', { old: messageName(oldName), name: messageName(newName) }), {
      to: member.folder,
      members: [member],
      newName,
    });
  }
  await refreshRows(newName);
}
