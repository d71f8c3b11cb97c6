import { nameInText } from '../../../lib/display-name.ts';
import { ask, cancelButton } from '../../shared/dialogs.ts';
import { byId, make } from '../../shared/dom.ts';
import { formatTag } from '../../shared/locale.ts';
import { notice } from '../../shared/notices.ts';
import { text } from '../language.ts';
import { may } from '../navigation/folder.ts';
import { type Member, refreshRows } from '../rows/rows.ts';
import { clearSelection } from '../rows/selection.ts';
import { replyReason, send } from '../server.ts';
import { copyButton, shareText } from './copy-field.ts';
import { linksUrl, memberPath } from './shared-marks.ts';

const daySeconds = 86_400;

/** Suggested lifetimes in days, besides the default and the maximum. */
const offeredDays = [1, 7, 30, 90];

interface NewLink {
  url: string;
  expires: string;
}

function limits(): { usualDays: number; maxDays: number; needsPassword: boolean } {
  const [usual, max, password] = (byId('main').dataset.links ?? '').split(' ');
  return { usualDays: Number(usual), maxDays: Number(max), needsPassword: password === 'password' };
}

/** A link of the account, in replies of the API. */
interface ListedLink {
  id: string;
  kind: string;
  path: string;
  note: string;
  created: string;
  expires: string;
  has_password: boolean;
  maximum_downloads: number | null;
}

let sharing: Promise<void> | undefined;

/**
 * Asks for the settings of a link to a member, creates the link, and shows its URL once. If the button was pressed again while this part was
 * loaded, there is still one dialog.
 */
export function share(member: Pick<Member, 'name' | 'folder' | 'isFolder'>): Promise<void> {
  const kinds = [...(may('read') ? ['download'] : []), ...(member.isFolder && may('write') ? ['drop'] : [])];
  sharing ??= shareAs(memberPath(member), member.name, kinds).finally(() => {
    sharing = undefined;
  });
  return sharing;
}

/** Creates another link with the settings of the selected one, which the user can change. The URL of the old link cannot be shown again. */
export async function shareAgain(form: HTMLFormElement): Promise<void> {
  const id = new FormData(form).get('selected');
  try {
    const reply = await send('GET', linksUrl);
    if (!reply.ok) return tellProblem(await replyReason(reply));
    const { links } = (await reply.json()) as { links: ListedLink[] };
    const link = links.find((candidate) => candidate.id === id);
    if (link) await shareAs(link.path, link.path.split('/').at(-1) || text('files'), [link.kind], link);
  } catch {
    return tellProblem(text('noConnection'));
  }
  clearSelection();
  await refreshRows();
}

function tellProblem(reason: string): void {
  notice(text('error', { reason }), 'error');
}

