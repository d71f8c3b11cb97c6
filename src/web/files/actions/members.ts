import { ask, cancelButton, type DialogModel } from '../../shared/dialogs.ts';
import { byId, make } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { folderUrl, may } from '../navigation/folder.ts';
import { notDone, noticeFailed, partFor } from '../navigation/folder-change.ts';
import { focusedRow, focusRow, type Member, type Row, refreshRows, rowKey, rowMember, rowName, shownRows } from '../rows/rows.ts';
import { onlyFile, selectedRows } from '../rows/selection.ts';
import { memberUrl, obstacle, trySend } from '../server.ts';
import { messageName, type Outcome, outermost, runAtOnce, showOutcome } from './commands.ts';
import { markShared } from './shared-marks.ts';
import type { Undoable } from './undo.ts';

const maxUnasked = 100;

/**
 * Deletes the files and folders of rows. Items that go to the trash are deleted without a question, because the message about the deletion
 * has a button that undoes the deletion. If there is no trash, or if there are many items, a dialog asks first.
 */
export async function deleteRows(given: readonly Row[]): Promise<void> {
  // Rows that are being deleted already are inert.
  const rows = given.filter(({ inert }) => !inert);
  const members = outermost(rows.map(rowMember));
  if (members.length === 0) return;
  const [focused, next] = [focusedRow(), keyAfter(rows)];
  const toTrash = may('trash');
  const again = (failed: readonly Member[]) => void deleteRows(rows.filter((row) => failed.includes(rowMember(row))));
  const works = [{ command: { command: 'delete' } as const, members }];
  const isAsked = !toTrash || members.length > maxUnasked;
  for (const row of rows) row.inert = !isAsked;
  const outcome = isAsked ? await askToDelete(members, () => again(members)) : await runAtOnce(text('delete'), works);
  const tell = toTrash ? (message: string) => noticeUndoable(message, { deleted: outcome?.done ?? [] }) : undefined;
  const failed = outcome && (await showOutcome(outcome, 'delete', toTrash ? 'trashed' : 'deleted', again, tell));
  for (const row of rows) row.inert = false;
  // The focus goes to the next row, as in file managers, unless the user has moved the focus meanwhile. After a failure it stays.
  const keys = [failed?.length && focused && rowKey(focused), next];
  const found = keys.map((key) => shownRows().find((candidate) => rowKey(candidate) === key));
  const row = document.activeElement === byId('members') && (found[0] ?? found[1]);
  if (row) focusRow(row);
}

/** Returns the key of the row that follows the given rows. If no row follows, returns the key of the row before them. */
function keyAfter(rows: readonly Row[]): string | undefined {
  const shown = shownRows();
  const given = new Set(rows);
  const last = shown.findLastIndex((row) => given.has(row));
  const row =
    shown.slice(last + 1).find((candidate) => !given.has(candidate)) ??
    shown.slice(0, last + 1).findLast((candidate) => !given.has(candidate));
  return row && rowKey(row);
}

async function askToDelete(members: readonly Member[], again: () => void): Promise<Outcome<Member> | undefined> {
  const tell = (reason: string) => text('notDeleted', { count: members.length, name: messageName(members[0]?.name ?? ''), reason });
  const part = await partFor('command-dialogs', () => import('./command-dialogs.ts'), tell, again);
  return part?.askToDelete(members);
}

/** Returns a problem as a sentence. For example, a translated reason of the service is only a part of a sentence. */
export function sentence(problem: string): string {
  const reason = problem.endsWith('.') ? problem : `${problem}.`;
  return /^\p{Ll}/u.test(reason) ? text('error', { reason }) : reason;
}

/** Returns a message that says why a name cannot be used. For example, a browser would resolve the name `..` to another URL. */
export function nameProblem(name: string): string | undefined {
  return name.trim() === '' || name === '.' || name === '..' || name.includes('/') ? text('nameImpossible') : undefined;
}

/**
 * Asks for a name in a dialog.
 *
 * @param check uses the name; if that fails, it returns the problem as a message
 * @returns the name if it was accepted
 */
export async function askName(
  question: Pick<DialogModel, 'title' | 'selectedLength'> & { label: string; button: string; value?: string; old?: string },
  check: (name: string) => Promise<string | undefined>,
): Promise<string | undefined> {
  const { title, label, button, value = '', old = value, selectedLength } = question;
  const focus = make('input', { required: true, maxLength: 255, autocomplete: 'off', value });
  const answer = await ask({
    title,
    content: [make('label.labelled', label, focus)],
    buttons: [cancelButton(), { value: 'ok', label: button, kind: 'primary' }],
    focus,
    selectedLength,
    check: async () => {
      const problem = focus.value === old ? undefined : (nameProblem(focus.value) ?? (await check(focus.value)));
      return problem && sentence(problem);
    },
  });
  return answer === 'ok' ? focus.value : undefined;
}

