import { ask, cancelButton, nameList, progressBar } from '../../shared/dialogs.ts';
import { byId, make, makeButton } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { nameOf, type Row, refreshRows } from '../rows/rows.ts';
import { memberUrl, obstacle, reasonOf, send } from '../server.ts';
import { type Outcome, runCommand, showOutcome } from './commands.ts';

/** Asks, then deletes members. @returns whether any is deleted */
export async function deleteRows(rows: readonly Row[]): Promise<boolean> {
  if (rows.length === 0) return false;
  const names = rows.map(nameOf);
  const progress = progressBar(text('delete'), names.length);
  const stopped = new AbortController();
  let outcome: Outcome | undefined;
  await ask({
    title: text('deleteQuestion', { count: names.length }),
    content: [nameList(names), make('p.hint', text('deleteWarning')), progress.element],
    buttons: [cancelButton(), { value: 'ok', label: text('delete'), kind: 'primary danger' }],
    check: async () => {
      outcome = await runCommand({ command: 'delete' }, names, { onProgress: progress.show, signal: stopped.signal });
      return outcome.isLost && outcome.done.length === 0 ? text('noConnection') : undefined;
    },
    onStop: () => stopped.abort(),
  });
  if (outcome) await showOutcome(outcome, 'deleted');
  return (outcome?.done.length ?? 0) > 0;
}

/** Why a name is impossible, for people. The browser would resolve `..` to another URL. */
export function nameProblem(name: string): string | undefined {
  return name.trim() === '' || name === '.' || name === '..' || name.includes('/') ? text('nameImpossible') : undefined;
}

/** Asks for a name, then creates a folder. */
async function createFolder(): Promise<void> {
  const field = make('input', { required: true, maxLength: 255, autocomplete: 'off' });
  const answer = await ask({
    title: text('newFolder'),
    content: [make('label.labelled', text('folderName'), field)],
    buttons: [cancelButton(), { value: 'ok', label: text('create'), kind: 'primary' }],
    focus: field,
    check: async () => {
      const name = field.value.trim();
      const problem = nameProblem(name);
      if (problem !== undefined) return problem;
      try {
        const reply = await send('PUT', memberUrl(name, true));
        if (reply.ok) return undefined;
        return reply.status === 409 ? text('nameTaken') : await reasonOf(reply);
      } catch {
        return text('noConnection');
      }
    },
  });
  if (answer === 'ok') await refreshRows(field.value.trim());
}

/** Adds the button for new folders to the tools. */
export function startNewFolder(): void {
  byId('tools').prepend(makeButton(text('newFolder'), 'newFolder', () => void createFolder(), 'compact'));
}

/** Checks the session before an archive is fetched or a trigger runs: the login page in place of this one would lose the selection. */
export function startMemberForm(): void {
  const form = byId('members') as HTMLFormElement;
  let isChecked = false;
  form.addEventListener('submit', async (event) => {
    if (isChecked || event.defaultPrevented) return;
    event.preventDefault();
    const problem = await obstacle();
    if (problem !== undefined) return notice(text('error', { reason: problem }), 'error');
    isChecked = true;
    form.requestSubmit((event as SubmitEvent).submitter);
    isChecked = false;
  });
}

/** Asks in a dialog in place of the form's page. */
export function startDelete(selected: () => Row[]): void {
  byId('members').addEventListener('submit', (event) => {
    const button = (event as SubmitEvent).submitter as HTMLButtonElement | null;
    if (button?.value !== 'confirm-delete') return;
    event.preventDefault();
    void deleteRows(selected());
  });
}
