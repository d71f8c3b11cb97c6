import { ask, cancelButton, nameList } from './dialogs.ts';
import { byId, make, makeButton } from './dom.ts';
import { text } from './language.ts';
import { notice } from './notices.ts';
import { nameOf, type Row, refreshRows } from './rows.ts';
import { clearSelection } from './selection.ts';
import { folderUrl, reasonOf, runCommand, send } from './server.ts';

/** Asks, then deletes members. */
export async function deleteRows(rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  const names = rows.map(nameOf);
  let problems: string[] = [];
  const answer = await ask({
    title: text('deleteQuestion', { count: names.length }),
    content: [nameList(names), make('p', { className: 'hint' }, text('deleteWarning'))],
    buttons: [cancelButton(), { value: 'ok', label: text('delete'), kind: 'primary danger' }],
    check: async () => {
      try {
        problems = await runCommand('delete', names);
        return undefined;
      } catch {
        return text('noConnection');
      }
    },
  });
  if (answer !== 'ok') return;
  clearSelection();
  if (problems.length > 0) notice(text('error', { reason: problems.join('; ') }), 'error');
  else notice(text('deleted', { count: names.length }));
  await refreshRows();
  byId('members').focus();
}

/** Asks for a name, then creates a folder. */
async function createFolder(): Promise<void> {
  const name = make('input', { required: true, maxLength: 255, autocomplete: 'off' });
  const answer = await ask({
    title: text('newFolder'),
    content: [make('label', { className: 'labelled' }, text('folderName'), name)],
    buttons: [cancelButton(), { value: 'ok', label: text('create'), kind: 'primary' }],
    focus: name,
    check: async () => {
      try {
        const reply = await send('PUT', `${folderUrl}${encodeURIComponent(name.value.trim())}/`);
        if (reply.ok) return undefined;
        return reply.status === 409 ? text('nameTaken') : await reasonOf(reply);
      } catch {
        return text('noConnection');
      }
    },
  });
  if (answer === 'ok') await refreshRows();
}

/** Adds the button for new folders to the tools. */
export function startNewFolder(): void {
  byId('tools').prepend(makeButton(text('newFolder'), 'newFolder', () => void createFolder(), 'compact'));
}

/** Takes over the form's button: the question comes as a dialog instead of a page. */
export function startDelete(selected: () => Row[]): void {
  byId('members').addEventListener('submit', (event) => {
    const button = (event as SubmitEvent).submitter as HTMLButtonElement | null;
    if (button?.value !== 'confirm-delete') return;
    event.preventDefault();
    void deleteRows(selected());
  });
}
