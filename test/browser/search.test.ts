import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Route } from 'playwright-core';
import { assertAccessible, boxesOf, browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
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

browserTest('a search result opens as a folder, a preview in its folder or a file; Back and Escape close the preview', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'a/report x'), { recursive: true });
  for (const name of ['a/report <b>.txt', 'a/report.bin', 'a/other.txt', 'a/report.wav'])
    writeFileSync(join(server.home, name), 'some text');
  const page = await openFolder(t, server);
  await page.getByRole('searchbox').fill('report');
  await page.keyboard.press('Enter');
  await page.getByText('4 items were found.').waitFor();
  assert.equal(new URL(page.url()).search, '?search=report');
  await assertAccessible(page, 'the results of a search');
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
  await page.getByRole('heading', { name: /: 4 results$/ }).waitFor();
  await open();
  await dialog.getByText('some text').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('link', { name: 'report x' }).click();
  await page.waitForURL('**/home/a/report%20x/');
  await page.getByRole('searchbox').fill('nothing');
  await page.keyboard.press('Enter');
  await page.getByText(/^Nothing found for “.+”$/).waitFor();
  await page.getByText('or a folder further up').waitFor();
});

browserTest('search results are shown as they arrive; leaving the results ends the search', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), '');
  const page = await openBrowser(t);
  await page.addInitScript(feed);
  await login(page, server.url);
  const search = async () => {
    await page.evaluate('window.feed = undefined');
    await page.getByRole('searchbox').fill('x');
    await page.keyboard.press('Enter');
    // The content security policy forbids code in strings (`eval`), so `waitForFunction` does not work here.
    await until('the search is requested', () => page.evaluate<boolean>('window.feed !== undefined'));
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
  assert.equal(await page.getByText('were found').count(), 0, 'the search continues');
  await give(line('10.txt') + line('1000.txt') + line('9.txt'));
  await give('{"truncated":true}\n');
  await page.evaluate('endFeed()');
  await page.getByText('5 items were found.', { exact: true }).waitFor();
  await page.getByText('5 items were found. The search ended').waitFor();
  await until('the results are in natural order', async () => {
    const shown = (await page.locator('.found tbody a[href*=preview]').allTextContents()).filter((text) => text.endsWith('.txt'));
    return shown.join() === '1.txt,2.txt,9.txt,10.txt,1000.txt';
  });
  const [notice, table] = await boxesOf(page.getByText('there may be more'), page.locator('.found'));
  assert.ok(notice && table && notice.top < table.top, 'the notice about the limit stands above the results');
  await search();
  await page.locator('.crumbs').getByRole('link', { name: 'Files' }).click();
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
  assert.equal(await page.evaluate('isAborted'), true);
});

browserTest('text that is typed over the results is searched, without Enter and without an entry in the history', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  for (const name of ['report.txt', 'in/report 2.txt', 'in/paper.txt']) writeFileSync(join(server.home, name), 'x');
  const page = await openFolder(t, server);
  const field = page.getByRole('searchbox');
  await field.fill('report');
  await page.keyboard.press('Enter');
  await page.getByText('2 items were found.').waitFor();
  const entries = await page.evaluate('history.length');
  await field.focus();
  await page.keyboard.press('End');
  await page.keyboard.type(' 2');
  await page.getByText('One item was found.').waitFor();
  assert.equal(new URL(page.url()).search, '?search=report+2');
  assert.equal(await page.title(), 'Search for “report 2” – Files');
  assert.equal(await page.locator('mark').innerText(), 'report 2');
  await page.getByRole('heading', { name: 'Search for “report 2”: 1 result', exact: true }).waitFor();
  await field.and(page.locator(':focus')).waitFor();
  await field.fill('pap');
  await page.getByRole('link', { name: 'paper.txt' }).waitFor();
  await field.fill('nothing');
  await page.getByText(/^Nothing found for “.+”$/).waitFor();
  await assertAccessible(page, 'results of another search without Enter');
  assert.equal(await page.evaluate('history.length'), entries);
  await page.reload();
  await page.getByText(/^Nothing found for “.+”$/).waitFor();
  await field.fill('paper');
  await page.getByText('One item was found.').waitFor();
  await page.goBack();
  await page.getByText('2 items', { exact: true }).waitFor();
});

