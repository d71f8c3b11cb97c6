import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { assertAccessible, boxesOf, browserTest, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const heading = (page: Page) => page.evaluate<string>("document.querySelector('h1').textContent");

/** Marks the page. A reload would remove the mark. */
const mark = (page: Page) => page.evaluate('window.isMarked = true');
const isMarked = (page: Page) => page.evaluate<boolean>('window.isMarked === true');

browserTest('a folder opens without a page load, and Back restores the previous folder as it was left', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Reports #1?/inner'), { recursive: true });
  writeFileSync(join(server.home, 'Reports #1?/a.txt'), 'text of a');
  for (let index = 0; index < 120; index++) writeFileSync(join(server.home, `file-${index}.bin`), 'x');
  const page = await openFolder(t, server, { expectedErrors: /404/ });
  await mark(page);
  await page.getByRole('searchbox').fill('r');
  await page.getByText('1 match').waitFor();
  await page.evaluate('scrollTo(0, 1500)');
  await page.getByRole('searchbox').fill('file-1');
  await page.getByText('31 matches').waitFor();
  const [head, firstRow] = await boxesOf(page.locator('thead'), page.locator('#list tbody tr').first());
  assert.ok(head && firstRow && Math.abs(firstRow.top - head.bottom) < 1, 'the first match is in sight');
  await page.getByRole('searchbox').fill('');
  await page.getByLabel('Select file-7.bin').check();
  await page.getByText('1 selected').waitFor();
  await page.evaluate('scrollTo(0, 1500)');
  await page.evaluate("document.querySelector('a.folder').click()");
  await page.waitForURL('**/home/Reports%20%231%3F/');
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
  assert.equal(await heading(page), 'Reports #1?');
  assert.match(await page.title(), /^Reports #1\? – /);
  // The focus is on the heading, so that screen readers announce the new folder.
  await page.locator('h1:focus', { hasText: 'Reports #1?' }).waitFor({ state: 'attached' });
  assert.equal(await page.evaluate('scrollY'), 0);
  await page.locator('#actions .to-move').waitFor({ state: 'attached' });
  await assertAccessible(page, 'a folder that was opened without a page load');
  for (const [name, count] of [
    ['Upload files', 1],
    ['New folder', 1],
    ['Rename', 0],
    ['Keyboard', 0],
  ] as const)
    assert.equal(await page.getByRole('button', { name, exact: true }).count(), count, name);
  await page.getByLabel('Select a.txt').check();
  for (const name of ['Rename', 'Move', 'Delete']) await page.getByRole('button', { name }).waitFor();

  await page.getByRole('link', { name: 'a.txt' }).click();
  await page.getByRole('dialog').getByText('text of a').waitFor();
  await page.goBack();
  await page.getByRole('dialog').waitFor({ state: 'detached' });
  await page.goBack();
  await page.waitForURL('**/home/');
  await page.getByText('1 selected').waitFor();
  assert.ok(await page.getByLabel('Select file-7.bin').isChecked());
  await until('the page is scrolled as before', () => page.evaluate<boolean>('scrollY === 1500'));
  await page.keyboard.press('Escape');

  await page.getByRole('searchbox').fill('report');
  await page.getByText('1 match').waitFor();
  await page.getByRole('link', { name: 'Reports' }).dblclick();
  await page.waitForURL('**/home/Reports%20%231%3F/');
  await page.getByRole('link', { name: 'Files', exact: true }).first().click();
  await page.waitForURL('**/home/');
  assert.equal(await page.getByRole('searchbox').inputValue(), '', 'a folder that a link opens has no filter');
  await page.goBack();
  await page.goBack();
  await page.getByText('1 match').waitFor();
  assert.equal(await page.getByRole('searchbox').inputValue(), 'report');
  await page.getByRole('searchbox').fill('');

  await page.getByRole('link', { name: 'Size' }).click();
  await page.waitForURL('**/home/?sort=size&order=desc&folders=first');
  await page.locator('.sort summary').click();
  await page.getByRole('link', { name: 'Folders first' }).click();
  await page.waitForURL('**/home/?sort=size&order=desc&folders=mixed');
  assert.equal(await page.locator('th.size').getAttribute('aria-sort'), 'descending');
  assert.ok(await isMarked(page), 'the page was never loaded again');

  const [opened] = await Promise.all([
    page.context().waitForEvent('page'),
    page.getByRole('link', { name: 'Reports' }).click({ modifiers: ['ControlOrMeta'] }),
  ]);
  assert.match(opened.url(), /Reports|about:blank/);
  await opened.close();
  assert.equal(await heading(page), 'Files', 'a click with a modifier key is left to the browser');

  rmSync(join(server.home, 'Reports #1?'), { recursive: true });
  await page.getByRole('link', { name: 'Reports' }).click();
  await page.getByText('Reports #1? could not be opened: The file or folder no longer exists.').waitFor();
  assert.equal(await heading(page), 'Files');
  assert.ok(await isMarked(page));
});

browserTest('uploads continue while another folder is shown, and arrive in the folder where they were begun', async (t) => {
  const server = await startServer(t, { account: { permissions: [['allow-full-control'], ['/Shut*', 'allow-list', 'allow-read']] } });
  for (const name of ['Shut', 'Open']) mkdirSync(join(server.home, name));
  writeFileSync(join(server.home, 'Shut/a.bin'), 'x');
  const page = await openFolder(t, server);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/slow.txt', async (route) => {
    await held;
    await route.continue();
  });
  const files = ['slow.txt', 'next.txt', 'last.txt', 'end.txt'].map((name) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(name),
  }));
  await page.locator('#tools input[type=file]').first().setInputFiles(files);
  await page.locator('.queue').getByText('3 of 4 files').waitFor();
  await page.getByRole('link', { name: 'Shut' }).click();
  await page.waitForURL('**/home/Shut/');
  assert.equal(await page.getByRole('button', { name: 'Upload files' }).count(), 0, 'nothing may be written here');
  await page.getByLabel('Select a.bin').check();
  assert.equal(await page.getByRole('button', { name: 'Delete' }).count(), 0);
  letGo();
  await page.getByText('4 files were uploaded.').waitFor({ state: 'attached' });
  assert.equal(readFileSync(join(server.home, 'slow.txt'), 'utf8'), 'slow.txt');
  await page.goBack();
  await page.getByRole('link', { name: 'slow.txt' }).waitFor();
  await page.getByRole('link', { name: 'Open' }).click();
  await page.waitForURL('**/home/Open/');
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles([{ name: 'b.txt', mimeType: 'text/plain', buffer: Buffer.from('b') }]);
  await page.getByRole('link', { name: 'b.txt' }).waitFor();
  assert.equal(readFileSync(join(server.home, 'Open/b.txt'), 'utf8'), 'b');
});

