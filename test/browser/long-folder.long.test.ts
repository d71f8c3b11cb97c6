import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { startServer, type TestServer } from '../support/server.ts';

const count = 600;
const nameAt = (index: number) => `file-${index}.${['txt', 'png', 'bin'][index % 3]}`;
const last = nameAt(count - 1);

/** Names whose characters HTML can write in several ways. They are sorted last. */
const strange = ['z "q" <b>&amp;.txt', 'z \u0007bell', 'z \u202egnp.exe', "z 'ä'"];
const all = count + strange.length;

/** Upper limit for the rows in the document: those in a window of 800 px, and those kept ready above and below it. */
const maxPlaced = 60;

/** Creates a folder with 604 files. Its page is sent without most of its rows. */
function fill(server: TestServer): void {
  const folder = join(server.home, 'long');
  mkdirSync(folder);
  for (let index = 0; index < count; index++) writeFileSync(join(folder, nameAt(index)), 'x'.repeat(index * 7));
  for (const name of strange) writeFileSync(join(folder, name), '');
}

/** Script that returns the rows of the document in a common form, to compare rows of the service with rows that the page adds. */
const rowsInPage = `[...document.querySelectorAll('#list tbody tr')].map((row) => row.ariaRowIndex + [...row.cells].map((cell) =>
  cell.innerHTML.replace(/<\\/?bdi>/g, '').replace(/(<input|<a)([^>]*)>/g, (_, tag, rest) => tag + rest.trim().split(/ (?=[a-z-]+=)/).sort().join(' '))).join('|'))`;

browserTest('rows of a long folder that the script adds are like those of the service, and all actions on rows work', async (t) => {
  const server = await startServer(t);
  fill(server);
  const page = await openFolder(t, server, {}, '/home/long/');
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  const rowsAtTheEnd = async () => {
    await page.locator('#list[aria-rowcount]').waitFor();
    await page.keyboard.press('ArrowDown');
    await until('the last row has arrived', async () => {
      await page.keyboard.press('End');
      return (await focused()).startsWith('z');
    });
    await page.locator('tbody tr').nth(30).locator('td.more').waitFor({ state: 'attached' });
    return page.evaluate<string[]>(rowsInPage);
  };
  const written = await rowsAtTheEnd();
  await page.goto(`${server.url}/home/long/?rows=all`);
  const sent = await rowsAtTheEnd();
  assert.deepEqual(written.slice(-30), sent.slice(-30));

  await page.goto(`${server.url}/home/long/?preview=${nameAt(597)}`);
  await page.locator('dialog h2', { hasText: nameAt(597) }).waitFor();
  await page.keyboard.press('Escape');
  await until('the file has the focus', async () => (await focused()) === nameAt(597));
  await until('the last row is there', async () => {
    await page.keyboard.press('End');
    return (await focused()).startsWith('z');
  });

  // "Select all" also selects the rows that arrive later. A row that is deselected before they arrive stays deselected.
  let letRowsCome = () => {};
  const areLetCome = new Promise<void>((resolve) => {
    letRowsCome = resolve;
  });
  await page.route('**/*rows=lines', async (route) => {
    await areLetCome;
    await route.continue();
  });
  await page.goto(`${server.url}/home/long/`);
  await page.getByLabel('Select all').check();
  await page.getByLabel(`Select ${nameAt(1)}`, { exact: true }).uncheck();
  letRowsCome();
  await page.getByText(`${all - 1} selected`).waitFor();

  await page.keyboard.press('Control+a');
  await page.getByText(`${all} selected`).waitFor();
  const download = page.waitForEvent('request', (request) => request.method() === 'POST');
  await page.getByRole('button', { name: 'Download as ZIP' }).click();
  const names = [...((await download).postData() ?? '').matchAll(/name="selected-members"/g)];
  assert.equal(names.length, all, 'the form sends the names of all rows');
  await page.keyboard.press('Escape');

  await page.getByRole('searchbox').fill('file-599');
  await page.getByText('1 match').waitFor({ state: 'attached' });
  await page.getByLabel(`Select ${last}`).check();
  await page.getByText('1 selected').waitFor({ state: 'attached' });
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await page.getByText('No name here contains this text.').waitFor();
  assert.equal(readdirSync(join(server.home, 'long')).length, all - 1);

  await page.getByRole('searchbox').fill('file-598');
  await page.getByLabel(`Select ${nameAt(598)}`).check();
  await page.getByRole('link', { name: 'Files' }).last().click();
  await page.waitForURL('**/home/');
  await page.goBack();
  await page.getByText('1 selected').waitFor({ state: 'attached' });
  assert.equal(await page.locator('tbody tr:visible').count(), 1, 'filter and selection are as they were');
});

