import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, boxesOf, browserTest, openFolder } from '../support/browser.ts';
import { plainPng } from '../support/pictures.ts';
import { startServer } from '../support/server.ts';

browserTest('at 320 and 1280 px long names take at most two lines with a visible end, and their title is the whole name', async (t) => {
  const server = await startServer(t);
  const name = `${'A long name with many words '.repeat(7)}final 3.docx`;
  const solid = `${'x'.repeat(200)}end.tar.gz`;
  const hyphens = `${'Quarterly-financial-statement-2026-'.repeat(5)}corrected-v12.xlsx`;
  for (const each of [name, solid, hyphens, 'short.txt']) writeFileSync(join(server.home, each), '');
  for (const width of [320, 1280]) {
    const page = await openFolder(t, server, { viewport: { width, height: 700 } });
    for (const [each, end] of [
      [name, 'final 3.docx'],
      [solid, 'd.tar.gz'],
      [hyphens, 'd-v12.xlsx'],
    ] as const) {
      const link = page.locator('tbody a', { hasText: end });
      await link.locator('.gap').waitFor({ state: 'attached' });
      assert.equal(await link.getAttribute('title'), each);
      assert.equal(await link.textContent(), each);
      const lines = await link.locator('bdi').evaluate((place) => {
        const { height } = (place as unknown as { getBoundingClientRect(): { height: number } }).getBoundingClientRect();
        return Math.round(height / 24);
      });
      assert.ok(lines <= 2, `${lines} lines at ${width} px`);
    }
    assert.equal(await page.getByRole('link', { name: 'short.txt' }).getAttribute('title'), null);
  }
});

browserTest('on a phone the selection is one row: the number, four actions, and a menu with the others', async (t) => {
  const server = await startServer(t, { service: { triggers: ['Approve, success'] } });
  writeFileSync(join(server.home, 'a.txt'), '');
  const page = await openFolder(t, server, { viewport: { width: 320, height: 640 } });
  await page.getByLabel('Select a.txt').check();
  const bar = page.locator('#actions');
  await bar.getByText('1 selected').waitFor({ state: 'attached' });
  // These actions are added after the service has reported that it supports MOVE.
  await bar.getByRole('button', { name: 'Move' }).waitFor();
  assert.ok(((await bar.boundingBox())?.height ?? 99) < 60);
  assert.deepEqual(
    await bar.getByRole('button').evaluateAll((buttons) => buttons.map((button) => button.ariaLabel ?? button.textContent?.trim())),
    ['Download', 'Rename', 'Move', 'Delete', 'Clear the selection', 'More actions'],
  );
  await assertAccessible(page, 'a selection on a phone');
  await bar.getByRole('button', { name: 'More actions' }).click();
  for (const item of ['Copy', 'Approve']) await page.getByRole('menuitem', { name: item }).waitFor();
});

browserTest('messages are at the bottom left, say what happened, and cover no actions; the list has small pictures', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'To'));
  writeFileSync(join(server.home, 'a picture.png'), plainPng(30, 20, [90, 120, 200]));
  for (let index = 0; index < 40; index++) writeFileSync(join(server.home, `other ${index}.txt`), '');
  const page = await openFolder(t, server);
  await page.locator('tr', { hasText: 'a picture.png' }).locator('canvas.thumbnail').waitFor();
  await page.getByLabel('Select a picture.png').check();
  await page.getByRole('button', { name: 'Move' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'To', exact: true }).click();
  await page.locator('.place-here', { hasText: 'To' }).waitFor();
  await page.getByRole('button', { name: 'Move here' }).click();
  const message = page.locator('#notices .notice', { hasText: 'Moved a picture.png to To' });
  await message.getByRole('button', { name: 'Undo' }).waitFor();
  await page.getByLabel('Select other 0.txt').check();
  const [told, actions] = await boxesOf(message, page.locator('#actions'));
  assert.ok(
    told && actions && told.left === actions.left && told.top > 600 && told.bottom <= actions.top,
    JSON.stringify({ told, actions }),
  );
  await message.waitFor({ state: 'detached', timeout: 8_000 });
});

browserTest('on the page for a new password, the typed passwords can be shown', async (t) => {
  const server = await startServer(t, { group: { allow_own_password_change: true } });
  const page = await openFolder(t, server);
  await page.goto(`${server.url}/home/__svc__/password-update`);
  await page.getByLabel('New password', { exact: true }).fill('something new');
  await page.getByLabel('Show passwords').check();
  assert.equal(await page.getByLabel('New password', { exact: true }).getAttribute('type'), 'text');
  await assertAccessible(page, 'a password that is shown');
  await page.getByLabel('Show passwords').uncheck();
  assert.equal(await page.getByLabel('Current password').getAttribute('type'), 'password');
});
