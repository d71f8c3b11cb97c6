import { escapeInvisible, nameInText } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { showDate } from '../../shared/dates.ts';
import { byId, icon, make, makeButton } from '../../shared/dom.ts';
import { readLines } from '../../shared/lines.ts';
import { formatTag, partTexts, sizeText } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import de from '../../texts/found/de.json' with { type: 'json' };
import en from '../../texts/found/en.json' with { type: 'json' };
import es from '../../texts/found/es.json' with { type: 'json' };
import fr from '../../texts/found/fr.json' with { type: 'json' };
import { createFolder, deleteMembers, shareMember } from '../actions/members.ts';
import { transferMembers } from '../actions/move.ts';
import { canMove, rename } from '../actions/rename.ts';
import { addMenuButton, closeMenu, type Item, menuHead, showMenu } from '../actions/row-menu.ts';
import { folderLabel } from '../actions/undo.ts';
import { text } from '../language.ts';
import { folderUrl, may, shownPage } from '../navigation/folder.ts';
import { showFolder } from '../navigation/folder-change.ts';
import { leadToPreview } from '../navigation/links.ts';
import { startSearchField } from '../rows/filter.ts';
import { keepShort } from '../rows/long-names.ts';
import { kindOfFile, type Member, renewBy } from '../rows/rows.ts';
import { homeUrl, type ListedMember, memberUrl, obstacle, replyReason, send } from '../server.ts';
import { forgetRows, watchForThumbnail } from '../thumbnails/thumbnails.ts';

/** Returns a text for search results. */
const foundText = partTexts({ en, de, es, fr });

/** A line of the reply. It is a result; the last line may instead say that there are more results. */
type FoundLine = (FoundMember & { truncated?: never }) | { truncated: true };

/** A result and its row in the table. */
type Found = FoundMember & { element: HTMLTableRowElement };

type Compare = (a: Found, b: Found) => number;

/** Compares names in the same order as rows of folders. */
const naturally = new Intl.Collator(formatTag, { numeric: true }).compare;

const comparisons: Readonly<Record<string, Compare>> = {
  name: (a, b) => naturally(a.name, b.name),
  inFolder: (a, b) => naturally(parentFolder(a), parentFolder(b)),
  size: (a, b) => a.size - b.size,
  modified: (a, b) => a.modified - b.modified,
};

/** Columns that are sorted in descending order first, because most users want that. */
const descendingFirst = ['size', 'modified'];

/**
 * Shows search results. They are in the page already, or are shown as they arrive. After each change, the search runs again.
 *
 * @param signal aborted when another page is shown
 */
export function showFound(table: HTMLTableElement, signal: AbortSignal): void {
  const wanted = table.dataset.text ?? '';
  const body = table.tBodies[0] ?? table.createTBody();
  let results: Found[] = [];
  let compare: Compare | undefined;
  forgetRows();
  const shown = ({ element, name }: Found) => ({ link: element.querySelector('a') as HTMLAnchorElement, name });
  const fit = keepShort(
    table,
    () => results.map(shown),
    (part) => marked(part, wanted),
  );
  const order = () => {
    if (compare) results.sort(compare);
    keepFocus(() => place(body, results));
  };
  startSorting(table, (wish) => {
    compare = wish;
    order();
  });
  startSearchField();
  if (may('create-folder'))
    byId('tools')
      .querySelector('.search-opener, .search')
      ?.before(makeButton(text('newFolder'), 'newFolder', makeFolder, 'compact'));

  /** Runs the search. @param isNew whether results are shown at once. If not, they replace the previous ones when the search has ended */
  const run = async (isNew: boolean) => {
    const known = new Map(results.map((result) => [resultKey(result), result]));
    const found: Found[] = [];
    let isTruncated = false;
    let problem: string | undefined;
    try {
      const reply = await send('GET', shownPage().href, { headers: { accept: 'application/x-ndjson' }, signal });
      if (!reply.ok) problem = await replyReason(reply);
      else {
        for await (const line of readLines(reply)) {
          const item = JSON.parse(line) as FoundLine;
          if (item.truncated) {
            isTruncated = true;
            continue;
          }
          const result = known.get(resultKey(item)) ?? { ...item, element: foundRow(item, wanted) };
          found.push(result);
          if (isNew) body.append(result.element);
          fit([shown(result)]);
        }
      }
    } catch {
      if (signal.aborted) return;
      problem = text('noConnection');
    }
    // If a repeated search fails, the previous results are kept.
    if (isNew || problem === undefined) results = found;
    table.ariaBusy = null;
    order();
    showEnd(table, results.length, { isTruncated, problem });
  };
  if (table.dataset.pending === undefined) {
    results = adopted(body, wanted);
    fit(results.map(shown));
  } else {
    table.ariaBusy = 'true';
    void run(true);
  }
  renewBy(onceAtATime(() => run(false)));
}

