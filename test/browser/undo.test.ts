import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from 'playwright-core';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

browserTest('a move is undone by its message or by Ctrl+Z, a rename by Ctrl+Z; items that were changed meanwhile stay', async (t) => {
  const server = await startServer(t);
  for (const folder of ['Target', 'Sub']) mkdirSync(join(server.home, folder));
  const inHome = (name: string) => join(server.home, name);
  for (const name of ['a.bin', 'b.bin', 'c.bin', 'd.bin']) writeFileSync(inHome(name), name);
  writeFileSync(inHome('Sub/x'), 'x');
  const page = await openFolder(t, server, { expectedErrors: /412/ });
  const dialog = page.getByRole('dialog');
  const undo = page.getByRole('button', { name: 'Undo' });
  const move = async (...names: string[]) => {
    for (const name of names) await page.getByLabel(`Select ${name}`, { exact: true }).check();
    await page.getByRole('button', { name: 'Move' }).click();
    await dialog.getByRole('list', { name: 'Folders' }).getByRole('button', { name: 'Target' }).click();
    await dialog.locator('.place-here', { hasText: 'Target' }).waitFor();
    await dialog.getByRole('button', { name: 'Move here' }).click();
    await undo.waitFor();
  };
  await move('a.bin', 'b.bin', 'Sub');
  await undo.hover();
  await assertAccessible(page, 'a message with Undo');
  await undo.click();
  await page.getByText('Restored 3 items').waitFor();
  await page.getByRole('link', { name: 'a.bin' }).waitFor();
  assert.deepEqual(readdirSync(server.home).sort(), ['Sub', 'Target', 'a.bin', 'b.bin', 'c.bin', 'd.bin']);
  assert.deepEqual(readdirSync(inHome('Sub')), ['x']);
  await page.getByRole('link', { name: 'a.bin' }).focus();
  await page.keyboard.press('Control+z');
  assert.deepEqual(readdirSync(inHome('Target')), [], 'an undo is done only once');

  await move('a.bin', 'b.bin', 'c.bin', 'd.bin');
  writeFileSync(inHome('Target/a.bin'), 'another one');
  rmSync(inHome('Target/b.bin'));
  writeFileSync(inHome('c.bin'), 'new');
  await page.keyboard.press('Control+z');
  await page.getByText('Restored d.bin').waitFor();
  const problem = await page.getByText(/^“Undo” did not work: /).innerText();
  assert.match(problem, /a\.bin: it was changed since.*b\.bin: it was changed since.*c\.bin: The name is taken/);
  assert.deepEqual(readdirSync(server.home).sort(), ['Sub', 'Target', 'c.bin', 'd.bin']);
  assert.equal(readFileSync(inHome('Target/a.bin'), 'utf8'), 'another one');
  assert.equal(readFileSync(inHome('c.bin'), 'utf8'), 'new', 'nothing is overwritten');

  const rename = async (from: string, to: string) => {
    await page.getByRole('link', { name: from, exact: true }).focus();
    await page.keyboard.press('F2');
    await dialog.getByLabel('New name').fill(to);
    await page.keyboard.press('Enter');
    await page.locator('a:focus', { hasText: to }).waitFor();
  };
  await rename('d.bin', 'ä #%.bin');
  await page.keyboard.press('Control+z');
  await page.getByText('Renamed ä #%.bin to d.bin').waitFor();
  await page.locator('a:focus', { hasText: 'd.bin' }).waitFor();
  assert.equal(readFileSync(inHome('d.bin'), 'utf8'), 'd.bin');
  await rename('d.bin', 'e.bin');
  writeFileSync(inHome('d.bin'), 'somebody else');
  await page.keyboard.press('Control+z');
  await page.getByText('“Undo” did not work: e.bin: This name is taken already.').waitFor();
  assert.equal(readFileSync(inHome('e.bin'), 'utf8'), 'd.bin');
});

browserTest('on a slow line, the row of an item that is being deleted is faded, without a dialog over the page', async (t) => {
  const server = await startServer(t, { account: { trash: { days: 30 } } });
  for (const name of ['a.bin', 'b.bin']) writeFileSync(join(server.home, name), name);
  const page = await openFolder(t, server);
  let answer = () => {};
  const isAsked = new Promise<void>((asked) => {
    void page.route('**/home/', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      asked();
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      await route.continue();
    });
  });
  await page.getByRole('link', { name: 'a.bin' }).focus();
  await page.keyboard.press('Delete');
  await isAsked;
  await page.locator('tr[inert]', { hasText: 'a.bin' }).waitFor();
  // Dialogs about several items appear after half a second.
  await page.waitForTimeout(1000);
  assert.equal(await page.getByRole('dialog').count(), 0);
  answer();
  await page.getByText('Moved a.bin to the trash').waitFor();
  await page.locator('tbody a:focus', { hasText: 'b.bin' }).waitFor();
});

