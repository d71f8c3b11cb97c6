import { nameInText } from '../../../lib/display-name.ts';
import { partTexts } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import de from '../../texts/deletion/de.json' with { type: 'json' };
import en from '../../texts/deletion/en.json' with { type: 'json' };
import es from '../../texts/deletion/es.json' with { type: 'json' };
import fr from '../../texts/deletion/fr.json' with { type: 'json' };
import { text } from '../language.ts';
import { notDone } from '../navigation/folder-change.ts';
import { type Member, refreshRows } from '../rows/rows.ts';
import { type ListedMember, listMembers, listTrash } from '../server.ts';
import { byFolder, mayRepeat, messageName, type Outcome, type Placed, reasonsOf, renameMember, runAtOnce } from './commands.ts';
import { memberPath } from './shared-marks.ts';

export const undoText = partTexts<keyof typeof en>({ en, de, es, fr });

/** A move or renaming that can be undone. */
interface Change {
  /** The members as they were before. */
  members: readonly Arrived[];
  /** URL path of the folder that contains the members now. */
  to: string;
  newName?: string;
}

/** A member as it was before the move. If the move gave it another name, `arrival` has that name. */
type Arrived = Member & Pick<Placed, 'arrival'>;

interface Deletion {
  deleted: readonly Placed[];
}

/** A restoration from the trash. It is undone by deleting the members, which moves them to the trash again. */
interface Restoration {
  restored: readonly Placed[];
}

export type Undoable = Change | Deletion | Restoration;

/** The part of a change that is not undone because of a failure that can pass, and the message about that. */
interface Unfinished {
  left: Undoable;
  reason: string;
}

/** Undoes a change with ordinary requests. Members that somebody has changed since then are left as they are. */
export async function undo(change: Undoable): Promise<Unfinished | undefined> {
  if ('deleted' in change) return restore(change);
  if ('restored' in change) return deleteAgain(change);
  const { members, problems, isLost } = await unchanged(change);
  if (isLost) return tellUndone('', { problems, isLost }, change);
  let message = '';
  const { newName } = change;
  const [only] = members;
  if (newName !== undefined && only) {
    const problem = await renameMember({ ...only, name: newName }, only.name);
    if (problem === text('noConnection')) return tellUndone('', { problems, isLost: true }, change);
    if (problem === undefined) message = text('renamed', { old: messageName(newName), name: messageName(only.name) });
    else problems.push([messageName(newName), problem]);
  } else if (members.length > 0) {
    const works = [...byFolder(members)].map(([folder, group]) => ({
      command: { command: 'move', destination: decodeURIComponent(folder) } as const,
      members: group.map((member) => movedBack(member, change.to)),
    }));
    const outcome = await runAtOnce(text('undo'), works);
    let done = outcome.done.length;
    if (outcome.isStopped) {
      // The reply does not say what happened to the member in progress, so the folder is requested.
      const left = (await unchanged({ ...change, members })).members.length;
      done = members.length - left;
      notice(text('stopped', { count: left }));
    }
    problems.push(...outcome.problems);
    message = countText('restored', outcome.done[0] ?? only, done);
    const back = new Set(outcome.done.map(({ name }) => name));
    const left = { ...change, members: members.filter((member) => !back.has(nameThere(member))) };
    const result = { problems, isLost: outcome.isLost };
    if (mayRepeat(result)) return tellUndone(message, result, left, only?.name);
  }
  return tellUndone(message, { problems }, change, message === '' ? undefined : only?.name);
}

/**
 * Returns the item for the command that moves a member back: the member where it is now. If it has another name there, the command gives it
 * the old name.
 */
function movedBack(member: Arrived, to: string): Placed {
  const { arrival, ...rest } = member;
  const isRenamed = typeof arrival === 'object';
  return { ...rest, name: nameThere(member), folder: to, shownName: member.name, ...(isRenamed && { arrival: { newName: member.name } }) };
}

function nameThere({ name, arrival }: Arrived): string {
  return typeof arrival === 'object' ? arrival.newName : name;
}

