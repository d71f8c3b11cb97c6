import { byId, make } from '../shared/dom.ts';
import { sizeText } from '../shared/locale.ts';
import { text } from './language.ts';
import { folderUrl } from './navigation/folder.ts';
import { scriptHeaders } from './server.ts';

const question = '<?xml version="1.0"?><propfind xmlns="DAV:"><prop><quota-available-bytes/><quota-used-bytes/></prop></propfind>';

/** Shows how full the storage is, or the account's part of it, whenever the menu opens. */
export function startSpace(): void {
  byId('menu').addEventListener('beforetoggle', (event) => {
    if ((event as ToggleEvent).newState === 'open') void show(byId('space'));
  });
}

async function show(place: HTMLElement): Promise<void> {
  const reply = await askSpace();
  const bytesOf = (name: string) => Number(reply?.getElementsByTagNameNS('DAV:', name)[0]?.textContent || Number.NaN);
  const used = bytesOf('quota-used-bytes');
  const total = used + bytesOf('quota-available-bytes');
  place.hidden = !(total > 0);
  if (place.hidden) return;
  const words = text('spaceUsed', { used: sizeText(used), total: sizeText(total) });
  const percent = Math.round((used / total) * 100);
  const bar = make('span');
  bar.style.width = `${percent}%`;
  const attributes = { role: 'meter', 'aria-label': text('space'), 'aria-valuenow': String(percent), 'aria-valuetext': words };
  place.replaceChildren(
    make('p', { className: 'hint' }, words),
    make('div', { className: percent < 90 ? 'meter' : 'meter full', attributes }, bar),
  );
}

// RFC 4331. XMLHttpRequest parses the reply without the DOM's own parser, which the page's policy refuses texts.
function askSpace(): Promise<Document | undefined> {
  return new Promise((resolve) => {
    const request = new XMLHttpRequest();
    request.open('PROPFIND', folderUrl().startsWith('/home/__svc__/') ? '/home/' : folderUrl());
    request.responseType = 'document';
    for (const [name, value] of Object.entries({ ...scriptHeaders, depth: '0', 'content-type': 'application/xml' }))
      request.setRequestHeader(name, value);
    request.onloadend = () => resolve(request.status === 207 ? (request.responseXML ?? undefined) : undefined);
    request.send(question);
  });
}
