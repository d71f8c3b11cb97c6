import { nameInText } from '../../../lib/display-name.ts';
import { ask, firstOf, progressBar } from '../../shared/dialogs.ts';
import { byId } from '../../shared/dom.ts';
import { readLines } from '../../shared/lines.ts';
import { measureAs, middleCut } from '../../shared/long-names.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { forgetFailure, noticeFailed, whileBusy } from '../navigation/folder-change.ts';
import { type Member, refreshRows } from '../rows/rows.ts';
import { deselect } from '../rows/selection.ts';
import { isPassing, listMembers, memberUrl, replyReason, scriptHeaders, send, trySend } from '../server.ts';

/**
 * A file or folder: its name and the URL path of its folder. For an item of the trash, the name is its ID, and `shownName` is the name in
 * messages.
 */
export type Placed = Pick<Member, 'name' | 'folder'> & { shownName?: string; arrival?: Arrival };

/** How a moved or copied item arrives: under another name, over an existing file, or not at all because the user skips it. */
export type Arrival = { newName: string } | 'overwrite' | 'skip';

/** Width of a shortened name in a message, in CSS pixels. Messages shorten names only on narrow screens. */
const shortNamePx = 210;

/** Returns a name for use in a message. On phones, an ellipsis replaces the middle of a long name, so that the message stays short. */
export function messageName(name: string): string {
  measureAs(document.body);
  const isNarrow = matchMedia('(max-width: 30rem)').matches;
  const parts = isNarrow && middleCut(name, shortNamePx, undefined, 1);
  return nameInText(parts ? `${parts[0]}…${parts[2]}` : name);
}

/** Returns the name of a member for use in a message. */
function nameOf({ name, shownName }: Pick<Placed, 'name' | 'shownName'>): string {
  return messageName(shownName ?? name);
}

export interface Outcome<T extends Placed = Placed> {
  members: readonly T[];
  done: T[];
  /** Reasons of refusals, with the name of the member; without a name if the reason applies to all members. */
  problems: [name: string, reason: string, status?: number | undefined][];
  /** Whether the connection was lost, so that the result for the remaining members is unknown. */
  isLost: boolean;
  isStopped: boolean;
  /** Returns the message about members that are not done, for a command that also stops within a folder. */
  stoppedText?: (values: { count: number }) => string;
}

/** Progress of copying one folder. */
type Part = { done: number; total: number };

interface Course {
  /**
   * Called with the number of processed members, including failed ones, and with the progress of the current member if it is a copied
   * folder.
   */
  onProgress: (count: number, part?: Part) => void;
  /** Aborted to stop the command. The service then stops its work, too. */
  signal: AbortSignal;
}

/** A folder command without its targets. Such a command is a POST to a folder. Its targets are members of that folder. */
type Command = { command: 'delete' | 'restore' } | { command: TransferKind; destination: string };

/** A command and its targets, which can be in several folders. */
export interface Work<T extends Placed> {
  command: Command;
  members: readonly T[];
}

export type TransferKind = 'move' | 'copy';

/**
 * Maximum number of targets in one request, and of characters in their names. They match the limits of the service
 * (docs/spec/http.md#bad-input).
 */
const maxTargets = 10_000;
const maxCharacters = 250_000;

/** Assumed length of a command for a single member, without the names. */
const ownCommandCharacters = 300;

export const maxProblems = 5;

function keepPage(event: Event): void {
  event.preventDefault();
}

/** Groups members by the URL paths of their folders. */
export function byFolder<T extends Placed>(members: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const member of members) {
    const group = groups.get(member.folder);
    if (group) group.push(member);
    else groups.set(member.folder, [member]);
  }
  return groups;
}

/**
 * Leaves out members that are inside other given members. Search results can contain a folder and its content, and a command for the folder
 * also covers the content.
 */
export function outermost(members: readonly Member[]): Member[] {
  const folders = members.filter(({ isFolder }) => isFolder).map(({ name, folder }) => memberUrl(name, true, folder));
  const isInside = ([folder]: [string, Member[]]) => folders.some((other) => folder.startsWith(other));
  return [...byFolder(members)].filter((group) => !isInside(group)).flatMap(([, group]) => group);
}

