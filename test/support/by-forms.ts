import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { type BrowserOptions, loginByForm, openBrowser, openMenu } from './browser.ts';
import { startServer } from './server.ts';
import { temporaryFolder } from './temp.ts';

/** Uses all forms of a listing without scripts. */
export async function assertAllByForms(t: TestContext, look: Pick<BrowserOptions, 'viewport' | 'colorScheme'>): Promise<void> {
  const server = await startServer(t, { service: { triggers: ['Approve, success'] } });
  mkdirSync(join(server.home, 'Reports'));
  for (const [file, size] of [
    ['small.txt', 10],
    ['large.txt', 9000],
  ] as const)
    writeFileSync(join(server.home, file), 'x'.repeat(size));
  const page = await openBrowser(t, { ...look, javaScriptEnabled: false, expectedErrors: /400/ });

  await loginByForm(page, server.url, '/home/Reports/');
  assert.equal(new URL(page.url()).pathname, '/home/Reports/', 'the login leads to the wanted page');
  await page.getByLabel('Upload files').setInputFiles([
    { name: 'one.txt', mimeType: 'text/plain', buffer: Buffer.from('1') },
    { name: 'two.txt', mimeType: 'text/plain', buffer: Buffer.from('2') },
  ]);
  await page.getByRole('button', { name: 'Upload', exact: true }).click();
  await page.getByText('2 files were uploaded.').waitFor();
  assert.equal(readFileSync(join(server.home, 'Reports/two.txt'), 'utf8'), '2');

  await page.getByLabel('New folder').fill('Inner & <more>');
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByText('The folder was created.').waitFor();
  await page.getByRole('link', { name: 'Inner & <more>' }).click();
  await page.getByText('This folder is empty.').waitFor();
  await page.getByRole('navigation').getByRole('link', { name: 'Files' }).click();

  const names = () => page.locator('td:nth-child(2)').allInnerTexts();
  assert.deepEqual(await names(), ['Reports', 'large.txt', 'small.txt']);
  await page.getByRole('link', { name: 'Size' }).click();
  assert.deepEqual(await names(), ['Reports', 'large.txt', 'small.txt'], 'the largest file comes first');
  await page.locator('.sort summary').click();
  await page.locator('.sort [aria-current]', { hasText: 'Folders first' }).click();
  await page.waitForURL('**folders=mixed');
  assert.deepEqual(await names(), ['large.txt', 'small.txt', 'Reports']);
  await page.goto(`${server.url}/home/`);
  assert.deepEqual(await names(), ['large.txt', 'small.txt', 'Reports'], 'the choice is kept');

  await page.getByLabel('Select small.txt').check();
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as ZIP' }).click();
  const zipPath = join(temporaryFolder(t), 'members.zip');
  await (await download).saveAs(zipPath);
  const zip = readFileSync(zipPath);
  assert.ok(zip.includes('small.txt') && zip.subarray(0, 2).toString() === 'PK');
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Ran “Approve” for small.txt.').waitFor();

  await page.getByLabel('Select small.txt').check();
  await page.getByLabel('Select Reports').check();
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('heading', { name: 'Delete these 2 items?' }).waitFor();
  assert.deepEqual(
    await page.locator('form.row').locator('a, button').allInnerTexts(),
    ['Cancel', 'Delete'],
    'the same order as in dialogs',
  );
  assert.ok(existsSync(join(server.home, 'small.txt')), 'the question deletes nothing');
  assert.match(await page.locator('.doomed').innerText(), /Reports\s+with everything in it/);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('2 items were deleted.').waitFor();
  assert.deepEqual(readdirSync(server.home), ['large.txt']);

  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('Select files or folders first.').waitFor();
  await page.getByRole('link', { name: 'Back to the folder' }).click();

  await openMenu(page);
  await page.getByRole('button', { name: 'Dark' }).click();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark');
  await openMenu(page);
  await page.getByRole('button', { name: 'Deutsch' }).click();
  await page.getByRole('columnheader', { name: 'Geändert' }).waitFor();
  await openMenu(page);
  await page.getByRole('button', { name: 'English' }).click();
  await openMenu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  assert.equal(await page.locator('html').getAttribute('data-theme'), 'dark', 'the colours stay');
}
