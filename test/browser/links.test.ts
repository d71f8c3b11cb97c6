import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, drop, openBrowser, openFolder } from '../support/browser.ts';
import { makeLink } from '../support/links.ts';
import { plainPng } from '../support/pictures.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

const phone = { width: 360, height: 700 };

browserTest('the visitor of a link downloads a file and browses a folder, on a phone and without scripts', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out/sub'), { recursive: true });
  writeFileSync(join(server.home, 'out/report.txt'), 'the report');
  const file = await makeLink(server, { path: '/out/report.txt', note: 'As promised' });
  const folder = await makeLink(server, { path: '/out' });
  for (const javaScriptEnabled of [true, false]) {
    const page = await openBrowser(t, { javaScriptEnabled, viewport: phone });
    await page.goto(file.url.replace(/\/$/, ''));
    await page.getByText('As promised').waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'a link to a file');
    const downloading = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download' }).click();
    assert.equal((await downloading).suggestedFilename(), 'report.txt');
    await page.goto(folder.url);
    await page.getByRole('link', { name: 'report.txt' }).waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'a link to a folder');
    const [end, view] = await page.evaluate<Record<'top' | 'bottom' | 'left' | 'right', number>[]>(
      `['.about .hint .fact', '.views'].map((wanted) => document.querySelector(wanted).getBoundingClientRect().toJSON())`,
    );
    assert.ok(end && view && view.top < end.bottom && view.left > end.right, 'the switch of the view stands beside the end of the link');
    const archive = page.waitForEvent('download');
    await page.getByRole('link', { name: 'Download all as ZIP' }).click();
    assert.equal((await archive).suggestedFilename(), 'out.zip');
    await page.getByRole('link', { name: 'sub', exact: true }).click();
    await page.getByText('There is nothing here for you yet.').waitFor();
    await page.getByRole('link', { name: 'out', exact: true }).click();
    await page.getByRole('link', { name: 'report.txt' }).waitFor();
    assert.deepEqual(await page.context().cookies(), [], 'the page sets no cookies');
    await page.getByRole('button', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Deutsch' }).click();
    await page.getByRole('link', { name: 'Alles als ZIP herunterladen' }).waitFor();
    assert.equal(page.url(), folder.url, 'the choice of a language leads back to the page');
  }
});

browserTest('pages of links keep a picture within the window, and show times in the time zone of the visitor', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'plan.png'), plainPng(1600, 1200, [20, 90, 160]));
  mkdirSync(join(server.home, 'in'));
  const picture = await makeLink(server, { path: '/plan.png' });
  for (const viewport of [
    { width: 320, height: 640 },
    { width: 1280, height: 800 },
  ]) {
    const page = await openBrowser(t, { viewport, timezoneId: 'Asia/Tokyo' });
    await page.goto(picture.url);
    await page.locator('main time').waitFor();
    assert.doesNotMatch(await page.locator('main').innerText(), /UTC/);
    const image = page.getByRole('img', { name: 'plan.png' });
    await image.scrollIntoViewIfNeeded();
    await image.evaluate((element) => (element as unknown as { decode(): Promise<void> }).decode());
    const box = await image.boundingBox();
    assert.ok(box && box.width > 200 && box.x + box.width < viewport.width, `within ${viewport.width} px`);
    await assertAccessible(page, 'a link to a picture');
  }
  const drop = await makeLink(server, { path: '/in', kind: 'drop' });
  const page = await openBrowser(t, { timezoneId: 'Asia/Tokyo' });
  await page.goto(drop.url);
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles({ name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
  await page.getByRole('link', { name: 'Receipt' }).click();
  await page.getByText(/Arrived .*GMT\+9/).waitFor();
  await page.getByText(/works until .*, \d\d:\d\d at the latest/).waitFor();
});

browserTest('the page of a 429 says in the time zone of the reader when to try again', async (t) => {
  const server = await startServer(t, { server: { security_policy: { ban_after_failures: 1, ban_seconds: 60 } } });
  const page = await openBrowser(t, { timezoneId: 'Asia/Tokyo', expectedErrors: /429/ });
  await server.get('/home/', { user: 'alice:wrong' });
  await page.goto(`${server.url}/home/`);
  await page.getByText(/^You can try again in one minute \((today|tomorrow), \d+:\d\d( [AP]M)?\)\.$/).waitFor();
  const hours = Number(
    new Intl.DateTimeFormat('en', { timeZone: 'Asia/Tokyo', hour: 'numeric', hourCycle: 'h23' }).format(Date.now() + 60_000),
  );
  assert.match((await page.locator('time').textContent()) ?? '', new RegExp(`\\D0?(${hours % 12 || 12}|${hours}):`));
});