browserTest('while the code of the first preview is fetched, the page is marked as busy', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), 'some text');
  const page = await openFolder(t, server);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/*.js', async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('link', { name: 'a.txt' }).click();
  await page.locator('main[aria-busy]').waitFor();
  letGo();
  await page.getByRole('dialog').getByText('some text').waitFor();
  await page.locator('main[aria-busy]').waitFor({ state: 'detached' });
});

browserTest('the folder clicked last opens; offline, the page stays as it is; without a session, it asks for the password', async (t) => {
  const server = await startServer(t);
  for (const name of ['First', 'Second']) mkdirSync(join(server.home, name));
  const page = await openFolder(t, server, { expectedErrors: /401|ERR_INTERNET_DISCONNECTED/ });
  await mark(page);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/First/', async (route) => {
    await held;
    await route.continue().catch(() => {});
  });
  await page.getByRole('link', { name: 'First' }).click();
  await page.locator('main[aria-busy=true]').waitFor();
  await page.getByRole('link', { name: 'Second' }).click();
  await page.waitForURL('**/home/Second/');
  letGo();
  await page.unrouteAll({ behavior: 'wait' });
  assert.equal(await heading(page), 'Second');
  await page.goBack();
  await page.waitForURL('**/home/');
  await page.getByRole('link', { name: 'First' }).waitFor();

  await page.context().setOffline(true);
  await page.getByRole('link', { name: 'First' }).click();
  await page.getByText('First could not be opened: no connection').waitFor();
  await page.locator('#notices').getByRole('button', { name: 'Close' }).click();
  await page.goForward();
  await page.getByText('That did not work: no connection').waitFor();
  await page.waitForURL('**/home/');
  assert.equal(await heading(page), 'Files');
  await page.context().setOffline(false);

  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  await server.send('POST', '/__svc__/logout', { user: null, headers: { cookie } });
  await page.getByRole('link', { name: 'First' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Password').fill(testPassword);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL('**/home/First/');
  assert.equal(await heading(page), 'First');
  assert.ok(await isMarked(page));
});