browserTest('the cross, Escape, an emptied field and Back lead from search results to the folder', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  for (const name of ['in/report.txt', 'in/paper.txt']) writeFileSync(join(server.home, name), 'x');
  const page = await openFolder(t, server, {}, '/home/in/');
  const field = page.getByRole('searchbox');
  const search = async () => {
    await field.fill('report');
    await page.keyboard.press('Enter');
    await page.getByText('One item was found.').waitFor();
  };
  const isBack = () => page.getByText('2 items', { exact: true }).waitFor();
  await search();
  await page.getByRole('button', { name: 'Clear search' }).click();
  await isBack();
  assert.equal(new URL(page.url()).pathname + new URL(page.url()).search, '/home/in/');
  await page.locator('.filter:focus').waitFor();
  await search();
  await field.press('Escape');
  await isBack();
  await page.locator('.filter:focus').waitFor();
  await search();
  await page.getByRole('link', { name: 'Clear search' }).click();
  await isBack();
  await search();
  await page.goBack();
  await isBack();
  assert.equal(await field.inputValue(), '', 'the searched text does not filter the folder');
  await search();
  await field.press('Control+a');
  await page.keyboard.press('Backspace');
  await page.keyboard.type('paper');
  await page.getByText('1 match').waitFor();
  assert.equal(await field.inputValue(), 'paper', 'text typed meanwhile filters the folder');
  await page.getByRole('button', { name: 'Clear search' }).click();
  await isBack();
});

browserTest('the list does not move when a filter begins; on phones, the cross of the filter closes the field', async (t) => {
  const server = await startServer(t);
  for (const name of ['a1.txt', 'a2.txt', 'b.txt']) writeFileSync(join(server.home, name), 'x');
  for (const [width, locale] of [
    [1280, 'fr-FR'],
    [1024, 'en-GB'],
    [768, 'de-DE'],
  ] as const) {
    const wide = await openFolder(t, server, { viewport: { width, height: 667 }, locale });
    const top = () => wide.locator('#list thead').evaluate((head) => head.getBoundingClientRect().top);
    const before = await top();
    await wide.getByRole('searchbox').fill('a');
    await wide.locator('.matches .hint:not(:empty)').waitFor();
    assert.equal(await top(), before, `${width} px, ${locale}`);
  }
  const page = await openFolder(t, server, { viewport: { width: 375, height: 667 } });
  await page.getByRole('button', { name: 'Search', exact: true }).click();
  await page.getByRole('searchbox').fill('a');
  const found = await page.getByText('2 matches').boundingBox();
  assert.ok(found && found.height > 10 && found.width > 30, 'the number of matches is visible');
  await assertAccessible(page, 'a filter on a phone');
  await page.getByRole('button', { name: 'Clear search' }).click();
  await page.locator('.search-opener:focus').waitFor();
  await page.getByRole('link', { name: 'b.txt' }).waitFor();
  mkdirSync(join(server.home, 'sub'));
  for (const locale of ['en-GB', 'de-DE', 'es-ES', 'fr-FR']) {
    const small = await openFolder(t, server, { viewport: { width: 320, height: 640 }, locale }, '/home/sub/');
    await small.locator('.search-opener').click();
    const [cut, whole] = await small.evaluate<[number, number]>(`(() => {
      const select = document.querySelector('.search select');
      const width = select.offsetWidth;
      select.style.maxWidth = 'none';
      return [width, select.offsetWidth];
    })()`);
    assert.equal(cut, whole, `the scope of the search is not cut, ${locale}`);
  }
});

browserTest('if the searched folder is opened again before the code of the results has arrived, it is shown as usual', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), '');
  const page = await openFolder(t, server);
  const held: Route[] = [];
  await page.route('**/found.js', (route) => void held.push(route));
  await page.getByRole('searchbox').fill('a');
  await page.keyboard.press('Enter');
  await until('the code is requested', () => held.length === 1);
  await page.goBack();
  await page.getByText('1 item', { exact: true }).waitFor();
  const part = held[0]?.request().url();
  await held[0]?.continue();
  // This import ends after that of the page.
  await page.evaluate(`import(${JSON.stringify(part)})`);
  await page.getByRole('link', { name: 'a.txt' }).waitFor();
  assert.equal(await page.getByRole('button', { name: 'New folder' }).count(), 1);
  await page.getByLabel('Select a.txt').check();
  await page.getByText('1 selected').waitFor();
});
