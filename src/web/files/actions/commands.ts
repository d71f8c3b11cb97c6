import { nameInText } from '../../../lib/display-name.ts';
import { ask, cancelButton, type DialogButton, progressBar } from '../../shared/dialogs.ts';
import { byId, type Child } from '../../shared/dom.ts';
import { readLines } from '../../shared/lines.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { type Member, refreshRows } from '../rows/rows.ts';
import { deselect } from '../rows/selection.ts';
import { listMembers, memberUrl, reasonFor, replyReason, scriptHeaders, send, trySend } from '../server.ts';

export interface Outcome {
  /** URL path of the folder that contains the members. */
  folder: string;
  names: readonly string[];
  done: string[];
  /** Messages about members that failed. */
  problems: string[];
  /** Whether the connection was lost, so that the result for the remaining members is unknown. */
  isLost: boolean;
  isStopped: boolean;
}

/** Progress of copying one folder. */
type Part = { done: number; total: number };

interface Course {
  /** Called with the number of processed members, including failed ones, and with the progress of the current one. */
  onProgress: (count: number, part?: Part) => void;
  /** When it is aborted, the service stops its work, too. */
  signal?: AbortSignal;
  /** URL path of the folder that contains the members. */
  folder: string;
}

/** A folder command, without its targets. */
type Command = { command: 'delete' | 'restore' } | { command: TransferKind; destination: string };

export type TransferKind = 'move' | 'copy';

/**
 * Maximum number of targets in one request, and of characters in their names. They match the limits of the service
 * (docs/spec/http.md#bad-input).
 */
const maxTargets = 10_000;
const maxCharacters = 250_000;

/** Maximum number of failures that a message names. */
export const maxProblems = 5;

/** Makes the browser ask before the user leaves the page. */
function keepPage(event: Event): void {
  event.preventDefault();
}

/** Runs a folder command on members of a folder. The service stops the command if the user leaves the page. Never rejects. */
async function runCommand(command: Command, names: readonly string[], course: Course): Promise<Outcome> {
  const { onProgress, signal, folder } = course;
  const outcome: Outcome = { folder, names, done: [], problems: [], isLost: false, isStopped: false };
  let through = 0;
  let last: string | undefined;
  onProgress(0);
  window.addEventListener('beforeunload', keepPage);
  try {
    for (const target of splitRequests(names)) {
      const body = JSON.stringify({ commands: [{ ...command, target }] });
      const headers = {
        'content-type': 'application/json',
        accept: 'application/x-ndjson, application/json',
        prefer: `${scriptHeaders.prefer}, progress, stop-when-gone`,
      };
      const reply = await send('POST', folder, { headers, body, ...(signal && { signal }) });
      if (!reply.ok) {
        outcome.problems.push(await replyReason(reply));
        break;
      }
      for await (const line of readLines(reply)) {
        const item = JSON.parse(line) as { target: string; message: string | null; progress?: Part };
        if (item.progress) {
          onProgress(through, item.progress);
          continue;
        }
        // If a folder could be deleted only in part, the reply has a line for each failure. The folder is counted once.
        if (item.target !== last) onProgress(++through);
        last = item.target;
        if (item.message === null) outcome.done.push(item.target);
        else outcome.problems.push(`${nameInText(item.target)}: ${reasonFor(422, item.message)}`);
      }
    }
  } catch {
    if (signal?.aborted) outcome.isStopped = true;
    else outcome.isLost = true;
  } finally {
    window.removeEventListener('beforeunload', keepPage);
  }
  return outcome;
}

/**
 * Asks in a dialog, then runs a folder command. The dialog shows its progress and can stop it.
 * @param members names of the members, and the URL path of their folder
 * @param makeCommand called when the user confirms
 * @returns undefined if the user cancelled
 */
