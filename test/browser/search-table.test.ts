import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { startServer } from '../support/server.ts';

browserTest('results are a table with their folders: this folder or everywhere, marked, sorted, each with a menu', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in/deep'), { recursive: true });
  for (const [name, size] of [
    ['Report 10.bin', 10],
    ['in/report 9.bin', 300],
    ['in/deep/My REPORT.bin', 20],
  ] as const)
    writeFileSync(join(server.home, name), Buffer.alloc(size));
  const page = await openFolder(t, server, {}, '/home/in/');
  const search = async (scope: string, count: number) => {
    await page.getByLabel('Where to search').selectOption(scope);
    await page.getByRole('searchbox').fill('report');
    await page.keyboard.press('Enter');
    await page.getByText(`${count} items were found.`).waitFor();
  };
  await search('This folder', 2);
  await search('Everywhere', 3);
  const names = () => page.locator('.found tbody tr td:first-child').allTextContents();
  const folders = () => page.locator('.found tbody tr td:nth-child(2)').allTextContents();
  assert.deepEqual((await folders()).sort(), ['/in', '/in/deep', 'Files']);
  assert.deepEqual(await page.locator('.found mark').allTextContents(), ['Report', 'report', 'REPORT']);
  await page.getByRole('button', { name: 'Name' }).click();
  assert.deepEqual(await names(), ['My REPORT.bin', 'report 9.bin', 'Report 10.bin'], 'in natural order');
  await page.getByRole('button', { name: 'Size' }).click();
  assert.deepEqual(await names(), ['report 9.bin', 'My REPORT.bin', 'Report 10.bin']);
  assert.equal(await page.getByRole('columnheader', { name: 'Size' }).getAttribute('aria-sort'), 'ascending');
  await assertAccessible(page, 'results');
  await page.getByRole('button', { name: 'Upload files' }).waitFor();
  await page.getByRole('button', { name: 'Actions for My REPORT.bin' }).click();
  await page.getByRole('menuitem', { name: 'Show in its folder' }).click();
  await page.waitForURL('**/home/in/deep/');
  const lines = await server.get('/home/in/?search=report&scope=everywhere', { headers: { accept: 'application/x-ndjson' } });
  assert.equal(lines.text.trim().split('\n').length, 3);
});

browserTest('results without scripts are the same table', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in'));
  writeFileSync(join(server.home, 'in/a report.txt'), 'x');
  writeFileSync(join(server.home, 'report.txt'), 'x');
  const page = await openFolder(t, server, { javaScriptEnabled: false }, '/home/in/');
  await page.getByLabel('Where to search').selectOption('Everywhere');
  await page.getByRole('searchbox').fill('report');
  await page.getByRole('button', { name: 'Search this folder' }).click();
  await page.getByRole('cell', { name: '/in', exact: true }).waitFor();
  assert.deepEqual(await page.locator('.found mark').allTextContents(), ['report', 'report']);
});
