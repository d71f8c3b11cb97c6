import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

browserTest('the menu of a row opens by its button, the right mouse button and the keyboard, also on a narrow screen', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['a.bin', 'b.bin', 'c.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server, { viewport: { width: 320, height: 480 }, colorScheme: 'dark' });
  const menu = page.getByRole('menu');
  const item = (name: string) => menu.getByRole('menuitem', { name, exact: true });
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  // This action appears after the service has reported that it supports MOVE.
  await page.locator('#actions button', { hasText: 'Move' }).waitFor({ state: 'attached' });

  await page.getByRole('button', { name: 'Actions for c.bin' }).click();
  await menu.waitFor();
  assert.deepEqual(await menu.getByRole('menuitem').allInnerTexts(), ['Download', 'Share', 'Rename', 'Copy', 'Move', 'Select', 'Delete']);
  assert.deepEqual(await page.evaluate<[boolean, boolean]>(inSight), [true, true]);
  await assertAccessible(page, 'the menu of a row');
  assert.equal(await focused(), 'Download');
  for (const [key, name] of [
    ['ArrowUp', 'Delete'],
    ['ArrowDown', 'Download'],
    ['End', 'Delete'],
    ['m', 'Move'],
    ['Home', 'Download'],
  ] as const) {
    await page.keyboard.press(key);
    assert.equal(await focused(), name, key);
  }
  await page.keyboard.press('Escape');
  await menu.waitFor({ state: 'hidden' });
  await page.locator('button:focus', { hasText: '⋯' }).waitFor();
  await page.getByRole('button', { name: 'Actions for c.bin' }).click();
  await page.getByRole('button', { name: 'Actions for c.bin' }).click();
  await menu.waitFor({ state: 'hidden' });
  await page.getByRole('button', { name: 'Actions for c.bin' }).click();
  await page.locator('#count').click();
  await menu.waitFor({ state: 'hidden' });

  await page.getByRole('link', { name: 'a.bin' }).click({ button: 'right' });
  const downloading = page.waitForEvent('download');
  await item('Download').click();
  assert.equal((await downloading).suggestedFilename(), 'a.bin');

  await page.getByRole('link', { name: 'a.bin' }).focus();
  for (const key of ['Shift+F10', 'ContextMenu']) {
    await page.keyboard.press(key);
    await menu.waitFor();
    await page.keyboard.press('Escape');
    await page.locator('a:focus', { hasText: 'a.bin' }).waitFor();
  }
  await page.keyboard.press('Shift+F10');
  await menu.waitFor();
  await page.keyboard.press('r');
  await page.locator('button:focus', { hasText: 'Rename' }).waitFor();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByLabel('New name').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  for (const name of ['a.bin', 'b.bin']) await page.getByLabel(`Select ${name}`).check();
  await page.getByRole('link', { name: 'b.bin' }).click({ button: 'right' });
  await menu.waitFor();
  assert.deepEqual(await menu.getByRole('menuitem').allInnerTexts(), ['Download', 'Copy', 'Move', 'Delete']);
  await item('Delete').click();
  await page.getByRole('dialog', { name: 'Delete these 2 items?' }).getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Deleted 2 items').waitFor();
  assert.deepEqual(readdirSync(server.home), ['Folder', 'c.bin']);
  // Once this row is gone, all rows have been replaced.
  await page.getByRole('link', { name: 'b.bin' }).waitFor({ state: 'detached' });

  await page.getByRole('button', { name: 'Actions for Folder' }).click();
  await item('Select').click();
  await page.getByText('1 selected').waitFor();
  await page.getByRole('button', { name: 'Actions for Folder' }).click();
  await item('Open').click();
  await page.waitForURL('**/Folder/');
});

const inSight = `(() => {
  const { left, top, right, bottom } = document.getElementById('row-menu').getBoundingClientRect();
  return [left >= 0 && right <= innerWidth, top >= 0 && bottom <= innerHeight];
})()`;

browserTest('in the grid the menu of a row offers only what the account may do; with Shift the browser shows its own menu', async (t) => {
  const server = await startServer(t, { account: { permissions: [['allow-list']] } });
  writeFileSync(join(server.home, 'a.bin'), '');
  const page = await openFolder(t, server);
  await page.getByRole('link', { name: 'Show as a grid' }).click();
  await page.getByRole('button', { name: 'Actions for a.bin' }).click();
  await page.getByRole('menu').waitFor();
  assert.deepEqual(await page.getByRole('menuitem').allInnerTexts(), ['Select']);
  await assertAccessible(page, 'the menu in the grid');
  await page.keyboard.press('Escape');
  await page.evaluate(`addEventListener('contextmenu', (event) => (window.isOurs = event.defaultPrevented))`);
  for (const [shiftKey, isOurs] of [
    [false, true],
    [true, false],
  ]) {
    await page.evaluate(`document.querySelector('tbody a').dispatchEvent(
      new MouseEvent('contextmenu', { bubbles: true, cancelable: true, shiftKey: ${shiftKey} }))`);
    assert.equal(await page.evaluate<boolean>('isOurs'), isOurs);
    await page.keyboard.press('Escape');
  }
  assert.ok(existsSync(join(server.home, 'a.bin')));
});