async function shareAs(path: string, name: string, kinds: readonly string[], like?: ListedLink): Promise<void> {
  const { usualDays, maxDays, needsPassword } = limits();
  const lifeMs = like && Date.parse(like.expires) - Date.parse(like.created);
  const wantedDays = lifeMs === undefined ? usualDays : Math.min(maxDays, Math.max(1, Math.round(lifeMs / 1000 / daySeconds)));
  const kind = make('select', ...kinds.map((value) => make('option', { value }, shareText(value === 'drop' ? 'toDrop' : 'toDownload'))));
  const days = make('select', ...dayOptions(wantedDays, maxDays), make('option', { value: 'date' }, shareText('untilDate')));
  const lastDay = make('input', {
    type: 'date',
    required: true,
    disabled: true,
    min: localDay(1),
    max: localDay(maxDays),
    value: localDay(wantedDays),
  });
  const lastDayField = make('label.labelled', { hidden: true }, shareText('lastDay'), lastDay);
  days.addEventListener('change', () => {
    lastDayField.hidden = days.value !== 'date';
    lastDay.disabled = lastDayField.hidden;
  });
  const isLocked = needsPassword || like?.has_password === true;
  const password = make('input', { type: 'password', autocomplete: 'new-password', required: isLocked, maxLength: 150 });
  const value = String(like?.maximum_downloads ?? '');
  const downloads = make('input', { type: 'number', min: '1', max: '1000000', inputMode: 'numeric', value });
  const note = make('textarea', { rows: 2, maxLength: 500, value: like?.note ?? '' });
  const downloadsField = make('label.labelled', shareText('downloadsOptional'), downloads);
  kind.addEventListener('change', () => {
    downloadsField.hidden = kind.value === 'drop';
  });
  downloadsField.hidden = kind.value === 'drop';
  let made: NewLink | undefined;
  const answer = await ask({
    title: shareText('shareItem', { name: nameInText(name) }),
    content: [
      make('label.labelled', { hidden: kinds.length < 2 }, shareText('forWhat'), kind),
      make('label.labelled', shareText('validFor'), days),
      lastDayField,
      make('label.labelled', shareText(isLocked ? 'passwordRequired' : 'passwordOptional'), password),
      downloadsField,
      make('label.labelled', shareText('noteOptional'), note),
    ],
    buttons: [cancelButton(), { value: 'ok', label: shareText('createLink'), kind: 'primary' }],
    focus: kinds.length < 2 ? days : kind,
    check: async () => {
      const body = {
        path,
        kind: kind.value,
        expires: days.value === 'date' ? Math.min(maxDays * daySeconds, secondsUntil(lastDay.value)) : Number(days.value) * daySeconds,
        ...(password.value !== '' && { password: password.value }),
        ...(downloads.value !== '' && kind.value === 'download' && { maximum_downloads: Number(downloads.value) }),
        ...(note.value.trim() !== '' && { note: note.value.trim() }),
      };
      try {
        const headers = { 'content-type': 'application/json' };
        const reply = await send('POST', linksUrl, { headers, body: JSON.stringify(body) });
        if (!reply.ok) return await replyReason(reply);
        made = (await reply.json()) as NewLink;
        return undefined;
      } catch {
        return text('noConnection');
      }
    },
  });
  if (answer === 'ok' && made) await showLink(made, password.value !== '');
}

/** Returns the lifetimes to choose from, up to the maximum. The default is selected. */
function dayOptions(usualDays: number, maxDays: number): HTMLOptionElement[] {
  const choices = [...new Set([...offeredDays.filter((days) => days <= maxDays), usualDays, maxDays])].sort((a, b) => a - b);
  return choices.map((days) => make('option', { value: String(days), selected: days === usualDays }, shareText('days', { count: days })));
}

/** Returns the date of a coming day in the user's time zone, as the value of a date field. */
function localDay(daysFromNow: number): string {
  const day = new Date();
  day.setDate(day.getDate() + daysFromNow);
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map((part) => String(part).padStart(2, '0')).join('-');
}

/** Returns the number of seconds until a day ends in the user's time zone. @param day value of a date field */
function secondsUntil(day: string): number {
  const end = new Date(`${day}T00:00`);
  end.setDate(end.getDate() + 1);
  return Math.floor((end.getTime() - Date.now()) / 1000);
}

async function showLink({ url, expires }: NewLink, isLocked: boolean): Promise<void> {
  const field = make('input', { readOnly: true, value: url });
  const { button, said } = copyButton(field);
  const date = new Intl.DateTimeFormat(formatTag, { dateStyle: 'full', timeStyle: 'short' }).format(Date.parse(expires));
  await ask({
    title: shareText('linkReady'),
    content: [
      make('p', shareText(isLocked ? 'lockedLinkOnce' : 'linkOnce', { date })),
      make('div.row.beside', make('label.labelled', shareText('linkAddress'), field), button),
      said,
      make('p', make('a', { href: linksUrl }, shareText('allShared'))),
    ],
    buttons: [{ value: 'ok', label: shareText('done') }],
    focus: button,
  });
}