browserTest('a supplier drops three files, one of them large, and reads the receipt; without scripts, one file is dropped', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  writeFileSync(join(server.home, 'in/order.csv'), 'of somebody else');
  const { url } = await makeLink(server, { path: '/in', kind: 'drop', note: 'Orders of May' });
  const large = Buffer.alloc(9 * 1024 * 1024, 'x');
  const files = [
    { name: 'order.csv', mimeType: 'text/csv', buffer: Buffer.from('one;two') },
    { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('notes') },
    { name: 'large.bin', mimeType: 'application/octet-stream', buffer: large },
  ];
  const page = await openBrowser(t, { viewport: phone });
  await page.goto(url);
  await page.getByRole('heading', { name: 'Send files to alice' }).waitFor();
  await page.getByText('Orders of May').waitFor();
  await assertAccessible(page, 'a page to drop files');
  const folder = join(temporaryFolder(t), 'all of it');
  mkdirSync(folder);
  writeFileSync(join(folder, 'one.txt'), '1');
  await drop(page, [folder]);
  await page.getByText('Folders cannot be uploaded here.').waitFor();
  await page.locator('#tools input[type=file]').first().setInputFiles(files);
  await page.getByText('3 files have arrived.').waitFor();
  assert.deepEqual(await page.locator('main .primary:visible').allInnerTexts(), ['Upload files'], 'one primary button');
  assert.equal(await page.locator('.empty').getByRole('button', { name: 'Upload files' }).count(), 1, 'the button is in the box');
  await page.getByRole('link', { name: 'Receipt' }).click();
  await page.getByRole('heading', { name: 'Receipt' }).waitFor();
  await assertAccessible(page, 'a receipt');
  assert.equal(
    await page.locator('html').evaluate((html) => html.scrollWidth > html.clientWidth),
    false,
    'checksums do not widen the page',
  );
  const text = await page.locator('main').innerText();
  for (const { buffer } of files) assert.ok(text.includes(createHash('sha256').update(buffer).digest('hex')));
  assert.ok(text.includes('order (2).csv') && text.includes('got a number') && !text.includes('somebody'));
  assert.match(text, /9\.4 MB \(9,437,184 bytes\)/);
  assert.deepEqual(readFileSync(join(server.home, 'in/large.bin')), large);

  const plain = await openBrowser(t, { javaScriptEnabled: false, viewport: phone });
  await plain.goto(url);
  await plain.locator('#tools input[type=file]').first().setInputFiles(files.slice(1, 2));
  await plain.getByRole('button', { name: 'Upload', exact: true }).click();
  await plain.getByText('1 file has arrived for alice.').waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'in')).sort(), ['large.bin', 'notes (2).txt', 'notes.txt', 'order (2).csv', 'order.csv']);
});

browserTest('the row menu creates a link with a password; a visitor enters it; the page of shared items revokes the link', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'plan.txt'), 'the plan');
  const page = await openFolder(t, server);
  await page.getByRole('button', { name: 'Actions for plan.txt' }).click();
  await page.getByRole('menuitem', { name: 'Share' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Password (optional)').fill('a word');
  await dialog.getByLabel('Note for the reader (optional)').fill('For Bob');
  await assertAccessible(page, 'the dialog to share');
  await dialog.getByRole('button', { name: 'Create link' }).click();
  await dialog.getByText('The link is ready').waitFor();
  await dialog.getByText('Anyone who has it and knows the password can use the link until').waitFor();
  const url = await dialog.getByLabel('Address of the link').inputValue();
  await assertAccessible(page, 'the address of a link');

  const visitor = await openBrowser(t, { expectedErrors: /40[01]|410/ });
  await visitor.goto(url);
  await assertAccessible(visitor, 'the password of a link');
  await visitor.getByLabel('Password').fill('wrong');
  await visitor.getByRole('button', { name: 'Open' }).click();
  await visitor.getByRole('alert').getByText('The password is not correct.').waitFor();
  await visitor.getByLabel('Password').fill('a word');
  await visitor.getByRole('button', { name: 'Open' }).click();
  await visitor.getByText('For Bob').waitFor();

  await dialog.getByRole('button', { name: 'Done' }).click();
  await page.getByRole('link', { name: 'Shared' }).click();
  const row = page.getByRole('row', { name: 'plan.txt' });
  await row.getByText('Password', { exact: true }).waitFor();
  await row.getByText('1 download').or(row.getByText('0 downloads')).waitFor();
  await assertAccessible(page, 'the page of what is shared');
  await page.getByLabel('Select plan.txt').check();
  await page.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('heading', { name: 'Revoke this link?' }).waitFor();
  await assertAccessible(page, 'the question whether to revoke a link');
  await dialog.getByRole('button', { name: 'Revoke' }).click();
  await page.getByText('One link was revoked.').waitFor();
  await visitor.reload();
  await visitor.getByText('This link has ended').waitFor();
  await assertAccessible(visitor, 'a link that is over');
});

