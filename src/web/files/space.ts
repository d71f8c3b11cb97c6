import { byId, make } from '../shared/dom.ts';
import { sizeText } from '../shared/locale.ts';
import { folderUrl, isAccountPage, shownPage } from './navigation/folder.ts';
import { fetchPage, requestDocument, scriptHeaders } from './server.ts';
import { uploadText } from './uploads/upload-text.ts';

interface Space {
  usedBytes: number;
  availableBytes: number;
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

/** Shows in the menu how much of the quota is used. */
export async function showSpace(): Promise<void> {
  const space = await askSpace();
  const place = byId('space');
  place.hidden = !space;
  if (space) place.replaceChildren(...bar(space));
}

/** Shows a warning on the page if the quota is nearly used up. */
export async function showNearlyFull(): Promise<void> {
  const main = byId('main');
  const space = await askSpace();
  main.querySelector('.quota')?.remove();
  if (space && space.usedBytes >= nearlyFull * (space.usedBytes + space.availableBytes))
    main.querySelector('#members')?.before(make('div.quota', ...bar(space)));
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

function bar({ usedBytes, availableBytes }: Space): HTMLElement[] {
  const total = usedBytes + availableBytes;
  const percent = Math.round((usedBytes / total) * 100);
  const isNearlyFull = usedBytes >= nearlyFull * total;
  const facts = [uploadText('spaceUsed', { used: sizeText(usedBytes), total: sizeText(total) })];
  if (isNearlyFull) facts.push(uploadText('spaceFree', { free: sizeText(availableBytes) }));
  // Each fact stays on one line.
  const words = facts.map((fact) => fact.replaceAll(' ', '\u00a0')).join(' ·\u00a0');
  const filled = make('span');
  filled.style.width = `${percent}%`;
  const attributes = { role: 'meter', 'aria-label': uploadText('space'), 'aria-valuenow': String(percent), 'aria-valuetext': words };
  return [make('p.hint', words), make('div', { className: isNearlyFull ? 'meter full' : 'meter', attributes }, filled)];
}
