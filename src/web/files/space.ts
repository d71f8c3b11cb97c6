import { byId, make } from '../shared/dom.ts';
import { sizeText } from '../shared/locale.ts';
import { folderUrl, isAccountPage, shownPage } from './navigation/folder.ts';
import { fetchPage, requestDocument, scriptHeaders } from './server.ts';
import { tryRequest } from './uploads/requests.ts';
import { uploadText } from './uploads/upload-text.ts';

interface Space {
  usedBytes: number;
  availableBytes: number;
  /** Bytes of `usedBytes` that are in the trash. The service deletes them when an upload needs the room. */
  trashBytes?: number | undefined;
}

/** The PROPFIND body that asks for the quota (RFC 4331). */
const question = '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>';

/** Fraction of the quota. If more of the quota is used, the page shows a warning. */
const nearlyFull = 0.9;

/** Asks the service for the quota of the account. @returns undefined if the service does not report it */
export async function askSpace(): Promise<Space | undefined> {
  const folder = isAccountPage() ? '/home/' : folderUrl();
  const headers = { ...scriptHeaders, depth: '0', 'content-type': 'application/xml' };
  const { responseXML } = await requestDocument('PROPFIND', folder, { headers, body: question });
  const readBytes = (name: string) => Number(responseXML?.getElementsByTagNameNS('DAV:', name)[0]?.textContent || Number.NaN);
  const space = { usedBytes: readBytes('quota-used-bytes'), availableBytes: readBytes('quota-available-bytes') };
  return space.usedBytes + space.availableBytes > 0 ? space : undefined;
}

/** Returns the size of the account's trash; 0 without a trash, undefined if it cannot be read. */
export async function askTrashBytes(): Promise<number | undefined> {
  if (!document.querySelector('a[href="/home/__svc__/trash"]')) return 0;
  const reply = await tryRequest('GET', '/home/__svc__/trash');
  if (!reply?.ok) return undefined;
  const { trash } = (await reply.json()) as { trash: { size: number }[] };
  return trash.reduce((sum, { size }) => sum + size, 0);
}

/** Shows in the menu how much of the quota is used. */
export async function showSpace(): Promise<void> {
  const [space, trashBytes] = await Promise.all([askSpace(), askTrashBytes()]);
  const place = byId('space');
  place.hidden = !space;
  if (space) place.replaceChildren(...bar({ ...space, trashBytes }));
}

/** Shows a warning on the page if the quota is nearly used up, even if the trash gives way. */
export async function showNearlyFull(): Promise<void> {
  const main = byId('main');
  const found = await askSpace();
  // The trash can only make the warning needless.
  const space = found && isNearlyFull(found) ? { ...found, trashBytes: await askTrashBytes() } : undefined;
  main.querySelector('.quota')?.remove();
  if (space && isNearlyFull(space)) main.querySelector('#members')?.before(make('div.quota', ...bar(space)));
}

function isNearlyFull({ usedBytes, availableBytes, trashBytes = 0 }: Space): boolean {
  return usedBytes - trashBytes >= nearlyFull * (usedBytes + availableBytes);
}

/** Pauses in milliseconds before the page asks whether a download was counted. The request for the download can take a while. */
const pausesMs = [500, 2000, 5000];

/**
 * After a download through a link with a limit, shows how many downloads are left, or that the link has ended. The page must not be loaded
 * again, because that would cancel a download whose reply has not arrived.
 */
export async function showDownloadsLeft(): Promise<void> {
  for (const pauseMs of pausesMs) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const shown = document.querySelector<HTMLElement>('[data-left]');
    if (!shown) return;
    const reply = await fetchPage(shownPage());
    if (reply.status === 410) return showLastDownload(shown);
    const left = reply.page?.querySelector<HTMLElement>('[data-left]');
    if (left && left.dataset.left !== shown.dataset.left) return shown.replaceWith(document.adoptNode(left));
  }
}

/** Removes everything that would need another download. The page of an ended link would look as if the download had failed. */
function showLastDownload(left: HTMLElement): void {
  for (const useless of byId('main').querySelectorAll('a.button, .views, .tools, .actions, table')) useless.remove();
  left.replaceWith(make('strong', uploadText('lastDownload')));
}

function bar(space: Space): HTMLElement[] {
  const { usedBytes, availableBytes, trashBytes = 0 } = space;
  const total = usedBytes + availableBytes;
  const keptBytes = Math.max(0, usedBytes - trashBytes);
  const percentOf = (bytes: number) => String(Math.round((bytes / total) * 100));
  const isFull = isNearlyFull(space);
  const facts = [uploadText('spaceUsed', { used: sizeText(keptBytes), total: sizeText(total) })];
  if (isFull) facts.push(uploadText('spaceFree', { free: sizeText(total - keptBytes) }));
  // Each of these facts stays on one line. The one about the trash is too long for that.
  const unbroken = facts.map((fact) => fact.replaceAll(' ', '\u00a0'));
  const words = [...unbroken, ...(trashBytes > 0 ? [uploadText('spaceTrash', { size: sizeText(trashBytes) })] : [])].join(' ·\u00a0');
  const valueNow = percentOf(keptBytes);
  const filled = make('span');
  filled.style.width = `${valueNow}%`;
  const trash = make('span.trash');
  trash.style.width = `${percentOf(trashBytes)}%`;
  const attributes = { role: 'meter', 'aria-label': uploadText('space'), 'aria-valuenow': valueNow, 'aria-valuetext': words };
  return [make('p.hint', words), make('div', { className: isFull ? 'meter full' : 'meter', attributes }, filled, trash)];
}