for (const javaScriptEnabled of [true, false]) {
  browserTest(`search below a folder, ${javaScriptEnabled ? 'from the filter' : 'without scripts'}`, async (t) => {
    const server = await startServer(t);
    mkdirSync(join(server.home, 'deep/er'), { recursive: true });
    writeFileSync(join(server.home, 'deep/er/Needle.txt'), 'x');
    const page = await openFolder(t, server, { javaScriptEnabled, viewport: { width: 320, height: 640 }, colorScheme: 'dark' });
    const field = page.getByRole('searchbox');
    const opener = page.getByRole('button', { name: 'Search', exact: true });
    if (javaScriptEnabled) await opener.click();
    const below = page.getByRole('button', { name: 'Search in sub-folders' });
    if (javaScriptEnabled) {
      // Even if this folder has matches, the button to search in sub-folders stays visible.
      await field.fill('deep');
      await page.getByText('1 match').waitFor();
      await below.waitFor();
      const isWhole = await below.evaluate((button) => {
        const { left, top, width } = button.getBoundingClientRect();
        return button.contains(button.ownerDocument.elementFromPoint(left + width / 2, top + 0.5));
      });
      assert.ok(isWhole, 'the form of the field covers the upper edge of the button');
      assert.equal(await page.locator('html').evaluate((html) => html.scrollWidth > html.clientWidth), false);
    }
    await field.fill('needle');
    if (javaScriptEnabled) await below.click();
    else await page.keyboard.press('Enter');
    await page.waitForURL('**/home/?search=needle');
    await page.getByText('One item was found.').waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'the page of a search');
    await page.getByRole('link', { name: '/deep/er' }).click();
    await page.waitForURL('**/home/deep/er/');
    await page.getByRole('link', { name: 'Needle.txt' }).waitFor();
    await page.goBack();
    if (javaScriptEnabled) await opener.click();
    await page.getByRole('searchbox').fill('nowhere');
    await page.keyboard.press('Enter');
    await page.getByText('Nothing found for “nowhere”').waitFor();
    await page.getByText('Try a shorter part of the name.', { exact: true }).waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'a search that finds nothing');
  });
}

browserTest('files and folders are copied, also to a new folder; rows dragged to a folder or a parent folder are moved', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Target'));
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['a.bin', 'b.bin', 'c.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server);
  const dialog = page.getByRole('dialog');
  mkdirSync(join(server.home, 'Other'));
  for (const name of ['Part 10', 'Part 9']) mkdirSync(join(server.home, 'Folder', name));
  for (const name of ['a.bin', 'b.bin']) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('button', { name: 'Copy' }).click();
  await dialog.getByRole('button', { name: 'Folder', exact: true }).click();
  await dialog.locator('.place-here', { hasText: 'Folder' }).waitFor();
  const names = dialog.locator('.names button');
  await names.filter({ hasText: 'Part 10' }).waitFor();
  assert.deepEqual(await names.allInnerTexts(), ['Up to Files', 'Part 9', 'Part 10'], 'the folders are in natural order');
  await dialog.getByRole('button', { name: 'Up to Files' }).click();
  await dialog.getByRole('button', { name: 'Target' }).click();
  await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
  await assertAccessible(page, 'copying');
  await dialog.getByRole('button', { name: 'Copy here' }).click();
  await page.getByText('Copied 2 items').waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'Target')).sort(), ['a.bin', 'b.bin']);
  assert.ok(existsSync(join(server.home, 'a.bin')));
  await page.getByLabel('Select Folder').check();
  await page.getByRole('button', { name: 'Copy' }).click();
  await dialog.locator('.names').getByRole('button', { name: 'Target' }).waitFor();
  assert.equal(await dialog.getByRole('button', { name: 'Target' }).count(), 1, 'a listed folder is not also offered as a recent one');
  await dialog.getByRole('button', { name: 'Other' }).click();
  await dialog.locator('.place-here', { hasText: 'Other' }).waitFor();
  await dialog.locator('.recent-targets').getByRole('button', { name: 'Target' }).click();
  await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
  await dialog.getByRole('button', { name: 'New folder' }).click();
  await dialog.getByLabel('Name of the new folder').fill('Made here');
  await page.keyboard.press('Enter');
  await dialog.locator('.place-here', { hasText: 'Target / Made here' }).waitFor();
  await assertAccessible(page, 'a new folder to copy to');
  await dialog.getByRole('button', { name: 'Copy here' }).click();
  await page.getByText('Copied Folder to Target/Made here').waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'Target/Made here/Folder')).sort(), ['Part 10', 'Part 9']);
  rmSync(join(server.home, 'Target/Made here'), { recursive: true });
  rmSync(join(server.home, 'Other'), { recursive: true });

  for (const name of ['a.bin', 'c.bin']) rmSync(join(server.home, 'Target', name), { force: true });
  for (const name of ['Folder', 'a.bin']) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('link', { name: 'a.bin' }).dragTo(page.getByRole('link', { name: 'Target' }));
  await page.getByText('Moved 2 items').waitFor();
  await page.getByRole('link', { name: 'a.bin' }).waitFor({ state: 'detached' });
  await page.getByRole('link', { name: 'c.bin' }).dragTo(page.getByRole('link', { name: 'Target' }));
  await page.getByText('Moved c.bin').waitFor();
  assert.deepEqual(readdirSync(join(server.home, 'Target')).sort(), ['Folder', 'a.bin', 'b.bin', 'c.bin']);
  assert.deepEqual(readdirSync(server.home).sort(), ['Target', 'b.bin']);

  await page.getByRole('link', { name: 'Target' }).click();
  await page.waitForURL('**/home/Target/');
  await page.getByRole('link', { name: 'c.bin' }).dragTo(page.locator('.crumbs').getByRole('link', { name: 'Files' }));
  await page.getByRole('link', { name: 'c.bin' }).waitFor({ state: 'detached' });
  assert.ok(existsSync(join(server.home, 'c.bin')));
});