/**
 * Shows the result, and refreshes the rows.
 *
 * @param message empty if nothing was undone
 * @param left what must still be undone if the failure can pass
 * @param focusOn name of the row to focus
 */
async function tellUndone(
  message: string,
  { problems, isLost = false }: { problems: Outcome['problems']; isLost?: boolean | undefined },
  left: Undoable,
  focusOn?: string,
): Promise<Unfinished | undefined> {
  if (message !== '') notice(message);
  const reason = notDone(text('undo'))(reasonsOf({ problems, isLost }));
  const isOpen = mayRepeat({ problems, isLost });
  if (problems.length > 0 && !isOpen) notice(reason, 'error');
  await refreshRows(focusOn);
  return isOpen ? { left, reason } : undefined;
}

async function deleteAgain({ restored }: Restoration): Promise<Unfinished | undefined> {
  const outcome = await runAtOnce(text('undo'), [{ command: { command: 'delete' }, members: restored }]);
  const { done } = outcome;
  const left = restored.filter((member) => !done.includes(member));
  return tellUndone(countText('trashed', done[0], done.length), outcome, { restored: left });
}

/** Restores the deleted members. If the trash contains several items with the same path, the latest item is restored. */
async function restore({ deleted }: Deletion): Promise<Unfinished | undefined> {
  const trash = await listTrash();
  if (typeof trash === 'string') return tellUndone('', lostOr(trash), { deleted });
  const latest = new Map(trash.toReversed().map(({ path, id }) => [path, id]));
  const problems: Outcome['problems'] = [];
  const members: Placed[] = [];
  for (const member of deleted) {
    const id = latest.get(memberPath(member));
    if (id === undefined) problems.push([messageName(member.name), undoText('goneFromTrash')]);
    else members.push({ name: id, folder: '/home/', shownName: member.name });
  }
  const outcome = members.length > 0 ? await runAtOnce(text('undo'), [{ command: { command: 'restore' }, members }]) : undefined;
  problems.push(...(outcome?.problems ?? []));
  const done = outcome?.done ?? [];
  const names = new Set(done.map(({ shownName }) => shownName));
  const left = deleted.filter(({ name }) => !names.has(name));
  return tellUndone(
    countText('restored', done[0], done.length),
    { problems, isLost: outcome?.isLost },
    { deleted: left },
    deleted[0]?.name,
  );
}

/** Returns a problem with all members. The problem can be that there is no connection. */
function lostOr(reason: string): { problems: Outcome['problems']; isLost: boolean } {
  const isLost = reason === text('noConnection');
  return { problems: isLost ? [] : [['', reason]], isLost };
}

function countText(message: 'restored' | 'trashed', first: Placed | undefined, count: number): string {
  if (!first || count === 0) return '';
  const values = { count, name: messageName(first.shownName ?? first.name) };
  return message === 'restored' ? undoText(message, values) : text(message, values);
}

/** Returns the members that have not changed since the move or renaming. Only these members may be moved back. */
async function unchanged({
  to,
  members,
  newName,
}: Change): Promise<{ members: Arrived[]; problems: Outcome['problems']; isLost?: boolean }> {
  const listed = await listMembers(to);
  if (typeof listed === 'string') return { members: [], ...lostOr(listed) };
  const found = new Map(listed.map((member) => [member.name, member]));
  const problems: Outcome['problems'] = [];
  const same = members.filter((member) => {
    const name = newName ?? nameThere(member);
    const isSame = isSameAs(member, found.get(name));
    if (!isSame) problems.push([messageName(name), undoText('changedSince')]);
    return isSame;
  });
  return { members: same, problems };
}

// A folder counts as unchanged even if its content has changed.
function isSameAs(member: Member, now: ListedMember | undefined): boolean {
  if (!now || now.is_directory !== member.isFolder) return false;
  return member.isFolder || (now.size === member.sizeBytes && Math.abs(now.modified - member.modified) <= 1);
}

/** Returns the name of a folder for use in a sentence. */
export function folderLabel(url: string): string {
  const path = decodeURIComponent(url.slice('/home'.length));
  return path === '/' ? text('files') : nameInText(path.replace(/\/$/, '').slice(1));
}
