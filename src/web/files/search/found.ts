import { escapeInvisible, nameInText, visibleControls } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { readLines } from '../../shared/lines.ts';
import { formatTag, partTexts } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import de from '../../texts/found/de.json' with { type: 'json' };
import en from '../../texts/found/en.json' with { type: 'json' };
import es from '../../texts/found/es.json' with { type: 'json' };
import fr from '../../texts/found/fr.json' with { type: 'json' };
import { createFolder } from '../actions/members.ts';
import { folderLabel } from '../actions/undo.ts';
import { text } from '../language.ts';
import { folderUrl, may, pageUrl, setShownPage, shownPage } from '../navigation/folder.ts';
import { showFolder } from '../navigation/folder-change.ts';
import { formUrl, leadToPreview } from '../navigation/links.ts';
import {
  type Member,
  makeRow,
  memberKey,
  type Row,
  renewBy,
  replaceRows,
  rowLink,
  rowMember,
  showOnly,
  startLongNames,
  startRows,
  whenRowIsWritten,
  whenRowsChange,
} from '../rows/rows.ts';
import { addAction, selectedRows } from '../rows/selection.ts';
import { homeUrl, type ListedMember, memberUrl, replyReason, send } from '../server.ts';

const foundText = partTexts({ en, de, es, fr });

/** A member that a search found. Its path begins at the account's root. */
type FoundMember = ListedMember & { path: string };

/** A line of the reply. It is a result or, at the end, a statement that there are more results. */
type FoundLine = (FoundMember & { truncated?: never }) | { truncated: true };

type Compare = (a: Member, b: Member) => number;

/** Time in milliseconds after a key before the typed text is searched. */
const typedMs = 400;

const naturally = new Intl.Collator(formatTag, { numeric: true }).compare;

const comparisons: Readonly<Record<string, Compare>> = {
  name: (a, b) => naturally(a.name, b.name),
  inFolder: (a, b) => naturally(decodeURIComponent(a.folder), decodeURIComponent(b.folder)),
  size: (a, b) => a.sizeBytes - b.sizeBytes,
  modified: (a, b) => a.modified - b.modified,
};

const descendingFirst = ['size', 'modified'];

/**
 * Shows search results as a list like that of a folder. Either the page already contains the results, or each result is shown when it
 * arrives. After the user has changed a file or folder, or typed another text, the search runs again.
 *
 * @param signal aborted when another page is shown
 * @param startListing starts the scripts of the list
 */
export function showFound(table: HTMLTableElement, signal: AbortSignal, startListing: () => void): void {
  // While this part was loaded, the user may have opened another page.
  if (signal.aborted) return;
  let wanted = table.dataset.text ?? '';
  const isPending = table.dataset.pending !== undefined;
  let results = [...(table.tBodies[0]?.rows ?? [])].map(adopted);
  // Folders stay in the order of the search; the results in one folder are in natural order.
  const folders = new Map<string, number>();
  const asSearched: Compare = (a, b) => (folders.get(a.folder) ?? 0) - (folders.get(b.folder) ?? 0) || naturally(a.name, b.name);
  let compare = asSearched;
  let focusOn: string | undefined;
  let search = new AbortController();
  const show = () => {
    for (const row of results) {
      const { folder } = rowMember(row);
      if (!folders.has(folder)) folders.set(folder, folders.size);
    }
    replaceRows(
      results.toSorted((a, b) => compare(rowMember(a), rowMember(b))),
      focusOn,
    );
  };
  table.tBodies[0]?.replaceChildren();
  table.id = 'list';
  if (isPending) table.after(make('div', { id: 'count' }));
  startRows();
  whenRowIsWritten((row) => finishCells(row, wanted));
  startLongNames((part) => marked(part, wanted));
  startListing();
  // On the page of a folder, the code of the filter puts changed rows into the table (`showOnly`). There is no filter here, so all rows are
  // put there directly.
  whenRowsChange(() => showOnly(undefined));
  addAction(
    {
      label: foundText('showInFolder'),
      icon: 'up',
      run: ([row]) => void (row && showFolder(new URL(rowMember(row).folder, location.href))),
      isForOne: true,
    },
    'copy',
  );
  if (!may('read')) byId('actions').querySelector('[value=download-members]')?.remove();
  // An archive is requested from the folder of the selected results.
  byId('members').addEventListener(
    'submit',
    ({ currentTarget: form }) => {
      const [row] = selectedRows();
      if (row) (form as HTMLFormElement).setAttribute('action', rowMember(row).folder);
    },
    { capture: true },
  );
  startSorting(table, (wish) => {
    compare = wish;
    show();
  });
  if (may('create-folder'))
    byId('tools')
      .querySelector('.search-opener, .search')
      ?.before(makeButton(text('newFolder'), 'newFolder', makeFolder, 'compact joined'));

  /**
   * Runs the search.
   *
   * @param isNew whether each result is shown as it arrives. If not, all results replace the previous ones when the search ends
   */
  const run = async (isNew: boolean) => {
    const known = new Map(isNew ? [] : results.map((row) => [resultKey(rowMember(row)), row]));
    const found: Row[] = [];
    const isOver = AbortSignal.any([signal, search.signal]);
    let isTruncated = false;
    let problem: string | undefined;
    let frame = 0;
    if (isNew) {
      results = found;
      table.hidden = false;
      table.ariaBusy = 'true';
    }
    try {
      const reply = await send('GET', shownPage().href, { headers: { accept: 'application/x-ndjson' }, signal: isOver });
      if (!reply.ok) problem = await replyReason(reply);
      else {
        for await (const line of readLines(reply)) {
          const item = JSON.parse(line) as FoundLine;
          if (item.truncated) {
            isTruncated = true;
            continue;
          }
          const member = memberOf(item);
          found.push(known.get(resultKey(member)) ?? makeRow(member));
          if (isNew)
            frame ||= requestAnimationFrame(() => {
              frame = 0;
              show();
            });
        }
      }
    } catch {
      if (!isOver.aborted) problem = text('noConnection');
    }
    cancelAnimationFrame(frame);
    if (isOver.aborted) return;
    // If a repeated search fails, the previous results stay.
    if (isNew || problem === undefined) results = found;
    table.ariaBusy = null;
    show();
    focusOn = undefined;
    showEnd(table, wanted, results.length, { isTruncated, problem });
  };
  if (isPending) void run(true);
  else {
    show();
    showNumber(results.length, document.querySelector('#count ~ .notice') !== null);
  }
  searchAsTyped(signal, wanted, (typed) => {
    search.abort();
    search = new AbortController();
    showSearched(table, foundText('searchFor', { text: typed }));
    wanted = typed;
    focusOn = undefined;
    folders.clear();
    document.getElementById('truncated')?.remove();
    byId('count').replaceChildren();
    scrollTo(0, 0);
    void run(true);
  });
  const runAgain = onceAtATime(() => run(false));
  renewBy((name) => {
    focusOn = name;
    return runAgain();
  });
}