browserTest('the page of a link to a text, a drawing or HTML opens the viewer, in which nothing of the file runs', async (t) => {
  const server = await startServer(t);
  const attack = `parent.hacked = top.hacked = 1; document.title = 'hacked'`;
  const files = {
    'table.csv': 'name,amount\n<img src=x onerror="window.hacked=1">,2',
    'page.html': `<h1>Hello</h1><script>${attack}</script><img src=x onerror="${attack}">`,
    'notes.md': `# Hello\n\n<script>${attack}</script> [a](javascript:window.hacked=1)`,
    'drawing.svg': `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" onload="${attack}"><script>${attack}</script></svg>`,
  };
  for (const [name, content] of Object.entries(files)) writeFileSync(join(server.home, name), content);
  const page = await openBrowser(t, { viewport: phone });
  const open = page.getByRole('link', { name: 'Preview' });
  const shown = {
    'table.csv': page.getByRole('cell', { name: /onerror/ }),
    'page.html': page.locator('pre', { hasText: '<h1>Hello</h1><script>' }),
    'notes.md': page.getByRole('heading', { name: 'Hello' }),
    'drawing.svg': page.locator('.stage img'),
  };
  for (const [name, content] of Object.entries(shown)) {
    const link = await makeLink(server, { path: `/${name}` });
    await page.goto(link.url);
    await open.click();
    await page.getByRole('dialog', { name }).and(page.locator(':has(.stage:not([aria-busy]))')).waitFor();
    await content.waitFor();
    if (name === 'table.csv') await assertAccessible(page, 'the preview of a link to a file');
    assert.deepEqual(await page.evaluate(`[window.hacked, document.title.includes('hacked')]`), [undefined, false], name);
    await page.reload();
    await content.waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    assert.equal(page.url(), link.url, 'without a preview, the URL is that of the link');
    const inline = await fetch(`${link.url}${name}?inline`);
    const isShown = /text\/plain|text\/csv|text\/markdown/.test(inline.headers.get('content-type') ?? '');
    assert.ok(isShown || inline.headers.get('content-disposition')?.startsWith('attachment'), `${name} is never a page`);
    assert.match(inline.headers.get('content-security-policy') ?? 'sandbox', /sandbox/);
  }
  const limited = await makeLink(server, { path: '/table.csv', maximum_downloads: 1 });
  await page.goto(limited.url);
  await page.getByRole('link', { name: 'Download' }).waitFor();
  assert.equal(await open.count(), 0, 'a preview would count as a download');
  await page.goto(`${limited.url}?preview=table.csv`);
  await page.getByRole('link', { name: 'Download' }).waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
});

browserTest('on a phone a link shows its limits as labels and its end with a word; no line begins with a dot', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out'));
  const inWeek = { path: '/out', expires: 8 * 86_400 };
  await makeLink(server, { ...inWeek, maximum_downloads: 3, password: 'a word' });
  await makeLink(server, { ...inWeek, kind: 'drop' });
  for (const [width, locale, labels] of [
    [320, 'en', ['Password', '0 of 3 downloads', 'Drop box']],
    [320, 'de', ['Passwort', '0 von 3 Downloads', 'Dateiabgabe']],
    [1024, 'de', ['Passwort', '0 von 3 Downloads', 'Dateiabgabe']],
  ] as const) {
    const page = await openFolder(t, server, { locale, viewport: { width, height: 640 } }, '/home/__svc__/links');
    await page.locator('td time').first().waitFor({ state: 'attached' });
    assert.deepEqual((await page.locator('.label').allInnerTexts()).sort(), labels.toSorted());
    const seen = await page.evaluate<{ until: string[]; overflow: number; fieldWidth: number; begins: string[]; ends: string[] }>(`({
      until: [...document.querySelectorAll('[data-until]')].map((cell) => getComputedStyle(cell, '::before').content),
      overflow: document.documentElement.scrollWidth - innerWidth,
      fieldWidth: document.querySelector('.search input').offsetWidth,
      ends: [...document.querySelectorAll('.fact')].map((fact) => fact.innerText.trim().slice(-1)),
      begins: [...document.querySelectorAll('.fact')].map((fact) => fact.textContent.trim().charAt(0)),
    })`);
    assert.equal(seen.overflow, 0);
    assert.ok(seen.fieldWidth > 200, 'the filter is a field, not an icon');
    assert.ok(!seen.begins.includes('·'));
    if (width === 320) assert.ok(!seen.ends.includes('·'), 'on phones, each fact has a line of its own, which does not end with a dot');
    if (width === 320) for (const content of seen.until) assert.match(content, locale === 'de' ? /bis/ : /until/);
  }
});

