import assert from 'node:assert/strict';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, boxesOf, browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';
import { zipWith } from '../support/zips.ts';

browserTest('impossible names of a new folder are refused; a created or renamed item is visible and has the focus', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 60; index++) writeFileSync(join(server.home, `IMG_${index}.bin`), 'x');
  const page = await openFolder(t, server, { expectedErrors: /409/ });
  const dialog = page.getByRole('dialog');
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  await page.getByRole('searchbox').fill('IMG_5');
  await page.getByRole('button', { name: 'New folder' }).click();
  for (const name of ['..', '.', '   ', 'a/b']) {
    await dialog.getByLabel('Name of the new folder').fill(name);
    await page.keyboard.press('Enter');
    await dialog.getByText('A name cannot contain “/”, and cannot be “.” or “..”.').waitFor();
    await dialog.getByLabel('Name of the new folder').fill('IMG_5.bin');
    await page.keyboard.press('Enter');
    await dialog.getByText('This name is taken already.').waitFor();
  }
  await dialog.getByLabel('Name of the new folder').fill('Zebra');
  await page.keyboard.press('Enter');
  await page.locator('a:focus', { hasText: 'Zebra' }).waitFor();
  assert.equal(await page.getByRole('searchbox').inputValue(), '', 'the filter is cleared, so it does not hide the new folder');

  await page.keyboard.press('End');
  assert.equal(await focused(), 'IMG_59.bin', 'names are in natural order');
  await page.keyboard.press('F2');
  await dialog.getByRole('heading', { name: 'Rename “IMG_59.bin”' }).waitFor();
  await page.keyboard.type('last');
  await page.keyboard.press('Enter');
  const renamed = page.getByRole('link', { name: 'last.bin' });
  // The extension was not selected, so it stays.
  await renamed.and(page.locator(':focus')).waitFor();

  for (const name of ['IMG_1.bin', 'IMG_2.bin']) await page.getByLabel(`Select ${name}`, { exact: true }).check();
  await renamed.focus();
  await page.keyboard.press('F2');
  await dialog.getByRole('heading', { name: 'last.bin' }).waitFor();
  await page.keyboard.press('Escape');
  await page.locator('#members').focus();
  await page.keyboard.press('F2');
  await page.getByText('Select exactly one item to rename it.').waitFor();
  assert.equal(await dialog.count(), 0);
});

browserTest(
  'messages are visible at any scroll position, and disappear; the selection is announced; a filter without matches says so',
  async (t) => {
    const server = await startServer(t);
    mkdirSync(join(server.home, 'Folder'));
    for (let index = 0; index < 60; index++) writeFileSync(join(server.home, `f${index}.bin`), 'x');
    const page = await openBrowser(t);
    await page.clock.install();
    await login(page, server.url);
    await page.keyboard.press('End');
    await page.getByRole('link', { name: 'f59.bin' }).focus();
    await page.keyboard.press('Space');
    await page.clock.runFor(1000);
    await page.getByRole('status').filter({ hasText: '1 selected' }).waitFor();
    await page.keyboard.press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    const message = page.locator('[aria-live], [role=status]').getByText(/^Deleted \S/);
    await message.waitFor();
    assert.ok((await page.evaluate<number>('scrollY')) > 0);
    const box = await message.boundingBox();
    assert.ok(box && box.y >= 0 && box.y + box.height <= 800, 'the message is visible at any scroll position');
    await assertAccessible(page, 'a message');
    await page.clock.runFor(60_000);
    await message.waitFor({ state: 'detached' });
    for (const name of ['f1.bin', 'f2.bin']) await page.getByLabel(`Select ${name}`).check();
    // If a row had the focus, F2 would rename its item.
    await page.locator('#members').focus();
    for (let press = 0; press < 2; press++) await page.keyboard.press('F2');
    const renameOne = page.getByText('Select exactly one item to rename it.');
    await renameOne.waitFor();
    assert.equal(await renameOne.count(), 1, 'a repeated message is shown once');

    await page.getByRole('searchbox').fill('nobody');
    await page.clock.runFor(1000);
    await page.getByText('No name here contains this text.').waitFor();
    assert.equal(await page.locator('#list').isVisible(), false, 'the table without rows is hidden');
    const button = (name: string) => page.getByRole('button', { name });
    const [clear, search] = await boxesOf(button('Clear the filter'), button('Search in sub-folders'));
    assert.ok(clear && search && clear.right + 4 <= search.left, 'buttons do not touch');
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await page.getByRole('link', { name: 'f1.bin' }).waitFor();

    const first = page.getByRole('link', { name: 'Folders first' });
    await page.locator('.sort summary').click();
    assert.equal(await first.getAttribute('aria-current'), 'true', 'the menu shows the state, not the action');
    await first.click();
    await page.waitForURL('**/?sort=name&order=asc&folders=mixed');
    await page.locator('.sort summary').click();
    assert.equal(await first.getAttribute('aria-current'), null);
  },
);