/** Asks for a name and creates a folder in the shown folder. @returns the name; undefined if the user cancelled */
export async function createFolder(): Promise<string | undefined> {
  const question = { title: text('newFolder'), label: text('folderName'), button: text('create') };
  const name = await askName(question, async (wanted) => {
    const problem = nameProblem(wanted.trim());
    return problem ?? trySend('PUT', memberUrl(wanted.trim(), true), { 409: text('nameTaken') });
  });
  if (name !== undefined) await refreshRows(name.trim());
  return name?.trim();
}

/** Asks for the options of a link to a member of a folder, and creates the link. */
export async function shareMember(member: Member): Promise<void> {
  const part = await partFor(
    'share',
    () => import('./share.ts'),
    notDone(text('share')),
    () => void shareMember(member),
  );
  await part?.share(member);
  if (member.isFolder) void markShared(true);
}

/** Downloads a file as it is. The session is checked first, because the browser's own request would not let the user sign in. */
export async function downloadFile({ name, folder }: Member): Promise<void> {
  const href = memberUrl(name, false, folder);
  const problem = await obstacle(href);
  if (problem !== undefined) notice(text('error', { reason: problem }), 'error');
  else make('a', { href, download: '' }).click();
}

/** Downloads rows of one folder, whether or not they are selected: a single file as it is, and anything else as an archive. */
export async function download(rows: readonly Row[]): Promise<void> {
  const file = onlyFile(rows);
  if (file) return downloadFile(file);
  const action = rows[0] && rowMember(rows[0]).folder;
  const problem = await obstacle(action);
  if (problem !== undefined) return void notice(text('error', { reason: problem }), 'error');
  const field = (name: string, value: string) => make('input', { name, value });
  const fields = rows.map((row) => field('selected-members', rowName(row)));
  const form = make('form', { method: 'post', enctype: 'multipart/form-data', action, hidden: true }, ...fields);
  form.append(field('action', 'download-members'));
  document.body.append(form);
  form.submit();
  form.remove();
}

/**
 * Checks the session before an archive is downloaded or a trigger (an action from the configuration) is run. Without this check, a redirect
 * to the login would lose the selection.
 */
export function startMemberForm(): void {
  const form = byId('members') as HTMLFormElement;
  let isChecked = false;
  form.addEventListener('submit', async (event) => {
    if (isChecked || event.defaultPrevented) return;
    event.preventDefault();
    const { submitter } = event as SubmitEvent;
    const file = onlyFile(selectedRows());
    if (file && submitter?.getAttribute('value') === 'download-members') return downloadFile(file);
    // On a page of search results, the form has its own URL, because the results can be in another folder.
    const problem = await obstacle(form.getAttribute('action') ?? folderUrl());
    if (problem !== undefined) return notice(text('error', { reason: problem }), 'error');
    isChecked = true;
    form.requestSubmit(submitter);
    isChecked = false;
  });
}

/** Deletes the selected rows with `deleteRows`, which asks in a dialog if necessary. Without scripts, a separate page asks. */
export function startDelete(selected: () => Row[]): void {
  byId('members').addEventListener('submit', (event) => {
    const button = (event as SubmitEvent).submitter as HTMLButtonElement | null;
    if (button?.value !== 'confirm-delete') return;
    event.preventDefault();
    void deleteRows(selected());
  });
}

let last: { change: Undoable; forget: () => void } | undefined;

/**
 * Shows a message about a change, with a button that undoes the change. Ctrl+Z does the same, even after the message has disappeared, until
 * another change replaces this one.
 */
export function noticeUndoable(message: string, change: Undoable): void {
  last?.forget();
  last = { change, forget: notice(message, 'success', { label: text('undo'), run: () => void undoLast() }) };
}

export async function undoLast(): Promise<void> {
  const part =
    last &&
    (await partFor(
      'undo',
      () => import('./undo.ts'),
      notDone(text('undo')),
      () => void undoLast(),
    ));
  if (!part || !last) return;
  const { change, forget } = last;
  last = undefined;
  forget();
  const unfinished = await part.undo(change);
  if (unfinished) last = { change: unfinished.left, forget: noticeFailed(unfinished.reason, () => void undoLast()) };
}
