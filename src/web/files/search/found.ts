import { escapeInvisible } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { icon, make, makeButton } from '../../shared/dom.ts';
import { readLines } from '../../shared/lines.ts';
import { formatTag, partTexts, sizeText } from '../../shared/locale.ts';
import de from '../../texts/found/de.json' with { type: 'json' };
import en from '../../texts/found/en.json' with { type: 'json' };
import es from '../../texts/found/es.json' with { type: 'json' };
import fr from '../../texts/found/fr.json' with { type: 'json' };
import { openMenu } from '../actions/row-menu.ts';
import { showDate } from '../dates.ts';
import { text } from '../language.ts';
import { shownPage } from '../navigation/folder.ts';
import { showFolder } from '../navigation/folder-change.ts';
import { leadToPreview } from '../navigation/links.ts';
import { type ListedMember, replyReason, send } from '../server.ts';

/** Something that was found; the last line says that there may be more. */
type FoundLine = (ListedMember & { path: string; truncated?: never }) | { truncated: true };

const foundText = partTexts({ en, de, es, fr });

/** A result as the table shows it. */
interface Found extends ListedMember {
  path: string;
  element: HTMLTableRowElement;
}

/** As the rows of folders are ordered. */
const naturally = new Intl.Collator(formatTag, { numeric: true }).compare;

const comparisons: Readonly<Record<string, (a: Found, b: Found) => number>> = {
  name: (a, b) => naturally(a.name, b.name),
  inFolder: (a, b) => naturally(parentOf(a), parentOf(b)),
  size: (a, b) => b.size - a.size,
  modified: (a, b) => b.modified - a.modified,
};

/** Runs the search of the URL, and shows each result as soon as it is found. @param signal ends it */
export async function showFound(table: HTMLTableElement, signal: AbortSignal): Promise<void> {
  const results: Found[] = [];
  let isTruncated = false;
  let problem: string | undefined;
  const body = table.tBodies[0] ?? table.createTBody();
  const wanted = table.dataset.text ?? '';
  startSorting(table, body, results);
  // Announced at the end, once all is known.
  const end = make('div', { id: 'count', role: 'status' });
  table.after(end);
  table.ariaBusy = 'true';
  try {
    const reply = await send('GET', shownPage().href, { headers: { accept: 'application/x-ndjson' }, signal });
    if (!reply.ok) problem = await replyReason(reply);
    else {
      for await (const line of readLines(reply)) {
        const found = JSON.parse(line) as FoundLine;
        if (found.truncated) isTruncated = true;
        else {
          const result = { ...found, element: row(found, wanted) };
          results.push(result);
          body.append(result.element);
        }
      }
    }
  } catch {
    if (signal.aborted) return;
    problem = text('noConnection');
  }
  table.ariaBusy = null;
  if (problem !== undefined) end.append(make('p.notice.error', text('error', { reason: problem })));
  else if (results.length > 0) end.append(make('p.count', foundText('found', { count: results.length })));
  else {
    table.hidden = true;
    const lead = make('p.lead', foundText('nothingFound'));
    end.append(make('div.empty.closed', icon('search'), lead, make('p.hint', foundText('nothingFoundHint'))));
  }
  if (isTruncated) end.append(make('p.notice', foundText('searchTruncated')));
}

/** Takes over results that came with the page: they get the order, the menu and the times of those that the script shows. */
export function adoptFound(table: HTMLTableElement): void {
  const body = table.tBodies[0] ?? table.createTBody();
  const results = [...body.rows].flatMap((shown) => {
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
    const element = row(found, table.dataset.text ?? '');
    shown.replaceWith(element);
    return [{ ...found, element }];
  });
  startSorting(table, body, results);
}

/** A press of the head of a column sorts by it, another one the other way round. */
function startSorting(table: HTMLTableElement, body: HTMLTableSectionElement, results: readonly Found[]): void {
  const heads = [...table.querySelectorAll<HTMLElement>('th[data-sort]')];
  for (const head of heads) {
    const sort = () => {
      const isAscending = head.ariaSort !== 'ascending';
      for (const other of heads) other.ariaSort = null;
      head.ariaSort = isAscending ? 'ascending' : 'descending';
      const compare = comparisons[head.dataset.sort ?? ''] ?? (() => 0);
      const sorted = [...results].sort((a, b) => (isAscending ? compare(a, b) : compare(b, a)));
      body.append(...sorted.map(({ element }) => element));
    };
    head.replaceChildren(makeButton(head.textContent ?? '', undefined, sort, 'quiet'));
  }
  table.tHead?.rows[0]?.append(make('th.more', { role: 'columnheader' }, make('span.hidden', text('actions'))));
}

function parentOf({ path, name }: Pick<Found, 'path' | 'name'>): string {
  return path.slice(0, path.length - name.length);
}

function row(found: ListedMember & { path: string }, wanted: string): HTMLTableRowElement {
  const { path, name, is_directory: isFolder, size, modified } = found;
  const parent = parentOf(found);
  const className = `i ${isFolder ? 'folder' : fileIconClasses(name)}`;
  const href = homeUrl(isFolder ? `${path}/` : path);
  const link = make('a', { className, href, title: name.length > 60 ? name : '' }, marked(escapeInvisible(name), wanted));
  leadToPreview(link);
  const place = make('a', { href: homeUrl(parent) }, make('bdi', parent === '/' ? text('files') : escapeInvisible(parent.slice(0, -1))));
  const time = make('td', { attributes: { 'data-time': String(Math.floor(modified)) } });
  showDate(time);
  const more = makeButton('⋯', undefined, () => openMenu(more, itemsOf(link, href, parent, name, isFolder)), 'quiet');
  more.ariaLabel = text('actionsFor', { name });
  more.ariaHasPopup = 'menu';
  const about = isFolder ? make('span.hidden', foundText('folder')) : sizeText(size);
  const cells = [make('td', link), make('td', place), make('td', about), time, make('td.more', more)];
  for (const cell of cells) cell.role = 'cell';
  return make('tr', { role: 'row' }, ...cells);
}

function itemsOf(link: HTMLAnchorElement, href: string, parent: string, name: string, isFolder: boolean) {
  return [
    { label: text('keyOpen'), icon: 'files', run: () => link.click() } as const,
    { label: foundText('showInFolder'), icon: 'up', run: () => void showFolder(new URL(homeUrl(parent), location.href)) } as const,
    ...(isFolder ? [] : [{ label: text('download'), icon: 'download', run: () => make('a', { href, download: name }).click() } as const]),
  ];
}

/** A name with what was searched for marked, where that stands in it as it was typed but for its case. */
function marked(name: string, wanted: string): HTMLElement {
  const at = name.toLowerCase().indexOf(wanted.toLowerCase());
  if (wanted === '' || at < 0 || name.toLowerCase().length !== name.length) return make('bdi', name);
  const end = at + wanted.length;
  return make('bdi', name.slice(0, at), make('mark', name.slice(at, end)), name.slice(end));
}

/** URL path of a path below the account's own. */
function homeUrl(path: string): string {
  return `/home${path.split('/').map(encodeURIComponent).join('/')}`;
}
