import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { boxesOf, browserTest, login, openBrowser, openFolder, openMenu } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { assertPanelApart } from '../support/window-sizes.ts';

const file = (name: string, size = 1) => ({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'x') });

browserTest('the upload panel shows running uploads first, and the progress of all files by number and by bytes', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
  const field = page.locator('#tools input[type=file]').first();
  await field.setInputFiles([file('large.bin', 3_000_000), file('b.txt')]);
  await page.getByText('2 files were uploaded.').waitFor({ state: 'attached' });
  const total = page.locator('.queue').getByLabel('All uploads');
  // The panel is drawn in the next frame.
  await total.and(page.locator('[value="1"]')).waitFor();

  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/held.txt', async (route) => {
    await held;
    await route.continue();
  });
  await field.setInputFiles([file('c.txt', 1000), file('held.txt', 1000), file('d.txt', 1000), file('e.txt', 1000)]);
  await page.locator('.queue').getByText('3 of 4 files · 3 kB of 4 kB').waitFor();
  assert.equal(Number(await total.getAttribute('value')), 0.75);
  await page.locator('.queue li:first-child.running', { hasText: 'held.txt' }).waitFor();
  letGo();
  await page.getByText('4 files were uploaded.').waitFor({ state: 'attached' });
});

browserTest('in other folders and on the trash page, the upload panel stays until it is closed, and uploads continue', async (t) => {
  const server = await startServer(t, { group: { trash: { days: 30 } } });
  mkdirSync(join(server.home, 'other'));
  const page = await openFolder(t, server);
  let letGo = () => {};
  const held = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route('**/late.txt', async (route) => {
    await held;
    await route.continue();
  });
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles([file('soon.txt'), file('late.txt')]);
  const line = (name: string, state: string) => page.locator(`.queue li.${state}`, { hasText: name });
  await line('soon.txt', 'done').waitFor();
  const places = page.getByRole('navigation', { name: 'Places' });
  await places.getByRole('link', { name: 'Trash' }).click();
  await page.getByText('The trash is empty.').waitFor();
  assert.equal(await page.title(), 'Trash – Files');
  assert.equal(await places.getByRole('link', { name: 'Trash' }).getAttribute('aria-current'), 'page');
  letGo();
  await line('late.txt', 'done').waitFor();
  const menu = page.locator('#menu');
  await openMenu(page);
  await page.goBack();
  await page.getByRole('link', { name: 'late.txt' }).waitFor();
  await menu.waitFor({ state: 'hidden' });
  assert.equal(await places.locator('[aria-current]').count(), 0);
  await page.setViewportSize({ width: 1280, height: 400 });
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  const [last, panel] = await boxesOf(page.locator('#list tbody tr').last(), page.locator('.queue'));
  assert.ok(last && panel && last.bottom <= panel.top, 'the panel does not cover the last row');
  await page.setViewportSize({ width: 1280, height: 800 });
  await page.getByRole('link', { name: 'other' }).click();
  await page.getByText('This folder is empty.').waitFor();
  assert.equal(await page.locator('.queue li').count(), 2);
  const [box, content] = await boxesOf(page.locator('#count'), page.locator('#members'));
  assert.equal(box?.width, content?.width, 'the box of an empty folder is as wide as without the panel');
  const upload = page.locator('#count').getByRole('button', { name: 'Upload', exact: true });
  assert.equal(await upload.isVisible(), false);
  await page.setViewportSize({ width: 375, height: 667 });
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), upload.click()]);
  assert.ok(chooser.isMultiple());
  await openMenu(page);
  await menu.getByRole('link', { name: 'Trash' }).click();
  await page.getByText('The trash is empty.').waitFor();
  await menu.waitFor({ state: 'hidden' });
  await page.locator('h1:focus', { hasText: 'Trash' }).waitFor();
  await page.locator('.queue').getByRole('button', { name: 'Close' }).click();
  await page.locator('.queue').waitFor({ state: 'hidden' });
});

browserTest('the upload panel does not cover the actions of the selection, 360 px', (t) =>
  assertPanelApart(t, { width: 360, height: 640 }),
);

browserTest('without a connection an upload waits, and the page does not ask for a login', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /ERR_/ });
  // The module that sends files must be loaded before the connection is cut.
  const isHere =
    "performance.getEntriesByType('resource').some(({ name, responseEnd }) => name.endsWith('/sending.js') && responseEnd > 0)";
  await until('the module is loaded', () => page.evaluate<boolean>(isHere));
  await page.context().setOffline(true);
  await page.locator('#tools input[type=file]').first().setInputFiles(file('a.txt'));
  await page.locator('.queue li.running').getByText('waiting for the connection').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.context().setOffline(false);
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
});

browserTest('files that are chosen before the part for uploads is loaded wait for the connection, and are then sent', async (t) => {
  const server = await startServer(t);
  const page = await openBrowser(t, { expectedErrors: /ERR_/ });
  await page.route('**/sending.js*', (route) => route.abort());
  await login(page, server.url);
  await page
    .locator('#tools input[type=file]')
    .first()
    .setInputFiles([file('a.txt'), file('b.txt')]);
  const waiting = page.getByText('Upload of 2 files: waiting for the connection');
  await waiting.waitFor();
  await page.unrouteAll();
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
  await page.getByRole('link', { name: 'b.txt' }).waitFor();
  await waiting.waitFor({ state: 'detached' });
});