/** Runs folder commands one after the other. The service stops a command if the user leaves the page. Never rejects. */
export async function run<T extends Placed>(works: readonly Work<T>[], course: Course): Promise<Outcome<T>> {
  const outcome: Outcome<T> = { members: works.flatMap(({ members }) => members), done: [], problems: [], isLost: false, isStopped: false };
  let through = 0;
  course.onProgress(0);
  window.addEventListener('beforeunload', keepPage);
  try {
    for (const { command, members } of works) {
      for (const [folder, group] of byFolder(members)) {
        // Members that are already in the destination need no command, unless they get another name.
        const isThere = 'destination' in command && decodeURIComponent(folder) === command.destination;
        const meant = group.filter(({ arrival }) => arrival !== 'skip' && (!isThere || arrival));
        const refusal = meant.length > 0 ? await runInFolder(command, folder, meant, { ...course, outcome, through }) : undefined;
        if (refusal) {
          const names = firstOf(meant.map(nameOf), maxProblems).join(', ');
          outcome.problems.push([meant.length < outcome.members.length ? names : '', await replyReason(refusal), refusal.status]);
        }
        through += group.length;
        course.onProgress(through);
      }
    }
  } catch {
    if (course.signal.aborted) outcome.isStopped = true;
    else outcome.isLost = true;
  } finally {
    window.removeEventListener('beforeunload', keepPage);
  }
  return outcome;
}

/**
 * Runs a command on members of one folder, and adds its result to the outcome.
 *
 * @param through number of members that were processed before
 * @returns the reply if the service refused the whole request
 * @throws when the connection is lost or the signal is aborted
 */
async function runInFolder<T extends Placed>(
  command: Command,
  folder: string,
  group: readonly T[],
  { onProgress, signal, outcome, through }: Course & { outcome: Outcome<T>; through: number },
): Promise<Response | undefined> {
  const members = new Map(group.map((member) => [member.name, member]));
  let count = through;
  let last: string | undefined;
  for (const part of splitRequests(group)) {
    const body = JSON.stringify({ commands: commandsFor(command, part) });
    const headers = {
      'content-type': 'application/json',
      accept: 'application/x-ndjson, application/json',
      prefer: `${scriptHeaders.prefer}, progress, stop-when-gone`,
    };
    const reply = await send('POST', folder, { headers, body, signal });
    if (!reply.ok) return reply;
    for await (const line of readLines(reply)) {
      const item = JSON.parse(line) as { target: string; message: string | null; status?: number; progress?: Part };
      if (item.progress) {
        onProgress(count, item.progress);
        continue;
      }
      // If a folder could be deleted only in part, the reply has a line for each failure. The folder is counted once.
      if (item.target !== last) onProgress(++count);
      last = item.target;
      const member = members.get(item.target);
      if (item.message !== null) outcome.problems.push([nameOf(member ?? { name: item.target }), item.message, item.status]);
      else if (member) outcome.done.push(member);
    }
  }
  return undefined;
}

function commandsFor(command: Command, members: readonly Placed[]): object[] {
  const plain = members.flatMap(({ name, arrival }) => (arrival ? [] : name));
  const others = members.flatMap(({ name, arrival }) => {
    if (!arrival) return [];
    return { ...command, target: name, ...(typeof arrival === 'object' ? { new_name: arrival.newName } : { overwrite: true }) };
  });
  return plain.length > 0 ? [{ ...command, target: plain }, ...others] : others;
}

/** Delay in milliseconds before a running command shows its dialog. A dialog for one item, such as a large folder, comes later. */
const [shownAfterMs, shownForOneAfterMs] = [500, 5000];

/**
 * Runs folder commands without asking. Meanwhile, the page is marked as busy. If they take long, a dialog shows their progress and can stop
 * them. Never rejects.
 * @param title title of the dialog
 */
export async function runAtOnce<T extends Placed>(title: string, works: readonly Work<T>[]): Promise<Outcome<T>> {
  const count = works.reduce((sum, { members }) => sum + members.length, 0);
  const progress = progressBar(title, count);
  const stopped = new AbortController();
  const work = whileBusy(run(works, { onProgress: progress.show, signal: stopped.signal }));
  let dialog: Promise<unknown> | undefined;
  const showing = setTimeout(
    () => {
      const check = () => work.then(() => undefined);
      dialog = ask({ title, content: [progress.element], buttons: [], isRunning: true, check, onStop: () => stopped.abort() });
    },
    count === 1 ? shownForOneAfterMs : shownAfterMs,
  );
  const outcome = await work;
  clearTimeout(showing);
  await dialog;
  return outcome;
}

/** Returns whether the same commands can succeed later, because the connection was lost or a failure can pass by itself. */
export function mayRepeat({ problems, isLost }: Pick<Outcome, 'problems' | 'isLost'>): boolean {
  return isLost || problems.some(([, , status]) => isPassing(status));
}

