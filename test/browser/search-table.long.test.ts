import assert from 'node:assert/strict';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, boxesOf, browserTest, openFolder } from '../support/browser.ts';
import { plainPng } from '../support/pictures.ts';
import { startServer } from '../support/server.ts';

browserTest(
  'a search of this folder or everywhere shows a sortable table with the folders of results, marked matches and row menus',
  async (t) => {
    const server = await startServer(t);
    mkdirSync(join(server.home, 'in/deep'), { recursive: true });
    for (const [name, size] of [
      ['Report 10.bin', 10],
      ['in/report 9.bin', 300],
      ['in/deep/My REPORT.bin', 20],
      [`in/${'a long name '.repeat(9)}of water ${'and more '.repeat(9)}.bin`, 5],
    ] as const)
      writeFileSync(join(server.home, name), Buffer.alloc(size));
    const page = await openFolder(t, server, {}, '/home/in/');
    const search = async (scope: string, count: number) => {
      await page.getByLabel('Where to search').selectOption(scope);
      await page.getByRole('searchbox').fill('report');
      await page.keyboard.press('Enter');
      await page.getByText(`${count} items were found.`).waitFor();
    };
    await search('This folder', 2);
    await search('Everywhere', 3);
    const names = () => page.locator('.found tbody tr td:nth-child(2)').allTextContents();
    const folders = () => page.locator('.found tbody tr td:nth-child(5)').allTextContents();
    assert.deepEqual((await folders()).sort(), ['/in', '/in/deep', 'Files']);
    assert.deepEqual(await page.locator('.found mark').allTextContents(), ['Report', 'report', 'REPORT']);
    await page.getByRole('searchbox').fill('water');
    await page.keyboard.press('Enter');
    await page.getByText('One item was found.').waitFor();
    // The mark is in one of the two visible lines of the name, although the match is in the middle.
    await page.locator('.found bdi:has(.gap) mark').waitFor();
    const [mark, name] = await boxesOf(page.locator('.found mark'), page.locator('.found bdi:has(mark)'));
    assert.ok(mark && name && mark.height > 0 && mark.bottom <= name.bottom + 1, 'the match of a long name is visible');
    await search('Everywhere', 3);
    await page.getByRole('button', { name: 'Name' }).click();
    assert.deepEqual(await names(), ['My REPORT.bin', 'report 9.bin', 'Report 10.bin'], 'the names are in natural order');
    await page.getByRole('button', { name: 'Size' }).click();
    assert.deepEqual(await names(), ['report 9.bin', 'My REPORT.bin', 'Report 10.bin']);
    assert.equal(
      await page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort'),
      'descending',
      'the largest file comes first, as in a folder',
    );
    await assertAccessible(page, 'results');
    await page.getByRole('button', { name: 'Upload files' }).waitFor();
    await page.getByRole('button', { name: 'Actions for My REPORT.bin' }).click();
    await page.getByRole('menuitem', { name: 'Show in its folder' }).click();
    await page.waitForURL('**/home/in/deep/');
    const lines = await server.get('/home/in/?search=report&scope=everywhere', { headers: { accept: 'application/x-ndjson' } });
    assert.equal(lines.text.trim().split('\n').length, 3);
  },
);

browserTest('without scripts, search results are a table with the same folders and marked matches', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  writeFileSync(join(server.home, 'in/a report.txt'), 'x');
  writeFileSync(join(server.home, 'report.txt'), 'x');
  const page = await openFolder(t, server, { javaScriptEnabled: false }, '/home/in/');
  await page.getByLabel('Where to search').selectOption('Everywhere');
  await page.getByRole('searchbox').fill('report');
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByRole('cell', { name: '/in', exact: true }).waitFor();
  assert.deepEqual(await page.locator('.found mark').allTextContents(), ['report', 'report']);
});

