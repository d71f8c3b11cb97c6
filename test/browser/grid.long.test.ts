import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Request, Route } from 'playwright-core';
import { assertAccessible, browserTest, login, openBrowser, openFolder } from '../support/browser.ts';
import { jpegWithThumbnail, plainPng, pngHead } from '../support/pictures.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';

browserTest('list or grid can be chosen with and without scripts, and the grid is kept when another page is opened', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  writeFileSync(join(server.home, 'a.txt'), 'x');
  for (const javaScriptEnabled of [false, true]) {
    const page = await openFolder(t, server, { javaScriptEnabled, viewport: { width: 320, height: 640 } });
    const grid = page.locator('table.grid');
    assert.equal(await grid.count(), 0);
    await page.getByRole('link', { name: 'Show as a grid' }).click();
    await grid.waitFor();
    if (javaScriptEnabled) await assertAccessible(page, 'the grid');
    await page.goto(`${server.url}/home/Folder/`);
    await page.goto(`${server.url}/home/`);
    await grid.waitFor();
    await page.getByRole('checkbox', { name: 'Select a.txt' }).check();
    await page.getByRole('link', { name: 'Show as a list' }).click();
    await grid.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Folder' }).click();
    await page.waitForURL('**/Folder/');
  }
});

browserTest('in the grid, a menu sorts by name, size or time, and reverses the order', async (t) => {
  const server = await startServer(t);
  for (const [name, size] of [
    ['a.bin', 2],
    ['b.bin', 9],
    ['c.bin', 5],
  ] as const)
    writeFileSync(join(server.home, name), Buffer.alloc(size));
  for (const javaScriptEnabled of [false, true]) {
    const page = await openFolder(t, server, { javaScriptEnabled }, '/home/?sort=name&order=asc');
    await page.getByRole('link', { name: 'Show as a grid' }).click();
    await page.locator('table.grid').waitFor();
    const choose = async (opened: string, column: string, order: string) => {
      await page.locator('summary', { hasText: `Sort: ${opened}` }).click();
      await page.locator('.sort').getByRole('link', { name: column, exact: true }).click();
      const rows = page.locator('tbody tr', { hasText: '.bin' });
      await until(
        `sorted by ${column}`,
        async () => (await rows.allInnerTexts()).map((row) => /([abc])\.bin/.exec(row)?.[1]).join('') === order,
      );
    };
    await choose('Name', 'Name', 'cba');
    await choose('Name', 'Size', 'bca');
    await choose('Size', 'Size', 'acb');
    await page.locator('summary', { hasText: 'Sort: Size' }).waitFor();
    await page.getByRole('link', { name: 'Show as a list' }).click();
    await page.locator('table.grid').waitFor({ state: 'detached' });
  }
});

browserTest('thumbnails are embedded previews or scaled pictures, six at a time; other or too large files get none', async (t) => {
  const server = await startServer(t);
  const put = (name: string, content: Buffer) => writeFileSync(join(server.home, name), content);
  for (let index = 0; index < 20; index++) put(`p${index}.png`, plainPng(400, 200, [200, 10, 10]));
  const inside = plainPng(160, 120, [10, 200, 10]);
  put(
    'camera.jpg',
    Buffer.concat([
      jpegWithThumbnail({ width: 3000, height: 4000, orientation: 6, thumbnail: inside, isLittle: true }),
      Buffer.alloc(9_000_000),
    ]),
  );
  put('bomb.png', Buffer.concat([pngHead(30_000, 30_000), Buffer.alloc(300_000)]));
  put('liar.png', Buffer.from('<svg onload="owned = 1">'));
  const page = await openBrowser(t, { viewport: { width: 1280, height: 2000 } });
  const under = new Set<Request>();
  const asked = new Map<string, string[]>();
  let most = 0;
  page.on('request', (request: Request) => {
    if (!request.url().endsWith('?inline')) return;
    under.add(request);
    most = Math.max(most, under.size);
    const name = new URL(request.url()).pathname.split('/').at(-1) ?? '';
    asked.set(name, [...(asked.get(name) ?? []), request.headers().range ?? 'whole']);
  });
  page.on('requestfinished', (request: Request) => under.delete(request));
  page.on('requestfailed', (request: Request) => under.delete(request));
  await login(page, server.url);
  await page.getByRole('link', { name: 'Show as a grid' }).click();
  await page.locator('.thumbnail').nth(20).waitFor({ state: 'attached' });
  assert.ok(most <= 6, `${most} thumbnails at a time`);
  const look = (name: string) =>
    page.evaluate<[number, number, number[]]>(`(() => {
      const canvas = [...document.querySelectorAll('tr')].find((row) => row.innerText.includes('${name}')).querySelector('canvas');
      const { data } = canvas.getContext('2d').getImageData(canvas.width / 2, canvas.height / 2, 1, 1);
      return [canvas.width, canvas.height, [...data]];
    })()`);
  assert.deepEqual(await look('p0.png'), [320, 160, [200, 10, 10, 255]]);
  assert.deepEqual(
    await look('camera.jpg'),
    [320, 240, [10, 200, 10, 255]],
    'the thumbnail is rotated by the orientation that the camera stored',
  );
  assert.deepEqual(asked.get('camera.jpg'), ['bytes=0-131071'], 'only the beginning of a picture of 9 MB is read');
  assert.deepEqual(asked.get('bomb.png'), ['bytes=0-131071'], 'only the beginning of a picture with too many pixels is read');
  assert.equal(await page.locator('tr', { hasText: 'liar.png' }).locator('canvas').count(), 0);
});

browserTest('at most six pictures and films are requested at a time', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 6; index++) {
    writeFileSync(join(server.home, `a${index}.png`), plainPng(40, 30, [200, 10, 10]));
    writeFileSync(join(server.home, `b${index}.mp4`), 'no film');
  }
  const page = await openBrowser(t, { viewport: { width: 1280, height: 1600 }, expectedErrors: /ERR_FAILED/ });
  const held: Route[] = [];
  const asked = () => new Set(held.map((route) => new URL(route.request().url()).pathname)).size;
  await page.route(/\.(png|mp4)(\?inline)?$/, (route) => void held.push(route));
  await login(page, server.url);
  await until('six files are requested', () => asked() === 6);
  await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))');
  for (let answered = 0; answered < 12; answered++) {
    await until('the next file is requested', () => held.length > answered);
    assert.ok(asked() - answered <= 6, `${asked()} requested, ${answered} answered`);
    const route = held[answered];
    // A film is first requested by HEAD. This request is aborted, so that the film is not loaded.
    await (route?.request().method() === 'HEAD' ? route.abort() : route?.continue());
  }
  await page.locator('canvas.thumbnail').nth(5).waitFor({ state: 'attached' });
  assert.equal(asked(), 12, 'all twelve were requested');
});
