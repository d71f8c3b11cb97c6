import { nameInText } from '../../../lib/display-name.ts';
import { closeDialogs } from '../../shared/dialogs.ts';
import { byId } from '../../shared/dom.ts';
import { notice } from '../../shared/notices.ts';
import { loadPart } from '../../shared/parts.ts';
import { text } from '../language.ts';
import { continueFilter, filterText, leaveFilter, setFilter } from '../rows/filter.ts';
import { focusedRow, focusRow, rowKey, rowName, rowsAreWhole, shownRows } from '../rows/rows.ts';
import { selectedRows, selectOnly } from '../rows/selection.ts';
import { fetchPage, isPassing, obstacle, type PageReply, reasonFor } from '../server.ts';
import { folderUrl, isAccountPage, pageUrl, setShownPage, shownPage } from './folder.ts';
import { entryIndex, openAskedLayer, pushPage, stepBack, whenPageIsAsked } from './history.ts';

/** State of a folder when the user leaves it. When the user goes back, this state is restored. */
interface Left {
  scrollY: number;
  filter: string;
  selected: ReadonlySet<string>;
  focused: string | undefined;
}

/** States of the folders, by the index of their history entry. */
const left = new Map<number, Left>();

let start: () => void = () => {};

/** Index of the history entry whose page is shown. After Back, the current entry is another one until its folder has been loaded. */
let shownEntry = entryIndex();

let underWay: AbortController | undefined;

let changes = 0;

/** Returns how many times the content of this page has been replaced. */
export function folderChanges(): number {
  return changes;
}

/** @param startFolder starts the scripts of a folder's page after it is shown */
export function startFolderChanges(startFolder: () => void): void {
  start = startFolder;
  history.scrollRestoration = 'manual';
  addEventListener('pagehide', () => {
    history.scrollRestoration = 'auto';
  });
  addEventListener('pageshow', () => {
    history.scrollRestoration = 'manual';
  });
  whenPageIsAsked(travel);
}

/**
 * Shows another folder or sort order without leaving this page. If it is called several times, the last call wins. The browser itself opens
 * pages of other kinds.
 */
export async function showFolder(page: URL): Promise<void> {
  const reply = await load(page);
  if (!reply) return;
  if (reply.status > 0) forgetFailure();
  if (reply.page && isLike(reply.page)) {
    // The text in the field became a search, so it must not filter the folder when the user goes back.
    left.set(shownEntry, { ...howItIs(), ...(page.searchParams.has('search') && { filter: '' }) });
    const before = filterText();
    const isSame = pageUrl(reply.url).pathname === folderUrl();
    if (pageUrl(reply.url).href !== shownPage().href) pushPage(new URL(reply.url));
    // Scroll before the page is replaced. Afterwards, scrolling would force the browser to lay out the new page immediately.
    scrollTo(0, 0);
    takeOver(reply);
    if (isSame && before !== '' && document.getElementById('list')) setFilter(before);
    return openAskedLayer();
  }
  const { status } = reply;
  if (status > 0 && status < 400) return location.assign(page);
  const reason = status === 0 ? text('noConnection') : status === 404 ? text('gone') : reasonFor(status, undefined);
  const isTop = page.pathname === '/home/';
  const name = isAccountPage(page.pathname) ? '' : isTop ? text('files') : decodeURIComponent(page.pathname.split('/').at(-2) ?? '');
  const message = name === '' ? text('error', { reason }) : text('notOpened', { name: nameInText(name), reason });
  if (isPassing(status)) noticeFailed(message, () => void showFolder(page));
  else notice(message, 'error');
}

/** Returns from search results to the searched folder. @param isTyping whether the user has emptied the field, and may type another text */
export async function leaveSearch(isTyping: boolean): Promise<void> {
  const field = byId('tools').querySelector<HTMLInputElement>('.search input');
  await showFolder(new URL(folderUrl(), location.href));
  if (field?.isConnected) return;
  if (isTyping) continueFilter(field?.value ?? '');
  else leaveFilter();
}

// Follows Back and Forward. The URL has already changed, so the relative links of the old page are wrong. `inert` blocks them until the
// page is replaced.
async function travel(page: URL): Promise<void> {
  if (page.href === shownPage().href && !underWay) {
    shownEntry = entryIndex();
    return;
  }
  closeDialogs();
  left.set(shownEntry, howItIs());
  byId('main').inert = true;
  const reply = await load(page);
  if (!reply) return;
  if (reply.status === 0) {
    forgetFailure();
    forgetFailure = notice(text('error', { reason: text('noConnection') }), 'error');
    return stepBack(shownEntry);
  }
  forgetFailure();
  if (!reply.page || !isLike(reply.page)) return location.reload();
  takeOver(reply);
  const before = left.get(entryIndex());
  const change = changes;
  await rowsAreWhole();
  if (before && change === changes) restore(before);
}

/** Marks the content as busy until `work` ends. */
export async function whileBusy<T>(work: Promise<T>): Promise<T> {
  const main = byId('main');
  main.ariaBusy = 'true';
  return await work.finally(() => {
    if (!underWay) main.ariaBusy = null;
  });
}