/** Searches again a while after a key has changed the text in the field. @param searched text of the results that are shown */
function searchAsTyped(signal: AbortSignal, searched: string, search: (typed: string) => void): void {
  const form = byId('tools').querySelector<HTMLFormElement>('.search');
  const field = form?.querySelector('input');
  if (!form || !field) return;
  let timer = 0;
  const forget = () => clearTimeout(timer);
  const look = () => {
    forget();
    const typed = field.value.trim();
    // An emptied field leads back to the folder.
    if (typed === '' || typed === searched) return;
    timer = window.setTimeout(() => {
      searched = typed;
      setShownPage(pageUrl(formUrl(form).href));
      history.replaceState(history.state, '', shownPage());
      search(typed);
    }, typedMs);
  };
  field.addEventListener('input', look);
  form.addEventListener('submit', forget);
  signal.addEventListener('abort', forget);
  // The user has perhaps typed while the page or this part was loading.
  look();
}

/** Shows the title of another search, and lets the forms and links of the head return to it. */
function showSearched(table: HTMLElement, title: string): void {
  document.title = document.title.replace(table.ariaLabel ?? '', () => title);
  table.ariaLabel = title;
  const shown = document.querySelector('.found-head h2');
  if (shown) shown.textContent = escapeInvisible(visibleControls(title));
  const next = location.pathname + location.search;
  for (const field of document.querySelectorAll<HTMLInputElement>('.account [name=next]')) field.value = next;
  const link = document.querySelector<HTMLAnchorElement>('.account > a');
  if (link) link.search = new URLSearchParams({ next }).toString();
}

function memberOf({ path, name, is_directory: isFolder, size, modified }: FoundMember): Member {
  const folder = homeUrl(path.slice(0, path.length - name.length));
  const look = isFolder ? 'folder' : fileIconClasses(name);
  return { name, folder, isFolder, sizeBytes: size, modified: Math.floor(modified), look };
}

function adopted(sent: Row): Row {
  const link = rowLink(sent);
  const [, , sizeCell, timeCell] = sent.cells;
  const path = decodeURIComponent(link.pathname.slice('/home'.length).replace(/\/$/, ''));
  const found = {
    path,
    name: path.slice(path.lastIndexOf('/') + 1),
    is_directory: link.classList.contains('folder'),
    size: Number(sizeCell?.dataset.size),
    modified: Number(timeCell?.dataset.time),
  };
  return makeRow(memberOf(found));
}

/** Returns the key of a result. If results of two searches have the same key, their rows look the same, so the first row is reused. */
function resultKey(member: Member): string {
  return JSON.stringify([memberKey(member), member.isFolder, member.sizeBytes, member.modified]);
}