browserTest('a shared folder has a special icon, at once and on the next visit', async (t) => {
  const server = await startServer(t);
  for (const name of ['given', 'kept']) mkdirSync(join(server.home, name));
  const page = await openFolder(t, server);
  const shared = page.locator('a.folder.shared[aria-description="Shared by a link"]');
  await page.getByRole('button', { name: 'Actions for given' }).click();
  await page.getByRole('menuitem', { name: 'Share' }).click();
  await page.getByRole('button', { name: 'Create link' }).click();
  await page.getByRole('button', { name: 'Done' }).click();
  await shared.waitFor();
  await page.reload();
  await shared.filter({ hasText: 'given' }).waitFor();
  assert.equal(await shared.count(), 1);
  await shared.click();
  await page.waitForURL('**/home/given/');
});

browserTest('the page of a limited link shows how many downloads are left, and then that the link has ended', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out'));
  writeFileSync(join(server.home, 'out/a.txt'), 'a');
  for (const [path, name] of [
    ['/out/a.txt', 'Download'],
    ['/out', 'Download all as ZIP'],
  ] as const) {
    const link = await makeLink(server, { path, maximum_downloads: 2 });
    const page = await openBrowser(t, { viewport: phone, expectedErrors: /410/ });
    await page.goto(link.url);
    await page.getByText('2 more downloads are possible').waitFor();
    await page.locator('main time').first().waitFor();
    for (const then of ['1 more download is possible', 'This was the last download of this link.']) {
      const downloading = page.waitForEvent('download');
      await page.getByRole('link', { name, exact: true }).click();
      assert.equal(await (await downloading).failure(), null);
      await page.getByText(then).waitFor();
    }
    await page.getByRole('link', { name, exact: true }).waitFor({ state: 'detached' });
    await assertAccessible(page, 'a link that was just used up');
  }
});

browserTest('a visitor who opens the page of a folder with pictures uses up no download', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out'));
  const picture = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=', 'base64');
  writeFileSync(join(server.home, 'out/a.png'), picture);
  for (const limit of [{}, { maximum_downloads: 1 }]) {
    const link = await makeLink(server, { path: '/out', ...limit });
    const page = await openBrowser(t);
    const requested: string[] = [];
    page.on('request', (request) => requested.push(new URL(request.url()).pathname));
    await page.goto(link.url);
    // The script adds the button of the menu before it loads thumbnails.
    await page.getByRole('button', { name: 'Actions for a.png' }).waitFor();
    if ('maximum_downloads' in limit) await page.waitForLoadState('networkidle');
    else await page.locator('canvas.thumbnail').waitFor();
    assert.equal(requested.includes(`${link.at}a.png`), !('maximum_downloads' in limit), 'only links without a maximum show thumbnails');
    assert.deepEqual(await page.evaluate('caches.keys()'), [], 'the browser keeps no thumbnail');
    const reply = await server.send('GET', '/home/__svc__/links', { headers: { accept: 'application/json' } });
    assert.ok(reply.text.includes('"downloads":0') && !/"downloads":[1-9]/.test(reply.text), reply.text);
  }
});

browserTest('a visitor filters a shared folder; the help lists only keys that work there, even during a type-ahead', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'out'));
  for (const name of ['scan-1499.txt', 'scan-1500.txt', 'other.txt']) writeFileSync(join(server.home, 'out', name), 'x');
  const folder = await makeLink(server, { path: '/out' });
  const page = await openBrowser(t);
  await page.goto(folder.url);
  const field = page.getByRole('searchbox', { name: 'Filter' });
  await field.waitFor();
  await page.keyboard.press('/');
  await page.keyboard.type('1500');
  await page.getByText('1 match').waitFor();
  assert.equal(await page.getByRole('link', { name: 'other.txt' }).count(), 0);
  await page.keyboard.press('Escape');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.type('scan-1500?');
  const keys = page.getByRole('dialog').locator('dl');
  await keys.waitFor();
  assert.equal(await keys.getByText('Delete').count(), 0);
  assert.equal(await keys.getByText('Filter').count(), 1);
});