/** Replaces each row that was sent with the page. The new rows have a menu and formatted times. */
function adopted(body: HTMLTableSectionElement, wanted: string): Found[] {
  return [...body.rows].flatMap((shown) => {
    const link = shown.querySelector('a');
    if (!link) return [];
    const path = decodeURIComponent(link.pathname.slice('/home'.length).replace(/\/$/, ''));
    const [, , sizeCell, timeCell] = shown.cells;
    const found = {
      path,
      name: path.slice(path.lastIndexOf('/') + 1),
      is_directory: link.classList.contains('folder'),
      size: Number(sizeCell?.dataset.size),
      modified: Number(timeCell?.dataset.time),
    };
    const element = foundRow(found, wanted);
    shown.replaceWith(element);
    return [{ ...found, element }];
  });
}

/** Returns the key of a result. Results with equal keys look the same. */
function resultKey({ path, is_directory: isFolder, size, modified }: FoundMember): string {
  return JSON.stringify([path, isFolder, size, Math.floor(modified)]);
}

/** Puts the rows of results into the table in their order, and removes all others. */
function place(body: HTMLElement, results: readonly Found[]): void {
  const wanted = new Set<Element>(results.map(({ element }) => element));
  for (const row of [...body.children]) if (!wanted.has(row)) row.remove();
  for (const [index, { element }] of results.entries()) {
    const present = body.children[index] ?? null;
    if (present !== element) body.insertBefore(element, present);
  }
}

/** Runs a function that moves rows, and then restores the focus, which a moved row loses. */
function keepFocus(move: () => void): void {
  const focused = document.activeElement;
  move();
  if (focused instanceof HTMLElement && focused.isConnected && focused !== document.activeElement) focused.focus({ preventScroll: true });
}

/** Shows the number of results, or a problem. Screen readers announce it, because it means that the search has ended. */
function showEnd(table: HTMLElement, count: number, { isTruncated, problem }: { isTruncated: boolean; problem: string | undefined }): void {
  while (table.nextSibling) table.nextSibling.remove();
  const end = make('div', { id: 'count', role: 'status' });
  table.after(end);
  table.hidden = count === 0;
  if (problem !== undefined) end.append(make('p.notice.error', text('error', { reason: problem })));
  else if (count > 0) end.append(make('p.count', foundText('found', { count })));
  else {
    const lead = make('p.lead', foundText('nothingFound'));
    end.append(make('div.empty.closed', icon('search'), lead, make('p.hint', foundText('nothingFoundHint'))));
  }
  if (isTruncated) end.append(make('p.notice', foundText('searchTruncated')));
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
  table.tHead?.rows[0]?.append(menuHead());
}

/** Creates a folder in the searched one. A notice names the folder, because the results may not include it. */
async function makeFolder(): Promise<void> {
  const folder = folderUrl();
  const name = await createFolder();
  if (name !== undefined) notice(foundText('folderMade', { name: nameInText(name), to: folderLabel(folder) }));
}

/** Returns a function that runs work at once. If the work is already running, the function runs it once more afterwards. */
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

/** A member that a search found. Its path begins at the account's root. */
type FoundMember = ListedMember & { path: string };

/** Whether members can be renamed and moved; false until that is known. */
let isMovable = false;

/** Returns the path of the folder that contains a result. */
function parentFolder({ path, name }: Pick<FoundMember, 'path' | 'name'>): string {
  return path.slice(0, path.length - name.length);
}

