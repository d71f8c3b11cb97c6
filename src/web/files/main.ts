import { nameInText } from '../../lib/display-name.ts';
import { elementTime, growsOlder, showDate, showDateInPhrase, wholeTime } from '../shared/dates.ts';
import { byId, make, makeButton } from '../shared/dom.ts';
import { formatTag } from '../shared/locale.ts';
import { startMenu, startThemes } from '../shared/menu.ts';
import { notice, startNotices } from '../shared/notices.ts';
import { awaitPart, loadPart } from '../shared/parts.ts';
import { messageName } from './actions/commands.ts';
import { createFolder, shareMember, startDelete, startMemberForm } from './actions/members.ts';
import { offerTransfer, startDrag } from './actions/move.ts';
import { startRename } from './actions/rename.ts';
import { startRowMenu, startRowMenus } from './actions/row-menu.ts';
import { markShared } from './actions/shared-marks.ts';
import { inFrames } from './frames.ts';
import { startKeyboard } from './keyboard/keyboard.ts';
import { text } from './language.ts';
import { isAccountPage, may } from './navigation/folder.ts';
import { leaveSearch, notDone, partFor, renewPage, startFolderChanges } from './navigation/folder-change.ts';
import { openAskedLayer, whenLayerIsAsked } from './navigation/history.ts';
import { startLinks } from './navigation/links.ts';
import { startFilter, startSearchField } from './rows/filter.ts';
import {
  allRows,
  canPreview,
  finishRows,
  isThere,
  isWritten,
  previewKind,
  type Row,
  renewBy,
  rowAt,
  rowLink,
  rowMember,
  rowName,
  rowsAreWhole,
  shownRows,
  startLongNames,
  startRows,
  whenRowIsWritten,
  whenRowsChange,
} from './rows/rows.ts';
import { addAction, selectedRows, startRowClicks, startSelection } from './rows/selection.ts';
import { forgetThumbnails } from './sign-in.ts';
import { forgetRows, startThumbnails } from './thumbnails/thumbnails.ts';
import { startUploads } from './uploads/uploads.ts';

async function open(row: Row): Promise<void> {
  const tell = (reason: string) => text('notOpened', { name: messageName(rowName(row)), reason });
  const again = () => void (isThere(row) && open(row));
  if (previewKind(row) === 'audio') {
    const part = await partFor('player', () => import('./player/player.ts'), tell, again);
    return part?.playFrom(row);
  }
  const part = await partFor('viewer', () => import('./viewer/viewer.ts'), tell, again);
  if (part && isThere(row) && !document.querySelector('dialog[open]')) part.showFile(row);
}

function startOpening(): void {
  byId('list').addEventListener('click', (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>('#list tbody a') : null;
    const row = rowAt(link);
    if (!row || !opensHere(row) || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void open(row);
  });
  whenLayerIsAsked(openNamed);
}

/**
 * Returns whether the preview of a row opens over this list. The link of a search result leads to the folder of the result, and the preview
 * opens there.
 */
function opensHere(row: Row): boolean {
  return canPreview(row) && rowLink(row).search === '';
}

/** On the page of a link to one file, a button opens the viewer. */
function startViewer(): void {
  startOpening();
  document.querySelector('[data-viewer]')?.addEventListener('click', (event) => {
    const [row] = allRows();
    event.preventDefault();
    if (row) void open(row);
  });
}

function openNamed(name: string): boolean {
  const row = shownRows().find((candidate) => rowName(candidate) === name);
  const isShown = row !== undefined && opensHere(row) && previewKind(row) !== 'audio';
  if (isShown) void open(row);
  if (!allRows().some((there) => rowName(there) === name)) notice(nameInText(name) + text('colon') + text('gone'), 'error');
  return isShown;
}

function startView(): void {
  const links = document.querySelectorAll<HTMLAnchorElement>('.views a');
  for (const link of links) {
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      const view = link.search.slice(6);
      const list = byId('list');
      list.classList.toggle('grid', view === 'grid');
      // biome-ignore lint/suspicious/noDocumentCookie: the Cookie Store API is missing in browsers that the page supports
      document.cookie = `SVC_VIEW=${view}; Path=/home/; SameSite=strict; Max-Age=31536000`;
      list.dispatchEvent(new Event('viewchange'));
      for (const other of links) other.ariaCurrent = `${other === link}`;
    });
  }
}

