import assert from 'node:assert/strict';
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { silence } from '../../scripts/films.mjs';
import { assertAccessible, type BrowserOptions, browserTest, openFolder } from '../support/browser.ts';
import { startServer, type TestConfig } from '../support/server.ts';

/** Starts a server with `files`, and shows the results of a search for "report". */
async function found(t: TestContext, files: readonly string[], config: TestConfig = {}, options: BrowserOptions = {}) {
  const server = await startServer(t, config);
  for (const path of files) {
    mkdirSync(join(server.home, path, '..'), { recursive: true });
    writeFileSync(join(server.home, path), path);
  }
  const page = await openFolder(t, server, options, '/home/?search=report');
  await page.locator('#list').waitFor();
  const exists = (path: string) => existsSync(join(server.home, path));
  const select = async (...names: string[]) => {
    for (const name of names) await page.getByLabel(`Select ${name}`, { exact: true }).check();
  };
  const bar = page.locator('#actions');
  const dialog = page.getByRole('dialog');
  return { server, page, exists, select, bar, dialog };
}

const trash = { group: { trash: { days: 30 } } };
const files = ['a/report 1.bin', 'b/report 2.bin', 'b/c/report 3.bin', 'report 4.bin'];

browserTest('search results in several folders are deleted together, and one Undo restores all', async (t) => {
  const { page, exists, select, bar } = await found(t, files, trash);
  assert.ok(await bar.isHidden());
  await select('report 1.bin', 'report 2.bin');
  await bar.getByText('2 selected').waitFor();
  await assertAccessible(page, 'selected results');
  assert.ok(await bar.getByRole('button', { name: 'Download as ZIP' }).isHidden(), 'an archive contains items of one folder only');
  assert.ok(await bar.getByRole('button', { name: 'Show in its folder' }).isHidden(), 'this action is for one result');
  await bar.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('2 items were found.').waitFor();
  await bar.waitFor({ state: 'hidden' });
  assert.deepEqual(files.map(exists), [false, false, true, true]);
  await page.getByText('Moved 2 items to the trash').locator('..').getByRole('button', { name: 'Undo' }).click();
  await page.getByText('Restored 2 items').waitFor();
  await page.getByText('4 items were found.').waitFor();
  assert.deepEqual(files.map(exists), [true, true, true, true]);
});

browserTest('search results in several folders are moved to one folder, except one already there; Undo moves them back', async (t) => {
  const { page, exists, select, bar, dialog } = await found(t, [...files, 'to/report 5.bin']);
  await select('report 1.bin', 'report 3.bin', 'report 5.bin');
  await bar.getByRole('button', { name: 'Move' }).click();
  // The dialog begins in the searched folder.
  await dialog.locator('.place-here', { hasText: 'Files' }).waitFor();
  await dialog.getByRole('button', { name: 'to', exact: true }).click();
  await dialog.locator('.place-here', { hasText: /^Files \/ to/ }).waitFor();
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByText('Moved 2 items to to').waitFor();
  await page.locator('tr', { hasText: 'report 3.bin' }).getByRole('cell', { name: '/to', exact: true }).waitFor();
  assert.ok(['to/report 1.bin', 'to/report 3.bin', 'to/report 5.bin'].every(exists));
  await page.keyboard.press('Control+z');
  await page.locator('tr', { hasText: 'report 3.bin' }).getByRole('cell', { name: '/b/c', exact: true }).waitFor();
  assert.ok(['a/report 1.bin', 'b/c/report 3.bin', 'to/report 5.bin'].every(exists));

  await select('report 1.bin', 'report 2.bin');
  await bar.getByRole('button', { name: 'Copy' }).click();
  await dialog.getByRole('button', { name: 'to', exact: true }).first().click();
  await dialog.locator('.place-here', { hasText: /^Files \/ to/ }).waitFor();
  await dialog.getByRole('button', { name: 'Copy here' }).click();
  await page.getByText('7 items were found.').waitFor();
  assert.ok(['a/report 1.bin', 'to/report 1.bin', 'b/report 2.bin', 'to/report 2.bin'].every(exists));
});

browserTest('search results that may not be deleted are reported by name; results in other folders are deleted', async (t) => {
  const rules = [['allow-full-control'], ['/b/report*', 'allow-list', 'allow-read']];
  const { page, exists, bar, dialog } = await found(t, files, { account: { permissions: rules } });
  await page.getByLabel('Select all').check();
  await bar.getByText('4 selected').waitFor();
  await bar.getByRole('button', { name: 'Delete' }).click();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('One item was found.').waitFor();
  await page.getByText(/^report 2\.bin could not be deleted: /).waitFor();
  await page.getByText('Deleted 3 items').waitFor();
  assert.deepEqual(files.map(exists), [false, true, false, false]);
});

