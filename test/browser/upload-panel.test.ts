import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Locator } from 'playwright-core';
import { login, openBrowser } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

const file = (name: string, size = 1) => ({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'x') });

test('the panel tells of what is under way: it stands first, by files and bytes, from the beginning', async (t) => {
  const server = await startServer(t);
  const page = await openBrowser(t);
  if (!page) return;
  await login(page, server.url);
  const field = page.locator('#tools input[type=file]').first();
  await field.setInputFiles([file('large.bin', 3_000_000), file('b.txt')]);
  await page.getByText('2 files were uploaded.').waitFor({ state: 'attached' });
  const total = page.locator('.queue').getByLabel('All uploads');
  assert.equal(await total.getAttribute('value'), '1');

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
  assert.equal(await page.locator('.queue li').first().getAttribute('class'), 'running');
  assert.match((await page.locator('.queue li').first().textContent()) ?? '', /held\.txt/);
  letGo();
  await page.getByText('4 files were uploaded.').waitFor({ state: 'attached' });
});

for (const width of [360, 1280]) {
  test(`the panel leaves the actions of the selection alone, ${width} px`, async (t) => {
    const server = await startServer(t);
    for (let index = 10; index < 50; index++) writeFileSync(join(server.home, `f${index}.txt`), 'x');
    const page = await openBrowser(t, { viewport: { width, height: 640 } });
    if (!page) return;
    await login(page, server.url);
    await page
      .locator('#tools input[type=file]')
      .first()
      .setInputFiles(Array.from({ length: 12 }, (_, index) => file(`up${index}.txt`)));
    await page.getByText('12 files were uploaded.').waitFor({ state: 'attached' });
    await page.getByRole('checkbox', { name: 'f10.txt' }).check();
    const [actions, panel] = await Promise.all(['#actions', '.queue'].map((selector) => boxOf(page.locator(selector))));
    assert.ok(actions && panel);
    const isApart = actions.bottom <= panel.top || actions.right <= panel.left;
    assert.ok(isApart, JSON.stringify({ actions, panel }));
    assert.ok(actions.top > 200 && actions.bottom <= 640 && panel.bottom <= 640, JSON.stringify({ actions, panel }));
    // The last row can be seen above both.
    await page.getByRole('link', { name: 'up9.txt' }).scrollIntoViewIfNeeded();
    await page.keyboard.press('Escape');
    await page.locator('html').evaluate((root) => root.scrollTo(0, root.scrollHeight));
    const row = await boxOf(page.getByRole('link', { name: 'up9.txt' }));
    assert.ok(row.bottom <= panel.top || row.right <= panel.left, JSON.stringify({ row, panel }));
  });
}

async function boxOf(element: Locator) {
  const box = await element.boundingBox();
  assert.ok(box);
  return { left: box.x, right: box.x + box.width, top: box.y, bottom: box.y + box.height };
}

test('without a connection an upload fails for that reason, and nobody is asked to sign in', async (t) => {
  const server = await startServer(t);
  const page = await openBrowser(t, { expectedErrors: /ERR_/ });
  if (!page) return;
  await login(page, server.url);
  await page.context().setOffline(true);
  const listing = page.waitForEvent('requestfailed', (request) => request.method() === 'GET');
  await page.locator('#tools input[type=file]').first().setInputFiles(file('a.txt'));
  await page.locator('.queue li.failed').getByText('the connection was lost').waitFor();
  await listing;
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.context().setOffline(false);
  await page.getByRole('button', { name: 'Try all again' }).click();
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
});
