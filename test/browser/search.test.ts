import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

/** Lets the test provide the results of a search one by one. */
const feed = `(() => {
  const real = window.fetch;
  window.fetch = (url, options) => {
    if (options?.headers?.accept !== 'application/x-ndjson') return real(url, options);
    const stream = new ReadableStream({
      start(controller) {
        window.feed = (line) => controller.enqueue(new TextEncoder().encode(line));
        window.endFeed = () => controller.close();
        options.signal.addEventListener('abort', () => { window.isAborted = true; controller.error(options.signal.reason); });
      },
    });
    return Promise.resolve(new Response(stream));
  };
})()`;

browserTest('a result leads to its place: a folder, a preview in its folder, a file; Back and Escape lead to the results', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'a/report x'), { recursive: true });
  for (const name of ['a/report <b>.txt', 'a/report.bin', 'a/other.txt', 'a/report.wav'])
    writeFileSync(join(server.home, name), 'some text');
  const page = await openFolder(t, server);
  await page.getByRole('searchbox').fill('report');
  await page.keyboard.press('Enter');
  await page.getByText('4 items were found.').waitFor();
  assert.equal(new URL(page.url()).search, '?search=report');
  await assertAccessible(page, 'what was found');
  const dialog = page.getByRole('dialog');
  const open = () => page.getByRole('link', { name: 'report <b>.txt' }).click();
  for (const close of [() => page.keyboard.press('Escape'), () => page.goBack()]) {
    await open();
    await dialog.getByText('some text').waitFor();
    assert.equal(page.url(), `${server.url}/home/a/?preview=report%20%3Cb%3E.txt`);
    await close();
    await page.getByText('4 items were found.').waitFor();
    assert.equal(await dialog.count(), 0);
  }
  for (const name of ['report.bin', 'report.wav'])
    assert.equal(await page.getByRole('link', { name }).getAttribute('href'), `/home/a/${name}`);
  await page.reload();
  await page.getByText('4 items were found.').waitFor();
  await open();
  await dialog.getByText('some text').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'report x' }).click();
  await page.waitForURL('**/home/a/report%20x/');
  await page.getByRole('searchbox').fill('nothing');
  await page.keyboard.press('Enter');
  await page.getByText('No name below this folder contains this.').waitFor();
});

browserTest('results are shown as they arrive; leaving the page ends the search', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), '');
  const page = await openBrowser(t);
  await page.addInitScript(feed);
  await login(page, server.url);
  const search = async () => {
    await page.evaluate('window.feed = undefined');
    await page.getByRole('searchbox').fill('x');
    await page.keyboard.press('Enter');
    // The content security policy forbids scripts in texts, so `waitForFunction` does not work here.
    await until('it is asked', () => page.evaluate<boolean>('window.feed !== undefined'));
  };
  await search();
  const line = (name: string) => `${JSON.stringify({ path: `/a b/${name}`, name, is_directory: false, modified: 1, size: 5 })}\n`;
  const give = (text: string) => page.evaluate(`feed(${JSON.stringify(text)})`);
  await give(line('1.txt') + line('2.txt').slice(0, 20));
  await page.getByRole('link', { name: '1.txt' }).waitFor();
  assert.equal(await page.locator('.found tbody tr').count(), 1);
  await give(line('2.txt').slice(20));
  await page.getByRole('link', { name: '2.txt' }).waitFor();
  assert.equal(await page.getByRole('link', { name: '2.txt' }).getAttribute('href'), '/home/a%20b/?preview=2.txt');
  assert.equal(await page.getByText('were found').count(), 0, 'it goes on');
  await give('{"truncated":true}\n');
  await page.evaluate('endFeed()');
  await page.getByText('2 items were found.').waitFor();
  await page.getByText('there may be more').waitFor();
  await search();
  await page.locator('.crumbs').getByRole('link', { name: 'Files' }).click();
  await page.locator('#list').waitFor();
  assert.equal(await page.evaluate('isAborted'), true);
});