browserTest('if the folder of a search result was removed, the result is reported by name; other results are deleted', async (t) => {
  const { server, page, exists, bar, select, dialog } = await found(
    t,
    ['a/x/report 1.bin', 'b/report 2.bin'],
    {},
    { expectedErrors: /404/ },
  );
  await select('report 1.bin', 'report 2.bin');
  await bar.getByRole('button', { name: 'Delete' }).click();
  rmSync(join(server.home, 'a'), { recursive: true });
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(/^report 1\.bin could not be deleted: /).waitFor();
  await page.getByText('Deleted report 2.bin').waitFor();
  await page.getByText(/^Nothing found for “.+”$/).waitFor();
  assert.equal(exists('b/report 2.bin'), false);
});

browserTest('a search result inside a selected folder is deleted with the folder, and not counted separately', async (t) => {
  const inside = ['reports/report 1.bin', 'reports/deep/report 2.bin', 'report 3.bin'];
  const { page, exists, bar } = await found(t, inside, trash);
  await page.getByLabel('Select all').check();
  await bar.getByText('4 selected').waitFor();
  await bar.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Moved 2 items to the trash').waitFor();
  await page.getByText(/^Nothing found for “.+”$/).waitFor();
  assert.ok(!exists('reports') && !exists('report 3.bin'));
});

browserTest('the shortcuts of a folder page work in search results; selected results of one folder are downloaded as a ZIP', async (t) => {
  const { page, exists, bar, dialog } = await found(t, ['b/report 1.bin', 'b/report 2.bin', 'c/report 3.bin'], trash);
  const focused = (name: string) => page.locator('a:focus', { hasText: name }).waitFor();
  await page.getByRole('button', { name: 'Name' }).click();
  await page.keyboard.press('ArrowDown');
  await focused('report 1.bin');
  await page.keyboard.press('Shift+ArrowDown');
  await focused('report 2.bin');
  await bar.getByText('2 selected').waitFor();
  const saved = page.waitForEvent('download');
  await bar.getByRole('button', { name: 'Download as ZIP' }).click();
  assert.equal((await saved).suggestedFilename(), 'b.zip');
  await page.keyboard.press('Control+a');
  await bar.getByText('3 selected').waitFor();
  await page.keyboard.press('Escape');
  await bar.waitFor({ state: 'hidden' });
  await page.getByRole('link', { name: 'report 2.bin' }).focus();
  await page.keyboard.press(' ');
  await bar.getByText('1 selected').waitFor();
  await page.keyboard.press('F2');
  await dialog.getByLabel('New name').fill('old report.bin');
  await page.keyboard.press('Enter');
  await focused('old report.bin');
  assert.ok(exists('b/old report.bin'));
  await page.keyboard.press('Shift+F10');
  await page.getByRole('menuitem', { name: 'Show in its folder' }).waitFor();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Delete');
  await page.getByText('2 items were found.').waitFor();
  assert.equal(exists('b/old report.bin'), false);
  await page.keyboard.press('/');
  await page.locator('input[type=search]:focus').waitFor();
});

browserTest('on phones the actions on selected search results are in one row', async (t) => {
  const { page, select, bar } = await found(t, files, trash, { viewport: { width: 320, height: 640 } });
  await select('report 1.bin', 'report 2.bin');
  await bar.getByRole('button', { name: 'Move' }).waitFor();
  await bar.getByRole('button', { name: 'More actions' }).waitFor();
  const heights = await bar.locator('button:visible').evaluateAll((buttons) => buttons.map((button) => button.getBoundingClientRect().top));
  assert.equal(new Set(heights).size, 1, 'the buttons are in one row');
  await assertAccessible(page, 'selected results on a phone');
  await bar.getByRole('button', { name: 'More actions' }).click();
  await page.getByRole('menuitem', { name: 'Copy' }).waitFor();
  assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
});

browserTest('the player plays sounds that a search found in several folders, and the results stay', async (t) => {
  const { server, page } = await found(t, ['a/report 1.wav', 'b/report 2.wav', 'report 3.bin']);
  writeFileSync(join(server.home, 'a/report 1.wav'), silence(0.3));
  writeFileSync(join(server.home, 'b/report 2.wav'), silence(60));
  const player = page.getByRole('region', { name: 'Player' });
  await page.getByRole('link', { name: 'report 1.wav' }).click();
  await player.getByText('2 of 2').waitFor();
  await player.getByText('/ 1:00').waitFor();
  await page.getByText('3 items were found.').waitFor();
});
