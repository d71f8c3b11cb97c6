import { ask, cancelButton, firstOf } from '../../shared/dialogs.ts';
import { byId, make } from '../../shared/dom.ts';
import { partTexts } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import de from '../../texts/questions/de.json' with { type: 'json' };
import en from '../../texts/questions/en.json' with { type: 'json' };
import es from '../../texts/questions/es.json' with { type: 'json' };
import fr from '../../texts/questions/fr.json' with { type: 'json' };
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { notDone, noticeFailed } from '../navigation/folder-change.ts';
import { refreshRows } from '../rows/rows.ts';
import { clearSelection } from '../rows/selection.ts';
import { fetchPage, homeUrl, listTrash, type PageReply, replyReason, send } from '../server.ts';
import { nextName } from '../uploads/upload.ts';
import { maxProblems, mayRepeat, messageName, type Outcome, reasonsOf, runAtOnce } from './commands.ts';
import { askName, noticeUndoable, sentence } from './members.ts';
import { isRenameOffered } from './rename.ts';
import { forgetShared } from './shared-marks.ts';
import { undoText } from './undo.ts';

const ownText = partTexts<keyof typeof en>({ en, de, es, fr });

type Answer = (form: HTMLFormElement, button: HTMLButtonElement) => Promise<void>;

let isUnderWay = false;

/** Returns a function that does nothing until an earlier press is answered: its question, too, may first come from the service. */
function oneAtATime(answer: Answer): Answer {
  return async (form, button) => {
    if (isUnderWay) return;
    isUnderWay = true;
    await answer(form, button).finally(() => {
      isUnderWay = false;
    });
  };
}

/**
 * Before some forms are sent, for example to delete items of the trash for good, the service asks a question on a separate page. This
 * function shows that question in a dialog instead, with the texts of the page.
 */
export const askAbout = oneAtATime(askInDialog);

async function askInDialog(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
  const url = form.getAttribute('action') ?? '';
  const question = await fetchPage(url, { fields: readFields(form, button) });
  const card = question.page?.querySelector<HTMLElement>('main.card');
  const answer = card?.querySelector('form');
  const doIt = answer?.querySelector<HTMLButtonElement>('button.primary');
  // Without an answer, the selection stays, so that the user can try again.
  if (question.status === 0) {
    noticeFailed(notDone(button.textContent ?? '')(text('noConnection')), () => void askAbout(form, button));
    return;
  }
  if (!card || !answer || !doIt) return tell(question);
  const [items, warning] = [card.querySelector<HTMLElement>('.doomed'), card.querySelector('p')];
  // A list that scrolls must be reachable by keyboard.
  if (items && items.children.length > itemsInSight) items.tabIndex = 0;
  let reply: PageReply | undefined;
  await ask({
    title: card.querySelector('h1')?.textContent ?? '',
    content: [items ?? false, warning ?? false],
    buttons: [
      cancelButton(),
      { value: 'ok', label: doIt.textContent ?? '', kind: doIt.classList.contains('danger') ? 'primary danger' : 'primary' },
    ],
    check: async () => {
      reply = await fetchPage(url, { fields: readFields(answer) });
      return reply.status === 0 ? text('error', { reason: text('noConnection') }) : undefined;
    },
  });
  if (reply && reply.status !== 0) tell(reply);
}

/** Number of items that a dialog shows without scrolling even on small screens. */
const itemsInSight = 5;

// The forms have no file fields, so all values are strings. The type in the DOM also allows files.
function readFields(form: HTMLFormElement, button?: HTMLButtonElement): URLSearchParams {
  return new URLSearchParams([...new FormData(form, button)] as [string, string][]);
}

function tell({ status, page }: PageReply): void {
  const message = page?.querySelector('#notices p')?.textContent;
  if (message) notice(message);
  else notice(text('error', { reason: status === 0 ? text('noConnection') : reasonIn(page) }), 'error');
  forgetShared();
  void showRest();
}

/** @param keepsSelection whether the selected items that are left stay selected. Items of the trash are found again by their IDs */
async function showRest(keepsSelection = false): Promise<void> {
  // The selection is cleared first, because a remaining item can have the same name as one that is gone.
  if (document.getElementById('list') && !keepsSelection) clearSelection();
  await refreshRows();
  if (!document.activeElement?.closest('dialog, #list')) byId('members').focus();
}

function reasonIn(page: Document | undefined): string {
  const reasons = [...(page?.querySelectorAll('.doomed li') ?? [])].map((item) => {
    const [name, ...words] = [...item.children].map((part) => part.textContent?.trim());
    return name + text('colon') + (words.at(-1) ?? '');
  });
  return firstOf(reasons, maxProblems).join('; ') || (page?.querySelector('.card p:not(.status)')?.textContent ?? '');
}

const trashUrl = '/home/__svc__/trash';

/** Restores selected items of the trash. If a name is taken, a dialog asks for another name. The final message has a button for undo. */
export const restoreSelected = oneAtATime(restoreAll);

