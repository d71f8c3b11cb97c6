import assert from 'node:assert/strict';
import { browserTest, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { assertPanelApart } from '../support/window-sizes.ts';

const file = (name: string, size = 1) => ({ name, mimeType: 'text/plain', buffer: Buffer.alloc(size, 'x') });

browserTest('the panel tells of what is under way: it stands first, by files and bytes, from the beginning', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
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

browserTest('the panel leaves the actions of the selection alone, 360 px', (t) => assertPanelApart(t, { width: 360, height: 640 }));

browserTest('without a connection an upload waits for it, and nobody is asked to sign in', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /ERR_/ });
  // The part that sends files comes ahead.
  const isHere =
    "performance.getEntriesByType('resource').some(({ name, responseEnd }) => name.endsWith('/sending.js') && responseEnd > 0)";
  await until('the part is here', () => page.evaluate<boolean>(isHere));
  await page.context().setOffline(true);
  await page.locator('#tools input[type=file]').first().setInputFiles(file('a.txt'));
  await page.locator('.queue li.running').getByText('waiting for the connection').waitFor();
  assert.equal(await page.getByRole('dialog').count(), 0);
  await page.context().setOffline(false);
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
});
