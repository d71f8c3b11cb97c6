import { escapeInvisible } from '../../../lib/display-name.ts';
import { fileIconClasses } from '../../../lib/media-types.ts';
import { icon, make } from '../../shared/dom.ts';
import { readLines } from '../../shared/lines.ts';
import { partTexts, sizeText } from '../../shared/locale.ts';
import de from '../../texts/found/de.json' with { type: 'json' };
import en from '../../texts/found/en.json' with { type: 'json' };
import es from '../../texts/found/es.json' with { type: 'json' };
import fr from '../../texts/found/fr.json' with { type: 'json' };
import { showDate } from '../dates.ts';
import { text } from '../language.ts';
import { shownPage } from '../navigation/folder.ts';
import { leadToPreview } from '../navigation/links.ts';
import { type ListedMember, replyReason, send } from '../server.ts';

/** Something that was found; the last line says that there may be more. */
type FoundLine = (ListedMember & { path: string; truncated?: never }) | { truncated: true };

const foundText = partTexts({ en, de, es, fr });

/** Runs the search of the URL, and shows each result as soon as it is found. @param signal ends it */
export async function showFound(list: HTMLElement, signal: AbortSignal): Promise<void> {
  let count = 0;
  let isTruncated = false;
  let problem: string | undefined;
  // Announced at the end, once all is known.
  const end = make('div', { id: 'count', role: 'status' });
  list.after(end);
  list.ariaBusy = 'true';
  try {
    const reply = await send('GET', shownPage().href, { headers: { accept: 'application/x-ndjson' }, signal });
    if (!reply.ok) problem = await replyReason(reply);
    else {
      for await (const line of readLines(reply)) {
        const found = JSON.parse(line) as FoundLine;
        if (found.truncated) isTruncated = true;
        else {
          count++;
          list.append(item(found));
        }
      }
    }
  } catch {
    if (signal.aborted) return;
    problem = text('noConnection');
  }
  list.ariaBusy = null;
  if (problem !== undefined) end.append(make('p.notice.error', text('error', { reason: problem })));
  else if (count > 0) end.append(make('p.count', foundText('found', { count })));
  else {
    const lead = make('p.lead', foundText('nothingFound'));
    end.append(make('div.empty.closed', icon('search'), lead, make('p.hint', foundText('nothingFoundHint'))));
  }
  if (isTruncated) end.append(make('p.notice', foundText('searchTruncated')));
}

function item({ path, name, is_directory: isFolder, size, modified }: ListedMember & { path: string }): HTMLElement {
  const parent = path.slice(0, path.length - name.length);
  const className = `i ${isFolder ? 'folder' : fileIconClasses(name)}`;
  const link = make('a', { className, href: homeUrl(isFolder ? `${path}/` : path) }, make('bdi', escapeInvisible(name)));
  leadToPreview(link);
  const place = make('bdi', parent === '/' ? text('files') : escapeInvisible(parent.slice(0, -1)));
  const time = make('span', { attributes: { 'data-time': String(Math.floor(modified)) } });
  showDate(time);
  const about = isFolder ? foundText('folder') : sizeText(size);
  const hint = make('span.hint', make('a', { href: homeUrl(parent) }, place), ` \u00b7 ${about} \u00b7 `, time);
  return make('li', link, ' ', hint);
}

/** URL path of a path below the account's own. */
function homeUrl(path: string): string {
  return `/home${path.split('/').map(encodeURIComponent).join('/')}`;
}