async function restoreAll(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
  const label = button.textContent ?? '';
  const ids = readFields(form, button).getAll('selected');
  const trash = await listTrash();
  if (typeof trash === 'string') {
    noticeFailed(notDone(label)(trash), () => void restoreSelected(form, button));
    return;
  }
  const placed = new Map(trash.map(({ id, path }) => [id, splitPlace(path)]));
  const members = ids.map((name) => ({ name, folder: '/home/' }));
  const outcome = await runAtOnce(label, [{ command: { command: 'restore' }, members }]);
  const done = outcome.done.map(({ name }) => name);
  const restored = done.flatMap((id) => placed.get(id) ?? []);
  const problems: Outcome['problems'] = [];
  const left = outcome.isLost || outcome.isStopped ? [] : ids.filter((id) => !done.includes(id));
  for (const id of left) {
    const place = placed.get(id);
    const name = await restoreAs(id, place?.name ?? '', label, problems);
    if (place && name !== undefined) restored.push({ ...place, name });
  }
  const [first] = restored;
  const message = first && undoText('restored', { count: restored.length, name: messageName(first.name) });
  if (message && button.dataset.undo !== undefined) noticeUndoable(message, { restored });
  else if (message) notice(message);
  if (outcome.isStopped) notice(text('stopped', { count: ids.length - done.length }));
  const result = { problems, isLost: outcome.isLost };
  const isOpen = mayRepeat(result);
  const reason = notDone(label)(reasonsOf(result));
  if (isOpen) noticeFailed(reason, () => void restoreSelected(form, button));
  else if (problems.length > 0) notice(reason, 'error');
  void showRest(isOpen);
}

/** Restores one item that could not be restored with the others. @returns the name of the restored item; undefined if it was not restored */
async function restoreAs(id: string, name: string, label: string, problems: Outcome['problems']): Promise<string | undefined> {
  const post = async (path?: string): Promise<{ status: number; reason?: string }> => {
    try {
      const body = path === undefined ? {} : { headers: { 'content-type': 'application/json' }, body: JSON.stringify({ path }) };
      const reply = await send('POST', `${trashUrl}/${encodeURIComponent(id)}/restore`, body);
      return reply.ok ? { status: reply.status } : { status: reply.status, reason: await replyReason(reply) };
    } catch {
      return { status: 0, reason: text('noConnection') };
    }
  };
  const { status, reason } = await post();
  if (reason === undefined) return name;
  if (status !== 409) {
    problems.push([name === '' ? '' : messageName(name), reason, status]);
    return undefined;
  }
  const value = nextName(name);
  const dot = value.lastIndexOf('.');
  const selectedLength = dot > 0 ? dot : value.length;
  const question = { title: sentence(reason), label: text('renameTo'), button: label, value, old: '', selectedLength };
  return askName(question, async (wanted) => (await post(wanted)).reason);
}

function splitPlace(path: string): { name: string; folder: string } {
  const start = path.lastIndexOf('/') + 1;
  return { name: path.slice(start), folder: homeUrl(path.slice(0, start)) };
}

/** Shows the keys of the page, with a box that turns the single-key shortcuts on or off. */
export async function showKeys(areOn: boolean, turn: (isOn: boolean) => void): Promise<void> {
  const search = document.querySelector('.search');
  const keys: [string[], string][] = [
    [['↑', '↓'], ownText('keyMove')],
    [['Enter'], `${text('keyOpen')} / ${text('preview')}`],
    [[ownText('spaceKey')], text('keySelect')],
    [[ownText('shiftKey'), '↑', '↓'], ownText('keyExtend')],
    [[ownText('controlKey'), 'A'], text('selectAll')],
    [[ownText('shiftKey'), 'F10'], ownText('keyActions')],
    ...(may('delete') ? ([[[ownText('deleteKey')], text('delete')]] as [string[], string][]) : []),
    ...(isRenameOffered
      ? ([
          [['F2'], text('rename')],
          [[ownText('controlKey'), 'Z'], ownText('keyUndo')],
        ] as [string[], string][])
      : []),
    [['a', '…', 'z'], ownText('keyTypeAhead')],
    ...(search ? ([[['/'], text(search.matches('form') ? 'search' : 'filter')]] as [string[], string][]) : []),
    [['Esc'], ownText('keyEscape')],
    [['?'], ownText('keyHelp')],
  ];
  const list = make('dl');
  for (const [names, meaning] of keys) list.append(make('dt', ...names.map((name) => make('kbd', name))), make('dd', meaning));
  const enabled = make('input', { type: 'checkbox', checked: areOn });
  enabled.addEventListener('change', () => turn(enabled.checked));
  await ask({
    title: text('shortcuts'),
    content: [
      list,
      document.getElementById('upload') !== null && make('p.hint', ownText('pasteHelp')),
      document.getElementById('upload') !== null && make('p.hint', ownText('uploadsHelp')),
      make('label.line', enabled, ownText('shortcutsOn')),
    ],
    buttons: [{ value: 'cancel', label: text('close') }],
    isText: true,
  });
}