browserTest('a long folder has only the rows near the window and the focused row in the document; Control+F adds all', async (t) => {
  const server = await startServer(t);
  fill(server);
  const page = await openFolder(t, server, {}, '/home/long/');
  /** Returns the value of `expression` for each row in the document. */
  const ofRows = <T>(expression: string) =>
    page.evaluate<T[]>(`[...document.querySelectorAll('#list tbody tr')].map((row) => ${expression})`);
  const names = () => ofRows<string>('row.cells[1].textContent');
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  const inSight = async () => {
    const isSeen = 'row.getBoundingClientRect().bottom > 0 && row.getBoundingClientRect().top < innerHeight';
    return (await ofRows<string>(`${isSeen} ? row.cells[1].textContent : ''`)).filter((name) => name !== '');
  };
  const scrollTo = (part: number) => page.evaluate(`scrollTo(0, document.documentElement.scrollHeight * ${part})`);
  await page.keyboard.press('ArrowDown');
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), nameAt(1));
  // Once this number is shown, all rows have arrived.
  await page.keyboard.press('Control+a');
  await page.getByText(`${all} selected`).waitFor();
  assert.equal(await page.locator('#list').getAttribute('aria-rowcount'), String(all + 1));
  for (const part of [0.5, 1, 0.25]) {
    await scrollTo(part);
    // The rows arrive in parts.
    const awaited = part < 1 ? nameAt(Math.round(part * all)) : (strange.at(-1) as string);
    await until(`the rows at ${part} of the height are shown`, async () => {
      const seen = await inSight();
      return seen.length > 10 && seen.includes(awaited);
    });
    assert.ok((await names()).length <= maxPlaced, `${(await names()).length} rows`);
    assert.ok((await ofRows<boolean>('row.cells[0].firstChild.checked')).every(Boolean), 'each row is selected');
    assert.equal(await focused(), nameAt(1), 'the focus stays in its row');
  }
  await assertAccessible(page, 'a part of a long folder');
  const places = await ofRows<string>('row.ariaRowIndex + row.cells[1].textContent');
  assert.ok(places.includes(`152${nameAt(150)}`), `${places}`);
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), nameAt(2));
  await until('a key leads back to the focused row', async () => (await inSight()).includes(nameAt(2)));

  await page.getByRole('searchbox').fill('file-59');
  await page.getByText('11 matches').waitFor();
  await until('all matches are visible', async () => (await inSight()).length === 11);
  assert.equal(await page.locator('#list').getAttribute('aria-rowcount'), '12');
  await page.getByRole('searchbox').fill('');

  await page.locator('#tools .to-grid').click();
  const tiles = () => ofRows<number>('Math.round(row.getBoundingClientRect().left)');
  await scrollTo(0.5);
  await until('some rows of tiles are there', async () => (await tiles()).length > 5 * new Set(await tiles()).size);
  const columns = new Set(await tiles()).size;
  assert.ok(columns > 3 && (await names()).length < 3 * maxPlaced, `${columns} columns, ${(await names()).length} tiles`);
  await page.locator('tbody a', { hasText: new RegExp(`^${nameAt(300)}`) }).focus();
  await page.keyboard.press('ArrowDown');
  assert.equal(await focused(), nameAt(300 + columns));
  await page.locator('#tools .to-list').click();

  // The browser's own search covers the whole document.
  await page.keyboard.press('Control+f');
  await page
    .locator('tbody tr')
    .nth(all - 1)
    .waitFor({ state: 'attached' });
});

browserTest('without scripts a long folder is one page', async (t) => {
  const server = await startServer(t);
  fill(server);
  const page = await openFolder(t, server, { javaScriptEnabled: false }, '/home/long/');
  await page.waitForURL('**/home/long/?rows=all');
  assert.equal(await page.locator('tbody tr').count(), all);
});