browserTest('search results have the tools and actions of a folder, and show the effects of the actions', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 }, links: { enabled: true } } });
  mkdirSync(join(server.home, 'in/deep'), { recursive: true });
  mkdirSync(join(server.home, 'to'));
  for (const name of ['in/report 1.bin', 'in/deep/report 2.bin', 'in/deep/report 3.bin']) writeFileSync(join(server.home, name), 'x');
  writeFileSync(join(server.home, 'in/report.png'), plainPng(40, 30, [90, 120, 200]));
  const page = await openFolder(t, server, {}, '/home/?search=report');
  const names = async () => (await page.locator('.found tbody td:nth-child(2)').allTextContents()).sort();
  const choose = async (name: string, action: string) => {
    await page.getByRole('button', { name: `Actions for ${name}` }).click();
    await page.getByRole('menuitem', { name: action, exact: true }).click();
  };
  const ask = page.getByRole('dialog');
  await page.locator('.found canvas.thumbnail').waitFor();
  assert.equal(await page.locator('.found canvas.thumbnail').count(), 1);

  await choose('report 2.bin', 'Rename');
  await ask.getByLabel('New name').fill('old report 2.bin');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'old report 2.bin' }).waitFor();
  assert.ok(existsSync(join(server.home, 'in/deep/old report 2.bin')), 'the result is renamed in its own folder');
  await page.getByText('Renamed report 2.bin to old report 2.bin').waitFor();

  await choose('report 3.bin', 'Move');
  // The dialog begins above the folder of the result, because that folder has no sub-folders.
  await ask.locator('.place-here', { hasText: /^Files \/ in(?! \/)/ }).waitFor();
  await ask.getByRole('button', { name: 'Up to Files' }).click();
  await ask.getByRole('button', { name: 'to', exact: true }).click();
  await ask.locator('.place-here', { hasText: /^Files \/ to(?!\w)/ }).waitFor();
  await ask.getByRole('button', { name: 'Move here' }).click();
  await page.getByRole('cell', { name: '/to', exact: true }).waitFor();
  assert.ok(existsSync(join(server.home, 'to/report 3.bin')));

  await choose('report 1.bin', 'Delete');
  await page.getByText('3 items were found.').waitFor();
  assert.deepEqual(await names(), ['old report 2.bin', 'report 3.bin', 'report.png']);
  await page.getByText('Moved report 1.bin to the trash').locator('..').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('4 items were found.').waitFor();
  assert.ok(existsSync(join(server.home, 'in/report 1.bin')));

  await choose('report 1.bin', 'Share');
  await ask.getByRole('button', { name: 'Create link' }).click();
  assert.match(await ask.getByLabel('Address of the link').inputValue(), /\/__svc__\/s\//);
  await ask.getByRole('button', { name: 'Done' }).click();

  const saved = page.waitForEvent('download');
  mkdirSync(join(server.home, 'to/report x'));
  writeFileSync(join(server.home, 'to/report x/a.txt'), 'x');
  await page.reload();
  await choose('report x', 'Download');
  assert.equal((await saved).suggestedFilename(), 'report x.zip');

  await page.getByRole('button', { name: 'New folder' }).click();
  await ask.getByLabel('Name of the new folder').fill('new');
  await page.keyboard.press('Enter');
  await page.getByText('Created the folder new in Files').waitFor();
  assert.ok(existsSync(join(server.home, 'new')));
});

browserTest('search results offer only actions that the account may use', async (t) => {
  const server = await startServer(t, { account: { permissions: [['allow-list', 'allow-read']] } });
  writeFileSync(join(server.home, 'report.bin'), 'x');
  const page = await openFolder(t, server, {}, '/home/?search=report');
  await page.getByRole('button', { name: 'Actions for report.bin' }).click();
  assert.deepEqual(await page.getByRole('menuitem').allTextContents(), ['Download', 'Show in its folder', 'Select']);
  assert.equal(await page.getByRole('button', { name: 'New folder' }).count(), 0);
});