browserTest(
  'without a connection, an action names itself and its items, keeps the selection and the focus, and can be tried again',
  async (t) => {
    const server = await startServer(t, { account: { trash: { days: 7 } } });
    for (const name of ['a.txt', 'b.txt', 'c.txt']) writeFileSync(join(server.home, name), name);
    const page = await openFolder(t, server, { expectedErrors: /ERR_INTERNET_DISCONNECTED/ });
    const notices = page.locator('#notices');
    const again = notices.getByRole('button', { name: 'Try again' });
    const cut = (isOffline: boolean) => page.context().setOffline(isOffline);
    await page.getByRole('link', { name: 'b.txt' }).focus();
    await cut(true);
    await page.keyboard.press('Delete');
    await notices.getByText('b.txt could not be deleted: no connection').waitFor();
    await page.locator('a:focus', { hasText: 'b.txt' }).waitFor();
    await page.getByLabel('Select a.txt').check();
    await page.getByLabel('Select b.txt').check();
    const remove = page.locator('#actions').getByRole('button', { name: 'Delete' });
    await remove.click();
    await notices.getByText('2 items could not be deleted: no connection').waitFor();
    await page.locator('#actions button:focus', { hasText: 'Delete' }).waitFor();
    assert.equal(await page.locator('tbody :checked').count(), 2, 'the selection stays');
    assert.equal(await again.count(), 1, 'a message of an earlier attempt is removed');
    await cut(false);
    await again.click();
    await notices.getByText('Moved 2 items to the trash').waitFor();
    assert.equal(await again.count(), 0, 'the message about the failure is gone');
    await page.getByText('a.txt').waitFor({ state: 'detached' });

    await cut(true);
    await page.keyboard.press('Control+z');
    await notices.getByText('“Undo” did not work: no connection').waitFor();
    await cut(false);
    await again.click();
    await notices.getByText('Restored 2 items').waitFor();
    await page.getByRole('link', { name: 'a.txt' }).waitFor();

    await cut(true);
    await page.getByLabel('Select c.txt').check();
    await page.locator('#actions').getByRole('button', { name: 'Move' }).click();
    await notices.getByText('c.txt could not be moved: no connection').waitFor();
    await cut(false);
    await again.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await cut(true);
    await page.getByRole('link', { name: 'c.txt' }).click();
    await notices.getByText('c.txt could not be opened: no connection').waitFor();
    await cut(false);
    await again.click();
    await page.getByRole('dialog').getByText('c.txt').first().waitFor();
    assert.equal(await again.count(), 0);
  },
);

browserTest('after a failure that can pass, the page offers to try again; after others, it does not', async (t) => {
  const server = await startServer(t, { account: { trash: { days: 7 } }, service: { webdav_compatibility: true } });
  writeFileSync(join(server.home, 'a.txt'), '');
  const headers = { 'user-agent': 'WebDAVFS/3.0.0 (03008000) Darwin/21.6.0', depth: '0' };
  const scope = '<D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype>';
  const body = `<?xml version="1.0"?><D:lockinfo xmlns:D="DAV:">${scope}</D:lockinfo>`;
  const locked = await server.send('LOCK', '/home/a.txt', { headers, body });
  assert.equal(locked.status, 200);
  const page = await openFolder(t, server, { expectedErrors: /50[37]|403/ });
  const notices = page.locator('#notices');
  const again = notices.getByRole('button', { name: 'Try again' });
  await page.getByLabel('Select a.txt').check();
  const remove = () => page.locator('#actions').getByRole('button', { name: 'Delete' }).click();
  for (const [status, reason, count] of [
    [503, 'the server refused it (503)', 1],
    [403, 'you have no permission for this', 0],
    [507, 'the storage is full', 0],
  ] as const) {
    const refuse = (route: Route) => (route.request().method() === 'POST' ? route.fulfill({ status }) : route.continue());
    await page.route('**/home/', refuse);
    await remove();
    await notices.getByText(`a.txt could not be deleted: ${reason}`).waitFor();
    assert.equal(await again.count(), count, String(status));
    await page.unroute('**/home/', refuse);
  }
  await remove();
  await notices.getByText('a.txt could not be deleted: The path is locked.').waitFor();
  const unlock = { ...headers, 'lock-token': String(locked.headers['lock-token']) };
  assert.equal((await server.send('UNLOCK', '/home/a.txt', { headers: unlock })).status, 204);
  await again.click();
  await notices.getByText('Moved a.txt to the trash').waitFor();
  assert.equal(await again.count(), 0);
});