/** Completes the row of a result. The name becomes a link with the searched text highlighted, and a cell with the folder is added. */
function finishCells(row: Row, wanted: string): void {
  const { name, folder, isFolder } = rowMember(row);
  const link = rowLink(row);
  link.href = memberUrl(name, isFolder, folder);
  link.replaceChildren(make('bdi', ...marked(escapeInvisible(visibleControls(name)), wanted)));
  leadToPreview(link);
  const path = decodeURIComponent(folder.slice('/home'.length, -1));
  row.append(make('td', { role: 'cell' }, make('a', { href: folder }, make('bdi', path === '' ? text('files') : escapeInvisible(path)))));
}

/** Shows the number of results in the heading. */
function showNumber(count: number, isTruncated: boolean): void {
  const heading = document.querySelector('.found-head h2');
  heading?.querySelector('.number')?.remove();
  if (count === 0) return;
  const results = foundText(isTruncated ? 'resultsOrMore' : 'results', { count }).replaceAll(' ', '\u00a0');
  heading?.append(make('span.number', text('colon'), results));
}

/** Tells screen readers the number of results, because it means that the search has ended, or shows a problem. */
function showEnd(
  table: HTMLElement,
  wanted: string,
  count: number,
  { isTruncated, problem }: { isTruncated: boolean; problem: string | undefined },
): void {
  showNumber(count, isTruncated);
  while (table.nextElementSibling?.id !== 'actions') table.nextElementSibling?.remove();
  document.getElementById('truncated')?.remove();
  const end = make('div', { id: 'count', role: 'status' });
  table.after(end);
  table.hidden = count === 0;
  if (problem !== undefined) end.append(make('p.notice.error', text('error', { reason: problem })));
  else if (count > 0) end.append(make('p.hidden', foundText('found', { count })));
  else {
    const lead = make('p.lead', foundText('nothingFound', { text: nameInText(wanted) }));
    const isTop = folderUrl() === '/home/' || shownPage().searchParams.get('scope') === 'everywhere';
    const hint = foundText(isTop ? 'nothingFoundAtTop' : 'nothingFoundHint');
    end.append(make('div.empty.closed', icon('search'), lead, make('p.hint', hint)));
  }
  if (!isTruncated) return;
  const limit = [count > 0 && `${foundText('found', { count })} `, foundText('searchTruncated')];
  (count > 0 ? table : end).before(make('p.hint', { id: 'truncated', role: 'status' }, ...limit));
}

/** Sorts by a column when its header is pressed. Another press reverses the order. */
function startSorting(table: HTMLTableElement, sortBy: (compare: Compare) => void): void {
  const heads = [...table.querySelectorAll<HTMLElement>('th[data-sort]')];
  for (const head of heads) {
    const column = head.dataset.sort ?? '';
    const sort = () => {
      const first = descendingFirst.includes(column) ? 'descending' : 'ascending';
      const other = first === 'ascending' ? 'descending' : 'ascending';
      const direction = head.ariaSort === first ? other : first;
      for (const each of heads) {
        each.ariaSort = null;
        each.querySelector('.icon')?.remove();
      }
      head.ariaSort = direction;
      button.append(icon(direction === 'ascending' ? 'up' : 'down'));
      const compare = comparisons[column] ?? (() => 0);
      sortBy(direction === 'ascending' ? compare : (a, b) => compare(b, a));
    };
    const button = makeButton(head.textContent ?? '', undefined, sort, 'quiet');
    head.replaceChildren(button);
  }
}

/** Creates a folder in the searched folder. A notice names the new folder, which is perhaps not among the results. */
async function makeFolder(): Promise<void> {
  const folder = folderUrl();
  const name = await createFolder();
  if (name !== undefined) notice(foundText('folderMade', { name: nameInText(name), to: folderLabel(folder) }));
}

/** Returns a function that starts `work` immediately, or, if `work` is running, once more when it has ended. */
function onceAtATime(work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  let next: Promise<void> | undefined;
  const begin = (): Promise<void> => {
    running = work().finally(() => {
      running = undefined;
    });
    return running;
  };
  return () => {
    if (!running) return begin();
    next ??= running.then(() => {
      next = undefined;
      return begin();
    });
    return next;
  };
}

/** Highlights the searched text in a name, ignoring case. If the text cannot be located in the name, the name is returned unchanged. */
function marked(name: string, wanted: string): (Node | string)[] {
  const at = name.toLowerCase().indexOf(wanted.toLowerCase());
  if (wanted === '' || at < 0 || name.toLowerCase().length !== name.length) return [name];
  const end = at + wanted.length;
  return [name.slice(0, at), make('mark', name.slice(at, end)), name.slice(end)];
}