export async function askAndRun(
  title: string,
  content: Child[],
  button: Omit<DialogButton, 'value'>,
  { names, folder }: { names: readonly string[]; folder: string },
  makeCommand: () => Command,
  className?: string,
): Promise<Outcome | undefined> {
  const progress = progressBar(button.label, names.length);
  const stopped = new AbortController();
  let outcome: Outcome | undefined;
  await ask({
    title,
    content: [...content, progress.element],
    buttons: [cancelButton(), { value: 'ok', ...button }],
    check: async () => {
      const work = runCommand(makeCommand(), names, { onProgress: progress.show, signal: stopped.signal, folder });
      const parts = content.filter((part) => part instanceof HTMLElement);
      for (const part of parts) part.inert = true;
      outcome = await work;
      for (const part of parts) part.inert = false;
      return outcome.isLost && outcome.done.length === 0 ? text('noConnection') : undefined;
    },
    onStop: () => stopped.abort(),
    className,
  });
  return outcome;
}

/** Delay in milliseconds before a running command shows its dialog, so that the dialog does not flash for short work. */
const shownAfterMs = 500;

/**
 * Runs a folder command without asking. If it takes long, a dialog shows its progress and can stop it. Never rejects.
 * @param title title of the dialog
 * @param folder URL path of the folder of the members
 */
export async function runAtOnce(title: string, command: Command, names: readonly string[], folder: string): Promise<Outcome> {
  const progress = progressBar(title, names.length);
  const stopped = new AbortController();
  const work = runCommand(command, names, { onProgress: progress.show, signal: stopped.signal, folder });
  let dialog: Promise<unknown> | undefined;
  const showing = setTimeout(() => {
    const check = () => work.then(() => undefined);
    dialog = ask({ title, content: [progress.element], buttons: [], isRunning: true, check, onStop: () => stopped.abort() });
  }, shownAfterMs);
  const outcome = await work;
  clearTimeout(showing);
  await dialog;
  return outcome;
}

/** Shows the result and refreshes the folder. @param tell shows the success message @param to name of the destination folder */
export async function showOutcome(
  outcome: Outcome,
  doneText: 'deleted' | 'moved' | 'copied',
  tell: (message: string) => void = (message) => void notice(message),
  to = '',
): Promise<void> {
  const { folder, names, problems, isLost, isStopped } = outcome;
  // Deselect only these names. Rows that the user selected meanwhile stay selected.
  deselect(names);
  if (isStopped && doneText !== 'copied') {
    // The reply does not say what happened to the member in progress, so the members that still exist are requested.
    const left = await listMembers(folder);
    const there = new Set(typeof left === 'string' ? names : left.map(({ name }) => name));
    outcome.done = names.filter((name) => !there.has(name));
  }
  const count = outcome.done.length;
  if (count > 0) tell(text(doneText, { count, name: nameInText(outcome.done[0] ?? ''), to }));
  if (isStopped) notice(text('stopped', { count: names.length - count }));
  const reasons = problems.slice(0, maxProblems);
  if (problems.length > maxProblems) reasons.push(`… +${problems.length - maxProblems}`);
  if (isLost) reasons.push(text('noConnection'));
  if (reasons.length > 0) notice(text('error', { reason: reasons.join('; ') }), 'error');
  await refreshRows();
  // The action bar, which had the focus, may have disappeared.
  if (!document.activeElement?.closest('dialog, #list, .found')) byId('members').focus();
}

/** Renames a member. @param folder URL path of its folder @returns the problem as a message; undefined if it succeeded */
export function renameMember(folder: string, { name, isFolder }: Member, newName: string): Promise<string | undefined> {
  const destination = new URL(memberUrl(newName, isFolder, folder), location.href).href;
  return trySend('MOVE', memberUrl(name, isFolder, folder), { 412: text('nameTaken') }, { destination, overwrite: 'F' });
}

function* splitRequests(names: readonly string[]): Generator<string[]> {
  let part: string[] = [];
  let characters = 0;
  for (const name of names) {
    if (part.length === maxTargets || (part.length > 0 && characters + name.length > maxCharacters)) {
      yield part;
      part = [];
      characters = 0;
    }
    part.push(name);
    characters += name.length;
  }
  if (part.length > 0) yield part;
}
