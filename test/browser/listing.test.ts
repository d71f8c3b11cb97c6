import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Download } from 'playwright-core';
import { browserTest, loginByForm, openBrowser, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

browserTest('rows are filtered, selected by keyboard, and deleted after a question; a new folder is created', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['alpha.bin', 'beta.bin', 'Übersicht.bin']) writeFileSync(join(server.home, name), 'x');
  const page = await openBrowser(t, { expectedErrors: /409/ });
  await loginByForm(page, server.url);
  const focused = () => page.evaluate<string>("document.activeElement.innerText || document.activeElement.value || ''");
  const shown = () => page.locator('tbody tr:visible td:nth-child(2)').allInnerTexts();

  await page.keyboard.press('/');
  await page.keyboard.type('uber');
  await page.getByText('1 match').waitFor();
  assert.deepEqual(await shown(), ['Übersicht.bin'], 'accents and case do not matter');
  await page.keyboard.press('Escape');
  assert.equal((await shown()).length, 4);

  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), 'Folder');
  await page.keyboard.press('End');
  assert.equal(await focused(), 'Übersicht.bin');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Space');
  await page.getByText('2 selected').waitFor();
  await page.keyboard.press('Escape');
  assert.equal(await page.locator('#actions').isVisible(), false);

  await page.keyboard.press('Delete');
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('heading', { name: /^Delete “/ }).waitFor();
  await dialog.getByText('It cannot be restored.', { exact: true }).waitFor();
  await page.keyboard.press('Escape');
  assert.ok(existsSync(join(server.home, 'beta.bin')), 'Escape deletes nothing');
  await page.getByLabel('Select alpha.bin').check();
  await page.getByLabel('Select Folder').check();
  await page.keyboard.press('Delete');
  await dialog.getByRole('heading', { name: 'Delete these 2 items?' }).waitFor();
  await dialog.getByText('Folders are deleted with everything in them. Deleted items cannot be restored.').waitFor();
  assert.deepEqual(await dialog.locator('.names .i.folder').allTextContents(), ['Folder'], 'each name has the icon of its kind');
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Deleted 2 items').waitFor();
  await page.locator('tbody tr').nth(1).waitFor();
  assert.deepEqual(readdirSync(server.home), ['beta.bin', 'Übersicht.bin']);

  await page.keyboard.press('?');
  await dialog.getByRole('heading', { name: 'Keyboard' }).waitFor();
  await dialog.getByLabel('Use single-key shortcuts').uncheck();
  await page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
  await page.keyboard.press('?');
  assert.equal(await dialog.count(), 0, 'single keys can be turned off');

  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowUp');
  await page.getByRole('button', { name: 'New folder' }).click();
  await dialog.getByLabel('Name of the new folder').fill('beta.bin');
  await page.keyboard.press('Enter');
  await dialog.getByText('This name is taken already.').waitFor();
  await dialog.getByLabel('Name of the new folder').fill('Fresh');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'Fresh' }).click();
  await page.waitForURL('**/home/Fresh/');
});

browserTest('the problem of a name is a sentence, also if the reason is a part of a sentence', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { locale: 'de-DE', expectedErrors: /403|ERR_/ });
  await page.getByRole('button', { name: 'Neuer Ordner' }).click();
  const dialog = page.getByRole('dialog');
  for (const [name, problem] of [
    ['__svc__', 'Das hat nicht geklappt: der Name ist für den Dienst reserviert.'],
    ['..', 'Ein Name darf weder „/“ enthalten noch „.“ oder „..“ sein.'],
  ] as const) {
    await dialog.getByLabel('Name des neuen Ordners').fill(name);
    await page.keyboard.press('Enter');
    await dialog.getByText(problem, { exact: true }).waitFor();
  }
  await page.context().setOffline(true);
  await dialog.getByLabel('Name des neuen Ordners').fill('Neu');
  await page.keyboard.press('Enter');
  await dialog.getByText('Das hat nicht geklappt: keine Verbindung.', { exact: true }).waitFor();
});

browserTest('if the rows that were requested first arrive last, the list still shows the later ones', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.bin'), '');
  const page = await openFolder(t, server);
  const old: (() => Promise<void>)[] = [];
  await page.route(`${server.url}/home/`, async (route) => {
    const response = await route.fetch();
    old.push(() => route.fulfill({ response }));
    if (old.length > 1) await old.at(-1)?.();
  });
  for (const [index, name] of ['First', 'Second'].entries()) {
    await page.getByRole('button', { name: 'New folder' }).click();
    await page.getByLabel('Name of the new folder').fill(name);
    await page.keyboard.press('Enter');
    await until('the rows are requested', () => old.length === index + 1);
  }
  await page.getByRole('link', { name: 'Second' }).waitFor();
  const replied = page.waitForResponse(`${server.url}/home/`);
  await old[0]?.();
  await (await replied).finished();
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
  await page.locator('a:focus', { hasText: 'Second' }).waitFor();
});

browserTest('Shift selects a range; the check box in the head selects all rows; rows that a filter hides are not selected', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 6; index++) writeFileSync(join(server.home, `f${index}.bin`), 'x');
  const page = await openFolder(t, server);
  await page.getByLabel('Select f1.bin').click();
  await page.getByLabel('Select f4.bin').click({ modifiers: ['Shift'] });
  await page.getByText('4 selected').waitFor();
  await page.getByLabel('Select all').check();
  await page.getByText('6 selected').waitFor();
  await page.getByRole('searchbox').fill('f2');
  await page.getByText('1 selected').waitFor();
});