/** Removes the last message of `noticeFailed`. It is called when an attempt succeeds. */
export let forgetFailure: () => void = () => {};

/** Says that an action failed, and offers to try again. @returns a function that removes the message */
export function noticeFailed(message: string, again: () => void): () => void {
  forgetFailure();
  const run = () => {
    forgetFailure();
    again();
  };
  forgetFailure = notice(message, 'error', { label: text('tryAgain'), run });
  return forgetFailure;
}

/**
 * Loads a part that the user's action needs. If that fails, a message offers to try again.
 *
 * @param tell makes the message from the reason
 * @param again repeats the action
 */
export async function partFor<T>(
  name: string,
  load: () => Promise<T>,
  tell: (reason: string) => string,
  again: () => void,
): Promise<T | undefined> {
  const part = await whileBusy(loadPart(name, load));
  if (part) forgetFailure();
  // If the service answers, the part was lost, or the page is of an older version.
  else noticeFailed(tell((await obstacle()) ?? text('reload')), again);
  return part;
}

/** Returns the message that an action failed. @param action label of its button */
export function notDone(action: string): (reason: string) => string {
  return (reason) => text('notDone', { action, reason });
}

/** Fetches a page. Meanwhile, the content is marked as busy. @returns undefined if another call has started since */
async function load(page: URL): Promise<PageReply | undefined> {
  underWay?.abort();
  const controller = new AbortController();
  underWay = controller;
  byId('main').ariaBusy = 'true';
  const reply = await fetchPage(page, { signal: controller.signal });
  if (underWay !== controller) return undefined;
  underWay = undefined;
  byId('main').ariaBusy = null;
  byId('main').inert = false;
  return reply;
}

/** Returns whether a page has the same kind, language and version as this one, and belongs to the same account. */
function isLike(page: Document): boolean {
  const marks = (of: Document) => [
    of.documentElement.lang,
    of.querySelector('script')?.getAttribute('src'),
    of.querySelector('.who')?.textContent,
    of.getElementById('menu')?.querySelectorAll('a.button, form').length,
  ];
  return page.body.classList.contains('listing') && JSON.stringify(marks(page)) === JSON.stringify(marks(document));
}

/** Replaces the shown page with its current version from the service. */
export async function renewPage(): Promise<void> {
  const reply = await load(shownPage());
  if (reply?.page && isLike(reply.page)) takeOver(reply);
}

function howItIs(): Left {
  const row = focusedRow();
  return { scrollY, filter: filterText(), selected: new Set(selectedRows().map(rowKey)), focused: row && rowName(row) };
}

/** Replaces the content of this page with that of another. */
function takeOver({ url, page }: PageReply): void {
  const fresh = page?.getElementById('main');
  if (!page || !fresh) return;
  changes++;
  shownEntry = entryIndex();
  setShownPage(pageUrl(url));
  document.title = page.title;
  // Keep the notices, and the metadata that was filled in for uploads.
  for (const id of ['notices', 'metadata']) {
    const kept = document.getElementById(id);
    if (kept) fresh.querySelector(`#${id}`)?.replaceWith(kept);
  }
  takeOverHead(page);
  document.getElementById('menu')?.hidePopover();
  byId('main').replaceWith(document.adoptNode(fresh));
  start();
  // Moving the focus forces a layout of the new page. The focus is moved in a task of its own, so that no task takes long.
  const change = changes;
  setTimeout(() => {
    if (change === changes && !byId('main').contains(document.activeElement)) focusHeading();
  });
}

// The forms of the menu must return to the page that is now shown, and the link to that page must be marked as current.
function takeOverHead(page: Document): void {
  const [links, others] = [document, page].map((of) => [...of.querySelectorAll('a.to-place')]);
  for (const [index, place] of (links ?? []).entries()) place.ariaCurrent = others?.[index]?.ariaCurrent ?? null;
  const [here, there] = [document, page].map((of) => [...of.querySelectorAll<HTMLInputElement>('.account [name=next]')]);
  for (const [index, field] of (here ?? []).entries()) field.value = there?.[index]?.value ?? field.value;
  const link = page.querySelector('.account > a')?.getAttribute('href');
  if (link) document.querySelector('.account > a')?.setAttribute('href', link);
}

function focusHeading(): void {
  const heading = document.querySelector<HTMLElement>('#members h2') ?? document.querySelector<HTMLElement>('h1');
  if (heading) heading.tabIndex = -1;
  heading?.focus({ preventScroll: true });
}

function restore(before: Left): void {
  if (document.getElementById('list')) {
    setFilter(before.filter);
    selectOnly(shownRows().filter((row) => before.selected.has(rowKey(row))));
  }
  const row = before.focused === undefined ? undefined : shownRows().find((candidate) => rowName(candidate) === before.focused);
  if (row) focusRow(row);
  // Search results arrive later. Until then, a minimum height lets the page scroll.
  if (document.querySelector('.found')) byId('main').style.minHeight = `${before.scrollY + innerHeight}px`;
  scrollTo(0, before.scrollY);
}
