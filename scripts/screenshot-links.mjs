// Takes a picture of each step of a visitor who opens a link: in four languages, on a phone and on a desktop, with and without scripts.
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const locales = ['en-GB', 'de-DE', 'fr-FR', 'es-ES'];
const widths = { phone: [375, 720], desk: [1280, 800] };

const note = 'Please send the three files of the order.';

/** Files that the visitor of a drop link sends. */
export const dropped = [
  { name: 'Offer 2026-04.pdf', mimeType: 'application/pdf', buffer: Buffer.alloc(184_300, 'offer ') },
  { name: 'Plan of the second floor, revised.dwg', mimeType: 'application/octet-stream', buffer: Buffer.alloc(2_400_000, 'plan ') },
  { name: 'positions.csv', mimeType: 'text/csv', buffer: Buffer.from('position;number\n1;12\n2;7\n') },
];

/**
 * Creates a link as the owner of the files.
 * @param url URL of the service
 * @param order members of the body of POST /home/__svc__/links
 * @returns the link with its URL
 */
export async function makeLink(url, order) {
  const reply = await fetch(`${url}/home/__svc__/links`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${Buffer.from('Anna Weber:secret').toString('base64')}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify(order),
  });
  if (reply.status !== 201) throw new Error(`No link was made: ${reply.status} ${await reply.text()}`);
  return reply.json();
}

/** Chooses files in the page of a drop link. */
export function chooseFiles(page, files = dropped) {
  return page.locator('#tools input[type=file]').first().setInputFiles(files);
}

/**
 * Takes the pictures of the link pages.
 * @param tools `newPage(width, height, colours, options of the browser's context)`, `login(page)`, and `url` of the service
 * @param target folder for the pictures
 */
export async function picturesOfLinks({ newPage, login, url }, target) {
  mkdirSync(target, { recursive: true });
  for (const locale of locales)
    for (const [device, [width, height]] of Object.entries(widths)) {
      const look = (options) =>
        newPage(width, height, 'light', { locale, hasTouch: device === 'phone', isMobile: device === 'phone', ...options });
      const named = (name) => join(target, `${name}-${locale.slice(0, 2)}-${device}.png`);
      const texts = JSON.parse(readFileSync(`src/web/texts/files/${locale.slice(0, 2)}.json`, 'utf8'));
      const textOf = (key) => texts[key];
      const walk = { look, url, textOf, shot: (page, name) => page.screenshot({ path: named(name), fullPage: true }) };
      await sendFiles(walk);
      await sendWithoutScripts(walk);
      await fetchFiles(walk);
      await share(walk, login);
    }
}

async function sendFiles({ look, url, shot }) {
  const page = await look();
  await page.goto((await makeLink(url, { path: '/Contracts', kind: 'drop', note })).url);
  await shot(page, '1-drop');
  const drag = (type) =>
    page.evaluate(`(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File(['x'], 'x'));
      document.dispatchEvent(new DragEvent('${type}', { dataTransfer }));
    })()`);
  await drag('dragenter');
  await shot(page, '1b-drag');
  await drag('dragleave');
  const session = await page.context().newCDPSession(page);
  const speed = (bytes) =>
    session.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: bytes });
  await speed(400_000);
  await chooseFiles(page);
  await page.locator('.queue li.running').first().waitFor({ state: 'attached' });
  await page.waitForTimeout(1200);
  await shot(page, '2-sending');
  await session.send('Network.emulateNetworkConditions', { offline: true, latency: 0, downloadThroughput: 0, uploadThroughput: 0 });
  await page.waitForTimeout(2500);
  await shot(page, '2b-offline');
  await speed(-1);
  const receipt = page.locator('a[href*="receipt?ids="]');
  await receipt.waitFor();
  await shot(page, '3-sent');
  await receipt.click();
  await page.locator('.receipt li').nth(2).waitFor();
  await shot(page, '4-receipt');
  await page.context().close();
}

async function sendWithoutScripts({ look, url, shot }) {
  const page = await look({ javaScriptEnabled: false });
  await page.goto((await makeLink(url, { path: '/Contracts', kind: 'drop', note })).url);
  await shot(page, '5-plain-drop');
  await chooseFiles(page);
  await page.locator('#tools form button[type=submit]').first().click();
  await page.locator('.receipt li').nth(2).waitFor();
  await shot(page, '6-plain-receipt');
  await page.context().close();
}

async function fetchFiles({ look, url, shot }) {
  const page = await look();
  const image = await makeLink(url, { path: '/Photos/Evening.jpg', note: 'The view from the roof.', maximum_downloads: 5 });
  const folder = await makeLink(url, { path: '/Reports' });
  const locked = await makeLink(url, { path: '/Budget.xlsx', password: 'a word' });
  for (const [name, link] of Object.entries({ '7-file': image, '8-folder': folder, '9-password': locked })) {
    await page.goto(link.url);
    await shot(page, name);
  }
  await page.locator('#password').fill('another word');
  await page.locator('form button[type=submit].primary').click();
  await page.locator('.notice.error').waitFor();
  await shot(page, '9b-wrong-password');
  const authorization = `Basic ${Buffer.from('Anna Weber:secret').toString('base64')}`;
  await fetch(`${url}/home/__svc__/links/${folder.id}`, { method: 'DELETE', headers: { authorization } });
  await page.goto(folder.url);
  await shot(page, '10-over');
  await page.goto(folder.url.replace(/.{6}\/$/, 'aaaaaa/'));
  await shot(page, '11-unknown');
  await page.context().close();
}

async function share({ look, url, shot, textOf }, login) {
  // A right click opens the menu of a row, which needs a mouse.
  const page = await look({ hasTouch: false, isMobile: false });
  await login(page);
  await page.locator('#members a').filter({ hasText: 'Contracts' }).first().click({ button: 'right' });
  await page.getByRole('menuitem', { name: textOf('share'), exact: true }).click();
  await page.locator('dialog[open] select').first().selectOption('drop');
  await shot(page, '12-share');
  await page.locator('dialog[open] button.primary').click();
  await page.locator('dialog[open] input[readonly]').waitFor();
  await shot(page, '13-shared');
  await page.goto(`${url}/home/__svc__/links`);
  await shot(page, '14-all-shared');
  await page.context().close();
}