browserTest('rows at 320 px: folders are named as folders, date and size do not overlap; a ZIP has "_" for backslashes', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  writeFileSync(join(server.home, 'a.bin'), 'x'.repeat(999_900));
  utimesSync(join(server.home, 'a.bin'), 1_574_981_880, 1_574_981_880);
  writeFileSync(join(server.home, 'dir\\file.bin'), 'x');
  writeFileSync(Buffer.concat([Buffer.from(`${server.home}/`), Buffer.from([0x66, 0xff])]), 'x');
  const page = await openFolder(t, server, { viewport: { width: 320, height: 640 }, locale: 'en-US' });
  await page.getByRole('row', { name: 'Folder folder' }).waitFor();
  await page.getByText('One item is not shown').waitFor();
  const overlaps = await page.evaluate<string[]>(`[...document.querySelectorAll('tbody tr')].flatMap((row) => {
    const boxOf = (cell) => {
      const range = document.createRange();
      range.selectNodeContents(cell);
      return range.getBoundingClientRect();
    };
    const [size, date] = [boxOf(row.cells[2]), boxOf(row.cells[3].querySelector('time'))];
    const meet = size.left < date.right && date.left < size.right && size.top < date.bottom && date.top < size.bottom;
    return meet && size.width > 1 ? [row.textContent] : [];
  })`);
  assert.deepEqual(overlaps, []);
  await page.getByLabel('Select all').check();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as ZIP' }).click();
  const zipPath = join(server.folder, 'members.zip');
  await (await download).saveAs(zipPath);
  assert.deepEqual(zipWith(zipPath).names.sort(), ['a.bin', 'dir_file.bin']);
});

browserTest('the move dialog reports a folder that may not be opened; pages say that they are forbidden or missing', async (t) => {
  const permissions = [['allow-full-control'], ['/Closed*', 'allow-traverse', 'allow-rename'], ['/Shut*', 'allow-rename']];
  const server = await startServer(t, { account: { permissions } });
  for (const name of ['Closed', 'Shut', 'Open']) mkdirSync(join(server.home, name));
  writeFileSync(join(server.home, 'a.bin'), 'x');
  const page = await openFolder(t, server, { expectedErrors: /40[34]/ });
  const dialog = page.getByRole('dialog');
  await page.getByLabel('Select a.bin').check();
  await page.getByRole('button', { name: 'Move' }).click();
  await dialog.getByRole('button', { name: 'Shut' }).click();
  await dialog.getByRole('alert').filter({ hasText: 'Shut' }).waitFor();
  await dialog.getByRole('button', { name: 'Open' }).click();
  await dialog.locator('.place-here', { hasText: 'Open' }).waitFor();
  assert.equal(await dialog.getByRole('alert').count(), 0);
  await page.keyboard.press('Escape');
  for (const [target, title] of [
    ['/home/Shut/', 'This is not allowed'],
    ['/home/missing/', 'Nothing is here'],
  ] as const) {
    await page.goto(server.url + target);
    await page.getByRole('heading', { name: title }).waitFor();
    assert.equal(await page.locator('.who').innerText(), 'alice', 'the menu stays');
  }
});