/** Returns the reasons why a command failed, as one text. @param isForOne whether the message already names the only failed member */
export function reasonsOf({ problems, isLost }: Pick<Outcome, 'problems' | 'isLost'>, isForOne = false): string {
  const reasons = problems.map(([name, reason]) => (isForOne || name === '' ? reason : name + text('colon') + reason));
  return firstOf(isLost ? [...reasons, text('noConnection')] : reasons, maxProblems).join('; ');
}

export const failedTexts = { delete: 'notDeleted', move: 'notMoved', copy: 'notCopied' } as const;

/**
 * Shows the result and refreshes the list. Members for which the command failed stay selected.
 *
 * @param again repeats the command for the members for which it failed
 * @param tell shows the success message
 * @param to name of the destination folder
 * @param focusOn name of the row to focus
 * @returns the members for which the command failed
 */
export async function showOutcome<T extends Placed>(
  outcome: Outcome<T>,
  kind: keyof typeof failedTexts,
  doneText: 'deleted' | 'trashed' | 'moved' | 'copied',
  again: (failed: readonly T[]) => void,
  tell: (message: string) => void = (message) => void notice(message),
  to = '',
  focusOn?: string,
): Promise<readonly T[]> {
  const { members, problems, isLost, isStopped } = outcome;
  // The reply to a stopped command does not say what happened to the last members, so the page checks which members are gone.
  if (isStopped && kind !== 'copy') outcome.done = await membersGoneAtEnd(members);
  const hasFailed = problems.length > 0 || isLost;
  const done = new Set(outcome.done);
  const failed = hasFailed || isStopped ? members.filter((member) => !done.has(member) && member.arrival !== 'skip') : [];
  const leftMembers = new Set(failed);
  // Deselect only these members. Rows that the user selected meanwhile stay selected.
  deselect(members.filter((member) => !leftMembers.has(member)));
  forgetFailure();
  const count = outcome.done.length;
  if (count > 0) tell(text(doneText, { count, name: messageName(outcome.done[0]?.name ?? ''), to }));
  const left = { count: members.length - count };
  if (isStopped) notice(outcome.stoppedText?.(left) ?? text('stopped', left));
  if (hasFailed) {
    const name = failed[0] ? nameOf(failed[0]) : '';
    const message = text(failedTexts[kind], { count: failed.length, name, reason: reasonsOf(outcome, failed.length === 1) });
    if (mayRepeat(outcome)) noticeFailed(message, () => again(failed));
    else notice(message, 'error');
  }
  await refreshRows(focusOn);
  // The action bar, which had the focus, has perhaps disappeared.
  if (!document.activeElement?.closest(failed.length > 0 ? 'dialog, #list, #actions' : 'dialog, #list')) byId('members').focus();
  return failed;
}

const lookAgainMs = 300;

/**
 * Returns the members that are gone when a stopped command has ended. The service processes members until it notices that the client has
 * disconnected. So this function repeats the check until two results agree.
 */
async function membersGoneAtEnd<T extends Placed>(members: readonly T[]): Promise<T[]> {
  let gone = await membersGone(members);
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, lookAgainMs));
    const before = gone.length;
    gone = await membersGone(members);
    if (gone.length === before) return gone;
  }
}

async function membersGone<T extends Placed>(members: readonly T[]): Promise<T[]> {
  const gone: T[] = [];
  for (const [folder, group] of byFolder(members)) {
    const left = await listMembers(folder);
    if (typeof left === 'string') continue;
    const there = new Set(left.map(({ name }) => name));
    gone.push(...group.filter(({ name }) => !there.has(name)));
  }
  return gone;
}

/** Renames a member. @returns the problem as a message; undefined if it succeeded */
export function renameMember({ name, folder, isFolder }: Member, newName: string): Promise<string | undefined> {
  const destination = new URL(memberUrl(newName, isFolder, folder), location.href).href;
  return trySend('MOVE', memberUrl(name, isFolder, folder), { 412: text('nameTaken') }, { destination, overwrite: 'F' });
}

function* splitRequests<T extends Placed>(members: readonly T[]): Generator<T[]> {
  let part: T[] = [];
  let characters = 0;
  for (const member of members) {
    const length = member.name.length * (member.arrival ? 2 : 1) + (member.arrival ? ownCommandCharacters : 0);
    if (part.length === maxTargets || (part.length > 0 && characters + length > maxCharacters)) {
      yield part;
      part = [];
      characters = 0;
    }
    part.push(member);
    characters += length;
  }
  if (part.length > 0) yield part;
}