browserTest('one selected file is downloaded as it is, several files as an archive; a selection can be sent to a trigger', async (t) => {
  const server = await startServer(t, { service: { triggers: ['Approve, success'] } });
  for (const name of ['a.bin', 'b.bin']) writeFileSync(join(server.home, name), 'x');
  mkdirSync(join(server.home, 'Folder'));
  const page = await openFolder(t, server);
  await page.getByLabel('Select a.bin').check();
  const folder: Promise<Download> = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Actions for Folder' }).click();
  await page.getByRole('menuitem', { name: 'Download' }).click();
  assert.equal((await folder).suggestedFilename(), 'Folder.zip');
  assert.match(await page.locator('tr.selected').innerText(), /a\.bin/, 'the selection stays');
  const alone: Promise<Download> = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download', exact: true }).click();
  assert.equal((await alone).suggestedFilename(), 'a.bin');
  await page.getByLabel('Select b.bin').check();
  const saved: Promise<Download> = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as ZIP' }).click();
  assert.match((await saved).suggestedFilename(), /\.zip$/);
  await page.getByLabel('Select b.bin').uncheck();
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Ran “Approve” for a.bin.').waitFor();
  assert.deepEqual((await server.events()).find((event) => event.id === '40043')?.data.files, ['a.bin']);
});

browserTest('visitors without an account can sign in from the page', async (t) => {
  const authentications = { local: { type: 'application' }, public: { type: 'anonymous', group: 'visitors' } };
  const server = await startServer(t, {
    authentications,
    groups: { visitors: { home_folder_path: '/tmp', permissions: [['allow-list']] } },
  });
  const page = await openBrowser(t);
  await page.goto(`${server.url}/home/`);
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByLabel('User name').fill('alice');
  await page.getByLabel('Password').fill(testPassword);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Account alice' }).waitFor();
});

browserTest('previews run no script: image, SVG, text, PDF, HTML', async (t) => {
  const server = await startServer(t);
  const pixel = Buffer.from('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==', 'base64');
  writeFileSync(join(server.home, 'a.png'), pixel);
  writeFileSync(join(server.home, 'b.txt'), '<script>document.title = "owned"</script>');
  writeFileSync(join(server.home, 'c.pdf'), '%PDF-1.4\n%%EOF');
  writeFileSync(join(server.home, 'd.html'), '<script>1</script>');
  writeFileSync(join(server.home, 'e.svg'), '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>1</script></svg>');
  const page = await openFolder(t, server);
  const dialog = page.getByRole('dialog');
  await page.getByRole('link', { name: 'a.png' }).click();
  await dialog.locator('img').waitFor();
  assert.equal(
    await page.evaluate("(async (image) => (await image.decode(), image.naturalWidth))(document.querySelector('dialog img'))"),
    1,
  );
  for (const content of [
    'pre:has-text("owned")',
    'iframe[src$="/home/c.pdf?inline=frame"]',
    'pre:has-text("<script>1</script>")',
    'img[src$="e.svg?inline"]',
  ]) {
    // The PDF in its frame may have the keyboard focus, so the test clicks a button.
    await dialog.getByRole('button', { name: 'Next' }).click();
    await dialog.locator(content).waitFor();
  }
  assert.doesNotMatch(await page.title(), /owned/);
  assert.equal(await page.locator('dialog script').count(), 0);
  await page.keyboard.press('Escape');
  await page.locator('a:focus', { hasText: 'e.svg' }).waitFor();
});

const languages = [
  { locale: 'de-AT', heading: 'Dateien', size: '1,5 kB', button: 'Dateien hochladen' },
  { locale: 'fr-FR', heading: 'Fichiers', size: '1,5 ko', button: 'Envoyer des fichiers' },
  { locale: 'es-ES', heading: 'Archivos', size: '1,5 kB', button: 'Subir archivos' },
  { locale: 'en-US', heading: 'Files', size: '1.5 kB', button: 'Upload files' },
];

for (const { locale, heading, size, button } of languages) {
  browserTest(`the page is in the language of ${locale}`, async (t) => {
    const server = await startServer(t);
    writeFileSync(join(server.home, 'a.bin'), 'x'.repeat(1500));
    const page = await openFolder(t, server, { locale });
    await page.getByRole('button', { name: button }).waitFor();
    assert.equal(await page.locator('.crumbs [aria-current]').innerText(), heading);
    assert.equal((await page.locator('td:nth-child(3)').innerText()).replace(/\s/g, ' '), size);
    assert.equal(await page.locator('html').getAttribute('lang'), locale.slice(0, 2));
    await page.setViewportSize({ width: 320, height: 640 });
    for (const order of ['', '?sort=size&order=desc', '?sort=modified&order=desc']) {
      await page.goto(`${server.url}/home/${order}`);
      await page.locator('th.more').waitFor({ state: 'attached' });
      const wide: number = await page.evaluate<number>('document.documentElement.scrollWidth - document.documentElement.clientWidth');
      assert.equal(wide, 0, `${order} at 320 px`);
    }
  });
}
