import { nameInText } from '../../../lib/display-name.ts';
import { ask, cancelButton, type DialogButton, maxNames, nameList, progressBar } from '../../shared/dialogs.ts';
import { type Child, make } from '../../shared/dom.ts';
import { partTexts } from '../../shared/locale.ts';
import de from '../../texts/deletion/de.json' with { type: 'json' };
import en from '../../texts/deletion/en.json' with { type: 'json' };
import es from '../../texts/deletion/es.json' with { type: 'json' };
import fr from '../../texts/deletion/fr.json' with { type: 'json' };
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import type { Member } from '../rows/rows.ts';
import { type Outcome, type Placed, run, type Work } from './commands.ts';

const dialogText = partTexts<keyof typeof en>({ en, de, es, fr });

/**
 * Asks in a dialog, then runs a folder command. The dialog shows the progress of the command and can stop it.
 * @param makeWork called when the user confirms. If it returns nothing, the dialog stays open
 * @returns undefined if the user cancelled
 */
export async function askAndRun<T extends Placed>(
  title: string,
  content: Child[],
  button: Omit<DialogButton, 'value'>,
  members: readonly T[],
  makeWork: () => Work<T> | Promise<Work<T> | undefined>,
  className?: string,
): Promise<Outcome<T> | undefined> {
  const progress = progressBar(button.label, members.length);
  const stopped = new AbortController();
  let outcome: Outcome<T> | undefined;
  await ask({
    title,
    content: [...content, progress.element],
    buttons: [cancelButton(), { value: 'ok', ...button }],
    check: async () => {
      const planned = await makeWork();
      if (!planned) return '';
      const work = run([planned], { onProgress: progress.show, signal: stopped.signal });
      const parts = content.filter((part) => part instanceof HTMLElement);
      for (const part of parts) part.inert = true;
      outcome = await work;
      for (const part of parts) part.inert = false;
      return outcome.isLost && outcome.done.length === 0 ? text('error', { reason: text('noConnection') }) : undefined;
    },
    onStop: () => stopped.abort(),
    className,
  });
  return outcome;
}

/** Returns the message about a stopped copy or deletion. Its last folder can be done in part. */
export const stoppedText = (values: { count: number }) => dialogText('stoppedInside', values);

/** Number of names in the question about more items than a reader would check one by one. */
const fewNames = 4;

/** Asks whether to delete members, and deletes them. @returns undefined if the user cancelled */
export async function askToDelete(members: readonly Member[]): Promise<Outcome<Member> | undefined> {
  const count = members.length;
  const [first] = members;
  const hasFolder = members.some(({ isFolder }) => isFolder);
  // The warning about a folder is in the plural, because all its members are deleted, too.
  const warned = { count: count === 1 && !hasFolder ? 1 : 2 };
  const folders = hasFolder && `${dialogText('foldersToo')} `;
  const warning = make('p.hint', folders, dialogText(may('trash') ? 'deleteToTrash' : 'deleteWarning', warned));
  const listed = count > maxNames ? members.slice(0, fewNames) : members;
  const names = nameList(listed.map(({ name }) => name));
  for (const [index, item] of [...names.querySelectorAll('bdi')].entries()) item.className = `i ${members[index]?.look}`;
  const more = count > maxNames && make('p', dialogText('more', { count: count - fewNames }));
  const content = [count > 1 && names, more, warning];
  const button = { label: text('delete'), kind: 'primary danger' } as const;
  const question = dialogText('deleteQuestion', { count, name: nameInText(first?.name ?? '') });
  const outcome = await askAndRun(question, content, button, members, () => ({ command: { command: 'delete' }, members }));
  return outcome && (may('trash') ? outcome : { ...outcome, stoppedText });
}
