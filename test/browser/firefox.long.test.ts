import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Download } from 'playwright-core';
import { assertAccessible, loginByForm, openMenu } from '../support/browser.ts';
import { workByKeyboard } from '../support/by-keyboard.ts';
import { openFirefox } from '../support/firefox.ts';
import { assertNeverAnew, assertUploaded, choose, largeFile, lineOf, reopen } from '../support/large-uploads.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { startUnreliableProxy } from '../support/unreliable-proxy.ts';

test('Firefox: sign in, filter, preview, upload, ZIP, rename, move, delete, sign out', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['alpha.txt', 'beta.txt', 'Übersicht.txt']) writeFileSync(join(server.home, name), `content of ${name}`);
  const page = await openFirefox(t);
  if (!page) return;
  const dialog = page.getByRole('dialog');
  await loginByForm(page, server.url);
  await assertAccessible(page, 'the listing');

  await page.getByLabel('Filter by name').fill('uber');
  await page.getByText('1 match').waitFor();
  assert.deepEqual(await page.locator('tbody tr:visible a').allInnerTexts(), ['Übersicht.txt']);
  await page.keyboard.press('Escape');

  await page.getByRole('link', { name: 'alpha.txt' }).click();
  await dialog.getByText('content of alpha.txt').waitFor();
  await assertAccessible(page, 'a preview');
  await page.goBack();
  await dialog.waitFor({ state: 'detached' });
  assert.equal(new URL(page.url()).pathname, '/home/', 'Back closes the preview');

  const source = join(server.folder, 'source.txt');
  writeFileSync(source, 'new');
  const chooser = page.waitForEvent('filechooser');
  await page.getByRole('button', { name: 'Upload files' }).click();
  await (await chooser).setFiles(source);
  await page.getByRole('link', { name: 'source.txt' }).waitFor();
  assert.equal(readFileSync(join(server.home, 'source.txt'), 'utf8'), 'new');

  await page.getByLabel('Select alpha.txt').check();
  const download: Promise<Download> = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download as ZIP' }).click();
  assert.match((await download).suggestedFilename(), /\.zip$/);

  await page.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByLabel('New name').fill('renamed.txt');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'renamed.txt' }).waitFor();

  await page.getByLabel('Select renamed.txt').check();
  await page.getByRole('button', { name: 'Move' }).click();
  await dialog.getByRole('button', { name: 'Folder' }).click();
  await dialog.getByText('/Folder/').waitFor();
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByText('One item was moved.').waitFor();
  assert.ok(existsSync(join(server.home, 'Folder/renamed.txt')));
  // The rows are new ones by then.
  await page.getByRole('link', { name: 'renamed.txt' }).waitFor({ state: 'detached' });

  await page.getByLabel('Select beta.txt').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByRole('heading', { name: 'Delete this item?' }).waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText('One item was deleted.').waitFor();
  assert.deepEqual(readdirSync(server.home), ['Folder', 'source.txt', 'Übersicht.txt']);

  await openMenu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

test('Firefox: folders and files of any kind have an icon that is seen', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['a.txt', 'b.unknown']) writeFileSync(join(server.home, name), 'x');
  // The policy refuses the style that Playwright writes for a picture.
  const page = await openFirefox(t, { expectedErrors: /inline style/ });
  if (!page) return;
  await loginByForm(page, server.url);
  for (const name of ['Folder', 'a.txt', 'b.unknown']) {
    const link = page.getByRole('link', { name, exact: true });
    const box = await link.boundingBox();
    assert.ok(box);
    const clip = { ...box, width: 24 };
    const shown = await page.screenshot({ clip });
    await link.evaluate((element) => element.style.setProperty('--kind', 'transparent'));
    const without = await page.screenshot({ clip });
    assert.ok(!shown.equals(without), name);
  }
});

test('Firefox: everything without a mouse', async (t) => {
  const server = await startServer(t);
  const page = await openFirefox(t);
  if (page) await workByKeyboard(page, server);
});

test('Firefox: a large upload goes on by itself after a cut, and in the next page, once it is chosen again', async (t) => {
  const server = await startServer(t);
  const proxy = await startUnreliableProxy(t, server.port);
  const page = await openFirefox(t);
  if (!page) return;
  await loginByForm(page, proxy.url);
  const { path, content } = largeFile(server, 'large.bin');
  proxy.troubles.push({ cutAfterBytes: 2_000_000 }, { holdAfterBytes: 3_000_000 });
  await choose(page, path);
  await until('it goes on', () => proxy.offsets.length === 2);
  const next = await reopen({ page, proxy });
  const offer = next.locator('.unfinished li');
  await offer.getByText(/^[\d.]+ MB of 12 MB$/).waitFor();
  await offer.locator('input[type=file]').setInputFiles(path);
  await lineOf(next, 'large.bin', 'done').waitFor();
  assertNeverAnew(proxy.offsets);
  await assertUploaded(server, 'large.bin', content);
});