const loadSpace = () => loadPart('space', () => import('./space.ts'));

function startSpace(): void {
  if (!document.getElementById('space')) return;
  byId('menu').addEventListener('beforetoggle', (event) => {
    if ((event as ToggleEvent).newState === 'open') void loadSpace().then((part) => part?.showSpace());
  });
}

function startDownloadsLeft(): void {
  document.addEventListener('click', ({ target }) => {
    if (!document.querySelector('[data-left]') || !(target instanceof Element && target.closest('main a, [role=menuitem]'))) return;
    void loadSpace().then((part) => part?.showDownloadsLeft());
  });
}

let underWay: AbortController | undefined;

function startSearchPage(): void {
  underWay?.abort();
  const list = document.querySelector<HTMLTableElement>('.found');
  if (!list) return;
  const controller = new AbortController();
  underWay = controller;
  const waiting = text('searchWaits');
  void awaitPart('found', () => import('./search/found.ts'), waiting).then(
    ({ showFound }) => controller.signal.aborted || showFound(list, controller.signal, () => startListing(true)),
  );
}

function startFields(): void {
  const field = document.querySelector<HTMLInputElement>('input[data-copy], main.card input[type=password], .fields input');
  if (field) void loadPart('copy-field', () => import('./actions/copy-field.ts')).then((part) => part?.startField(field));
}

/**
 * Handles forms for the trash, links, held uploads and tokens without leaving the page: asks for confirmation in a dialog, restores items
 * of the trash, and changes or renews a link. Without scripts, the service uses separate pages.
 */
function startQuestions(): void {
  document.addEventListener(
    'submit',
    (event) => {
      const { target: form, submitter: button } = event;
      if (!(form instanceof HTMLFormElement && button instanceof HTMLButtonElement)) return;
      // `form.action` would be the button whose name is `action`.
      if (!isAccountPage(form.getAttribute('action') ?? '')) return;
      const asks = button.name === 'action' && button.value.startsWith('confirm-');
      const isLink = button.value === 'renew' || button.value === 'change';
      if (!asks && !isLink && button.value !== 'restore') return;
      event.preventDefault();
      void (isLink ? editLink(form, button) : answer(form, button, asks));
    },
    { capture: true },
  );
}

async function editLink(form: HTMLFormElement, button: HTMLButtonElement): Promise<void> {
  const again = () => void editLink(form, button);
  const part = await partFor('share', () => import('./actions/share.ts'), notDone(button.textContent ?? ''), again);
  await (button.value === 'change' ? part?.changeSelected : part?.shareAgain)?.(form);
}

async function answer(form: HTMLFormElement, button: HTMLButtonElement, asks: boolean): Promise<void> {
  const again = () => void answer(form, button, asks);
  const part = await partFor('questions', () => import('./actions/questions.ts'), notDone(button.textContent ?? ''), again);
  await (asks ? part?.askAbout : part?.restoreSelected)?.(form, button);
}

/** Shows a time of a receipt. Readers may print a receipt, so the time has seconds and the time zone, and is never "today". */
function showExactDate(place: HTMLElement): void {
  const whole = new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'long' });
  place.replaceChildren(make('time', whole.format(elementTime(place))));
}

const minuteMs = 60_000;

let growingOlder: ReturnType<typeof setInterval> | undefined;