/** Builds a row of the results with name, folder, size, time, and a menu like that of a row in a folder. @param wanted the searched text */
function foundRow(found: FoundMember, wanted: string): HTMLTableRowElement {
  const { name, is_directory: isFolder, size } = found;
  const folder = homeUrl(parentFolder(found));
  const look = isFolder ? 'folder' : fileIconClasses(name);
  const member = { name, isFolder, sizeBytes: size, modified: Math.floor(found.modified), look };
  const url = memberUrl(name, isFolder, folder);
  const link = make('a', { className: `i ${look}`, href: url }, make('bdi', ...marked(escapeInvisible(name), wanted)));
  leadToPreview(link);
  const place = parentFolder(found) === '/' ? text('files') : escapeInvisible(parentFolder(found).slice(0, -1));
  const time = make('td', { attributes: { 'data-time': String(member.modified) } });
  showDate(time);
  const about = isFolder ? make('span.hidden', foundText('folder')) : sizeText(size);
  const row = make(
    'tr',
    { role: 'row' },
    make('td', link),
    make('td', make('a', { href: folder }, make('bdi', place))),
    make('td', about),
    time,
  );
  for (const cell of row.cells) cell.role = 'cell';
  const button = addMenuButton(row, name);
  // Unlike in a folder, the arrow keys do not reach these buttons, so the buttons are in the tab order.
  button.tabIndex = 0;
  const open = (from: HTMLElement, beside: DOMRect) => showMenu(from, beside, button.ariaLabel ?? '', itemsFor(link, member, folder));
  button.addEventListener('click', () => {
    if (button.ariaExpanded === 'true') closeMenu(true);
    else open(button, button.getBoundingClientRect());
  });
  row.addEventListener('contextmenu', (event) => {
    if (event.shiftKey) return;
    event.preventDefault();
    link.focus({ preventScroll: true });
    open(link, new DOMRect(event.clientX, event.clientY));
  });
  if (may('read')) watchForThumbnail(row, { ...member, url, kind: isFolder ? undefined : kindOfFile(name, look.split(' ')), link });
  void canMove().then((can) => {
    isMovable = can;
  });
  return row;
}

/** Returns the same menu items as in the folder of the result. The service decides about each of them by the rights in that folder. */
function itemsFor(link: HTMLAnchorElement, member: Member, folder: string): Item[] {
  const { isFolder } = member;
  const can = isMovable && may('rename');
  const items: (Item | false)[] = [
    isFolder && { label: text('keyOpen'), icon: 'files', run: () => link.click() },
    // If a file has a preview, its link leads to that.
    link.search !== '' && may('read') && { label: text('preview'), icon: 'eye', run: () => link.click() },
    { label: foundText('showInFolder'), icon: 'up', run: () => void showFolder(new URL(folder, location.href)) },
    may('read') && { label: text('download'), icon: 'download', run: () => void download(member, folder) },
    may('share') && { label: text('share'), icon: 'share', run: () => void shareMember(member, folder) },
    can && { label: text('rename'), icon: 'rename', run: () => void rename(member, folder) },
    can && { label: text('move'), icon: 'move', run: () => void transferMembers('move', [member], folder) },
    may('read') &&
      (may('write') || may('rename')) && { label: text('copy'), icon: 'copy', run: () => void transferMembers('copy', [member], folder) },
    may('delete') && { label: text('delete'), icon: 'trash', isDanger: true, run: () => void deleteMembers([member], folder) },
  ];
  return items.filter((item) => item !== false);
}

/** Downloads a file, or a folder as an archive. */
async function download({ name, isFolder }: Member, folder: string): Promise<void> {
  if (!isFolder) return make('a', { href: memberUrl(name, false, folder), download: name }).click();
  const problem = await obstacle(memberUrl(name, true, folder));
  if (problem !== undefined) return void notice(text('error', { reason: problem }), 'error');
  const field = (key: string, value: string) => make('input', { type: 'hidden', name: key, value });
  const fields = [field('action', 'download-members'), field('selected-members', name)];
  const form = make('form.archive', { method: 'post', action: folder, enctype: 'multipart/form-data', hidden: true }, ...fields);
  document.body.append(form);
  form.requestSubmit();
  form.remove();
}

/** Highlights the searched text in a name, ignoring case. If the text cannot be located in the name, the name is returned unchanged. */
function marked(name: string, wanted: string): (Node | string)[] {
  const at = name.toLowerCase().indexOf(wanted.toLowerCase());
  if (wanted === '' || at < 0 || name.toLowerCase().length !== name.length) return [name];
  const end = at + wanted.length;
  return [name.slice(0, at), make('mark', name.slice(at, end)), name.slice(end)];
}
