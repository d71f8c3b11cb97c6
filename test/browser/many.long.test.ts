import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { drop, login, openBrowser } from '../support/browser.ts';
import { startServer, type TestServer } from '../support/server.ts';
import { assertSmooth } from '../support/smooth-listing.ts';

/** A folder of 230 files on the "desktop": browsers hand over at most 100 entries of a folder at a time. */
function makeFolder(server: TestServer, sizeBytes: number): string {
  const folder = join(server.folder, 'source/many');
  mkdirSync(folder, { recursive: true });
  for (let index = 0; index < 230; index++) writeFileSync(join(folder, `f${index}.txt`), `${index}`.padEnd(sizeBytes, ' '));
  return folder;
}

test('a dropped folder of 230 files arrives whole', async (t) => {
  const server = await startServer(t);
  const folder = makeFolder(server, 100);
  const page = await openBrowser(t);
  if (!page) return;
  await login(page, server.url);
  await drop(page, [folder]);
  await page.getByText('230 files were uploaded.').waitFor({ state: 'attached', timeout: 90_000 });
  const arrived = readdirSync(join(server.home, 'many'));
  assert.equal(arrived.length, 230);
  for (const name of arrived)
    assert.equal(readFileSync(join(server.home, 'many', name), 'utf8'), readFileSync(join(folder, name), 'utf8'), name);
  await page.getByRole('link', { name: 'many' }).click();
  await page.getByText('230 items').waitFor({ state: 'attached' });
});

test('all uploads are cancelled at once: what arrived is whole, the rest is not there', async (t) => {
  const server = await startServer(t);
  const folder = makeFolder(server, 20_000);
  const page = await openBrowser(t, { expectedErrors: /ERR_/ });
  if (!page) return;
  await login(page, server.url);
  const session = await page.context().newCDPSession(page);
  const speed = { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput: 200_000 };
  await session.send('Network.emulateNetworkConditions', speed);
  await drop(page, [folder]);
  await page.locator('.queue li.done').nth(2).waitFor();
  await page.getByRole('button', { name: 'Cancel all' }).click();
  await page.locator('.queue').getByRole('button', { name: 'Close' }).waitFor();
  assert.equal(await page.locator('.queue li.running, .queue li.waiting').count(), 0);
  await page.locator('.queue').getByRole('button', { name: 'Close' }).click();
  await page.getByRole('link', { name: 'many' }).click();
  await page.waitForURL('**/home/many/');
  const arrived = readdirSync(join(server.home, 'many')).filter((name) => !name.startsWith('.svc-'));
  assert.ok(arrived.length >= 3 && arrived.length < 230, `${arrived.length} arrived`);
  for (const name of arrived) assert.equal(readFileSync(join(server.home, 'many', name)).length, 20_000, name);
});

for (const count of [1000, 10_000]) test(`${count.toLocaleString('en')} entries stay smooth`, (t) => assertSmooth(t, count));