function startRowDates(): void {
  const timeCell = (row: Row) => row.querySelector<HTMLElement>('td[data-time]') as HTMLElement;
  whenRowIsWritten((row) => showDate(timeCell(row)));
  if (isAccountPage()) whenRowIsWritten(showPhraseDates);
  clearInterval(growingOlder);
  const renew = (row: Row) => growsOlder(timeCell(row)) && showDate(timeCell(row));
  growingOlder = setInterval(() => inFrames(allRows().filter(isWritten), renew), minuteMs);
  // Tooltips are written on demand, because writing one for each row would take longer than writing its date.
  byId('list').addEventListener('pointerover', ({ target }) => {
    const shown = target instanceof Element ? target.closest<HTMLElement>('td[data-time] time') : null;
    const cell = shown?.closest('td');
    if (shown && cell) shown.title = wholeTime(elementTime(cell));
  });
}

await pageHasCome();
startThemes();
if (document.getElementById('menu')) {
  startMenu();
  startSpace();
}
startNotices();
startKeyboard();
startRowMenus();
startDownloadsLeft();
startQuestions();
// After a logout, the browser must not keep anything that the account saw.
document.querySelector('form[action$=logout]')?.addEventListener('submit', () => void forgetThumbnails());
const offerUploads = startUploads();
startFolder();
startFolderChanges(startFolder);
startLinks();
void rowsAreWhole().then(openAskedLayer);
// A mark for measurements. From here on the page reacts to keys and clicks.
performance.mark('usable');

/**
 * Waits for the page and its style sheets, without which rows are missing or have no size. The modules are loaded before this wait, while
 * the service still reads the folder.
 */
async function pageHasCome(): Promise<void> {
  const happens = (target: EventTarget, type: string) => new Promise((resolve) => target.addEventListener(type, resolve, { once: true }));
  if (document.readyState === 'loading') await happens(document, 'DOMContentLoaded');
  const styles = [...document.querySelectorAll<HTMLLinkElement>('link[rel=stylesheet]')];
  // A style sheet that fails to load never gets a `sheet`. The load event of the page happens even then.
  if (styles.some(({ sheet }) => !sheet) && document.readyState !== 'complete') await happens(window, 'load');
}

function showPhraseDates(within: HTMLElement): void {
  for (const place of within.querySelectorAll<HTMLElement>('span[data-time]'))
    (place.dataset.exact !== undefined ? showExactDate : place.closest('.facts') ? showDate : showDateInPhrase)(place);
}

/** Starts the functions of a folder page; called for each folder that is shown. */
function startFolder(): void {
  startRows();
  if (isAccountPage()) {
    forgetRows();
    renewBy(renewPage);
  }
  showPhraseDates(byId('main'));
  const list = document.getElementById('list');
  if (list) (list.hidden ? startViewer : startListing)();
  startSearchPage();
  startFields();
  offerUploads();
}

function startListing(isFound = false): void {
  startRowDates();
  startSelection();
  if (isFound) startSearchField((isTyping) => void leaveSearch(isTyping));
  else {
    startLongNames();
    startFilter();
  }
  startRowClicks();
  startRowMenu();
  startView();
  if (may('read')) {
    startOpening();
    startThumbnails();
  }
  if (may('delete')) startDelete(selectedRows);
  startMemberForm();
  if (may('create-folder') && !isFound)
    byId('tools').prepend(makeButton(text('newFolder'), 'newFolder', () => void createFolder(), 'compact joined'));
  if (may('share')) {
    addAction({
      label: text('share'),
      icon: 'share',
      run: ([row]) => void (row && shareMember(rowMember(row))),
      isForOne: true,
    });
    void markShared(false);
  }
  if (may('read') && (may('write') || may('rename'))) offerTransfer('copy');
  if (may('rename')) {
    startDrag();
    void startRename().then((isOffered) => isOffered && offerTransfer('move'));
  }
  if (may('quota') && !isFound) whenRowsChange(() => void loadSpace().then((part) => part?.showNearlyFull()));
  finishRows();
}
