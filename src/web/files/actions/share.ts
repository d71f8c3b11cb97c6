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

/** Changes the selected link, whose address stays the same. */
export function changeSelected(form: HTMLFormElement): Promise<void> {
  return withSelected(form, changeLink);
}

/** Creates another link with the settings of the selected one, which the user can change. The URL of the old link cannot be shown again. */
export function shareAgain(form: HTMLFormElement): Promise<void> {
  return withSelected(form, (link) => shareAs(link.path, linkName(link), [link.kind], link));
}

async function withSelected(form: HTMLFormElement, act: (link: ListedLink) => Promise<unknown>): Promise<void> {
  const id = new FormData(form).get('selected');
  try {
    const reply = await send('GET', linksUrl);
    if (!reply.ok) return tellProblem(await replyReason(reply));
    const { links } = (await reply.json()) as { links: ListedLink[] };
    const link = links.find((candidate) => candidate.id === id);
    if (link) await act(link);
  } catch {
    return tellProblem(text('noConnection'));
  }
  clearSelection();
  await refreshRows();
}

function tellProblem(reason: string): void {
  notice(text('error', { reason }), 'error');
}

function linkName({ path }: ListedLink): string {
  return path.split('/').at(-1) || text('files');
}

/** Sends a request with JSON. @returns the reason of a refusal; undefined if `done` was called with the reply */
async function sendLink(method: string, url: string, body: object, done?: (link: NewLink) => void): Promise<string | undefined> {
  try {
    const reply = await send(method, url, { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
    if (!reply.ok) return await replyReason(reply);
    done?.((await reply.json()) as NewLink);
    return undefined;
  } catch {
    return text('noConnection');
  }
}

/** The fields of a link's settings. `expires` returns the chosen lifetime in seconds; undefined if the link keeps its end. */
function settingFields(wantedDays: number | undefined, link?: ListedLink) {
  const { usualDays, maxDays, needsPassword } = limits();
  const kept = link && wantedDays === undefined ? [make('option', { value: 'keep', selected: true }, exactDate(link.expires))] : [];
  const days = make('select', ...kept, ...dayOptions(wantedDays, maxDays), make('option', { value: 'date' }, shareText('untilDate')));
  const lastDay = make('input', {
    type: 'date',
    required: true,
    disabled: true,
    min: localDay(1),
    max: localDay(maxDays),
    value: localDay(wantedDays ?? usualDays),
  });
  const lastDayField = make('label.labelled', { hidden: true }, shareText('lastDay'), lastDay);
  days.addEventListener('change', () => {
    lastDayField.hidden = days.value !== 'date';
    lastDay.disabled = lastDayField.hidden;
  });
  const password = make('input', { type: 'password', autocomplete: 'new-password', maxLength: 150 });
  const value = String(link?.maximum_downloads ?? '');
  const downloads = make('input', { type: 'number', min: '1', max: '1000000', inputMode: 'numeric', value });
  const note = make('textarea', { rows: 2, maxLength: 500, value: link?.note ?? '' });
  return {
    days,
    lastDayField,
    password,
    downloads,
    downloadsField: make('label.labelled', shareText('downloadsOptional'), downloads),
    note,
    noteField: make('label.labelled', shareText('noteOptional'), note),
    needsPassword,
    expires: () =>
      days.value === 'keep'
        ? undefined
        : days.value === 'date'
          ? Math.min(maxDays * daySeconds, secondsUntil(lastDay.value))
          : Number(days.value) * daySeconds,
  };
}

async function changeLink(link: ListedLink): Promise<void> {
  const fields = settingFields(undefined, link);
  const { days, password, downloads, note } = fields;
  const unlock = make('input', { type: 'checkbox' });
  const unlockField = make('label.tick', { hidden: !link.has_password || fields.needsPassword }, unlock, shareText('removePassword'));
  unlock.addEventListener('change', () => {
    password.disabled = unlock.checked;
  });
  fields.downloadsField.hidden = link.kind === 'drop';
  const answer = await ask({
    title: shareText('changeItem', { name: nameInText(linkName(link)) }),
    content: [
      make('p', shareText('sameAddress')),
      make('label.labelled', shareText('validUntil'), days),
      fields.lastDayField,
      make('label.labelled', shareText(link.has_password ? 'newPassword' : 'passwordOptional'), password),
      unlockField,
      fields.downloadsField,
      fields.noteField,
    ],
    buttons: [cancelButton(), { value: 'ok', label: shareText('saveLink'), kind: 'primary' }],
    focus: days,
    check: () =>
      sendLink('PATCH', `${linksUrl}/${link.id}`, {
        expires: fields.expires(),
        password: unlock.checked ? null : password.value || undefined,
        maximum_downloads: link.kind === 'drop' ? undefined : downloads.value === '' ? null : Number(downloads.value),
        note: note.value.trim(),
      }),
  });
  if (answer === 'ok') notice(shareText('linkChanged', { name: nameInText(linkName(link)) }));
}

async function shareAs(path: string, name: string, kinds: readonly string[], like?: ListedLink): Promise<void> {
  const { usualDays, maxDays, needsPassword } = limits();
  const lifeMs = like && Date.parse(like.expires) - Date.parse(like.created);
  const wantedDays = lifeMs === undefined ? usualDays : Math.min(maxDays, Math.max(1, Math.round(lifeMs / 1000 / daySeconds)));
  const fields = settingFields(wantedDays, like);
  const { days, password, downloads, note } = fields;
  const kind = make('select', ...kinds.map((value) => make('option', { value }, shareText(value === 'drop' ? 'toDrop' : 'toDownload'))));
  kind.addEventListener('change', () => {
    fields.downloadsField.hidden = kind.value === 'drop';
  });
  fields.downloadsField.hidden = kind.value === 'drop';
  password.required = needsPassword || like?.has_password === true;
  let made: NewLink | undefined;
  const answer = await ask({
    title: shareText('shareItem', { name: nameInText(name) }),
    content: [
      !like && otherLinks(path),
      make('label.labelled', { hidden: kinds.length < 2 }, shareText('forWhat'), kind),
      make('label.labelled', shareText('validFor'), days),
      fields.lastDayField,
      make('label.labelled', shareText(password.required ? 'passwordRequired' : 'passwordOptional'), password),
      fields.downloadsField,
      fields.noteField,
    ],
    buttons: [cancelButton(), { value: 'ok', label: shareText('createLink'), kind: 'primary' }],
    focus: kinds.length < 2 ? days : kind,
    check: () => {
      const order = {
        path,
        kind: kind.value,
        expires: fields.expires(),
        ...(password.value !== '' && { password: password.value }),
        ...(downloads.value !== '' && kind.value === 'download' && { maximum_downloads: Number(downloads.value) }),
        ...(note.value.trim() !== '' && { note: note.value.trim() }),
      };
      return sendLink('POST', linksUrl, order, (link) => {
        made = link;
      });
    },
  });
  if (answer === 'ok' && made) await showLink(made, password.value !== '');
}

/** Says how many links to a path there are already, once that is known. The dialog does not wait for it, and works without it. */
function otherLinks(path: string): HTMLElement {
  const said = make('p', { hidden: true });
  const show = async () => {
    const reply = await send('GET', linksUrl);
    const { links } = (reply.ok ? await reply.json() : { links: [] }) as { links: ListedLink[] };
    const count = links.filter((link) => link.path === path).length;
    said.append(shareText('alreadyShared', { count }), ' ', make('a', { href: linksUrl }, shareText('allShared')));
    said.hidden = count === 0;
  };
  show().catch(() => {});
  return said;
}

/** Returns the lifetimes to choose from, up to the maximum. @param wantedDays is selected */
function dayOptions(wantedDays: number | undefined, maxDays: number): HTMLOptionElement[] {
  const choices = [...new Set([...offeredDays.filter((days) => days <= maxDays), ...(wantedDays ? [wantedDays] : []), maxDays])].sort(
    (a, b) => a - b,
  );
  return choices.map((days) => make('option', { value: String(days), selected: days === wantedDays }, shareText('days', { count: days })));
}

function exactDate(iso: string): string {
  return new Intl.DateTimeFormat(formatTag, { dateStyle: 'medium', timeStyle: 'short' }).format(Date.parse(iso));
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
  const date = exactDate(expires);
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
