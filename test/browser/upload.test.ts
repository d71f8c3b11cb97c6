import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { assertAccessible, browserTest, openFolder } from '../support/browser.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { assertFoldersDropped } from '../support/window-sizes.ts';

const file = (name: string, content: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(content) });

async function choose(page: Page, files: ReturnType<typeof file>[]): Promise<void> {
  await page.locator('#tools input[type=file]').first().setInputFiles(files);
}

browserTest('chosen files are uploaded, are shown as done in the panel, and appear in the listing', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server);
  await choose(page, [file('a.txt', 'A'), file('b #?&.txt', 'B'), file('empty.txt', '')]);
  await page.getByText('3 files were uploaded.').waitFor({ state: 'attached' });
  await page.getByRole('link', { name: 'b #?&.txt' }).waitFor();
  assert.equal(readFileSync(join(server.home, 'b #?&.txt'), 'utf8'), 'B');
  await page.locator('.queue li.done').nth(2).waitFor();
  assert.equal(await page.locator('#receipt').count(), 0, 'receipts are for visitors of links');
  await assertAccessible(page, 'the queue');
  await page.locator('.queue').getByRole('button', { name: 'Close' }).click();
  await page.locator('.queue').waitFor({ state: 'hidden' });
});

browserTest('dropped folders arrive whole, 320 px', (t) => assertFoldersDropped(t, { width: 320, height: 640 }));

browserTest('if the name of an upload is taken, the user can skip, keep both or overwrite, and answer once for all files', async (t) => {
  const server = await startServer(t);
  for (const name of ['a.txt', 'b.txt', 'c.txt', 'd.txt']) writeFileSync(join(server.home, name), 'old');
  const page = await openFolder(t, server, { expectedErrors: /412/ });
  const answer = async (name: string, button: string, forAll = false) => {
    await choose(page, [file(name, 'new')]);
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('heading', { name }).waitFor();
    if (forAll) await dialog.getByLabel('Do the same').check();
    if (button === 'Skip') await assertAccessible(page, 'the question');
    await dialog.getByRole('button', { name: button }).click();
    await dialog.waitFor({ state: 'detached' });
  };
  await answer('a.txt', 'Skip');
  await page.locator('.queue header p', { hasText: /^one skipped$/ }).waitFor();
  assert.ok(await page.getByLabel('All uploads').isHidden(), 'no total progress is shown while nothing is uploaded');
  await answer('b.txt', 'Keep both');
  await page.getByRole('link', { name: 'b (2).txt' }).waitFor();
  await answer('c.txt', 'Overwrite');
  await page.locator('.queue li.done', { hasText: 'c.txt' }).waitFor();
  assert.deepEqual(
    ['a.txt', 'b.txt', 'b (2).txt', 'c.txt'].map((name) => readFileSync(join(server.home, name), 'utf8')),
    ['old', 'old', 'new', 'new'],
  );
  await choose(page, [file('a.txt', 'all'), file('b.txt', 'all'), file('d.txt', 'all')]);
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Do the same').check();
  await dialog.getByRole('button', { name: 'Keep both' }).click();
  for (const name of ['a (2).txt', 'b (3).txt', 'd (2).txt']) await page.getByRole('link', { name }).waitFor();
  assert.ok(existsSync(join(server.home, 'b (3).txt')), 'b (2).txt is taken as well');
  assert.equal(readFileSync(join(server.home, 'd.txt'), 'utf8'), 'old');
});

browserTest('a taken name is also reported if the refusal arrives during the upload', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'large.bin'), 'old');
  const page = await openFolder(t, server, { expectedErrors: /412|ERR_/ });
  const large = join(server.folder, 'large.bin');
  writeFileSync(large, Buffer.alloc(8_000_000));
  await page.locator('#tools input[type=file]').first().setInputFiles(large);
  await page.getByRole('dialog').getByRole('button', { name: 'Overwrite' }).click();
  await page.getByText('One file was uploaded.').waitFor({ state: 'attached' });
  assert.equal(readFileSync(join(server.home, 'large.bin')).length, 8_000_000);
});

browserTest('after a broken connection a small upload is repeated; a refused upload shows the reason and can be repeated', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /ERR_|404|507/ });
  let attempts = 0;
  await page.route('**/flaky.txt', (route) => (++attempts <= 2 ? route.abort('connectionreset') : route.continue()));
  await page.route('**/full.txt', (route) =>
    route.fulfill({ status: 507, contentType: 'application/json', body: '{"errors":[{"message":"The disk is full."}]}' }),
  );
  await choose(page, [file('flaky.txt', 'x'), file('full.txt', 'y'), file('good.txt', 'z')]);
  await page.locator('.queue li.failed', { hasText: 'The disk is full.' }).waitFor();
  await page.getByRole('link', { name: 'flaky.txt' }).waitFor();
  await page.getByText('One upload failed.').waitFor({ state: 'attached' });
  assert.equal(attempts, 3, 'the file is sent again after each broken connection');
  await page.unroute('**/full.txt');
  await page.getByRole('button', { name: 'Try again: full.txt' }).click();
  await page.getByRole('link', { name: 'full.txt' }).waitFor();
  assert.deepEqual(readdirSync(server.home), ['flaky.txt', 'full.txt', 'good.txt']);
});

browserTest('a running upload can be cancelled, leaves nothing behind and can be started again', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /ERR_/ });
  const session = await page.context().newCDPSession(page);
  const throttle = (uploadThroughput: number) =>
    session.send('Network.emulateNetworkConditions', { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput });
  await throttle(300_000);
  await choose(page, [file('big.bin', 'x'.repeat(2_000_000))]);
  await page
    .locator('.queue')
    .getByText(/\/s · .* left/)
    .waitFor();
  const value = Number(await page.locator('.queue li progress').getAttribute('value'));
  assert.ok(value >= 0 && value <= 1, `${value}`);
  await page.getByRole('button', { name: 'Cancel: big.bin' }).click();
  await page.locator('.queue li.cancelled').waitFor();
  await throttle(-1);
  assert.deepEqual(
    readdirSync(server.home).filter((name) => name === 'big.bin'),
    [],
  );
  await page.getByRole('button', { name: 'Try again: big.bin' }).click();
  await page.locator('.queue li.done').waitFor();
  assert.equal(readFileSync(join(server.home, 'big.bin')).length, 2_000_000);
});

browserTest('a file above file_write_size fails with the limit, in the language of the page, and is not sent', async (t) => {
  const server = await startServer(t, { group: { file_write_size: 1_500_000 } });
  for (const [locale, reason, width] of [
    ['en-GB', 'failed: larger than 1.5 MB, the largest size that is allowed here', 1280],
    ['de-DE', 'fehlgeschlagen: größer als 1,5 MB; größere Dateien sind hier nicht erlaubt', 320],
  ] as const) {
    const page = await openFolder(t, server, { locale, viewport: { width, height: 667 } });
    await choose(page, [file('large.bin', 'x'.repeat(1_500_001)), file(`${locale}.bin`, 'x'.repeat(1_500_000))]);
    await page.locator('.queue li.failed').getByText(reason).waitFor();
    await page.locator('.queue li.done', { hasText: `${locale}.bin` }).waitFor();
    if (width > 320) continue;
    // The failure has unfolded the panel. Once the user has folded it, another failure only changes its line.
    await page.getByRole('button', { name: 'Weniger zeigen' }).click();
    await choose(page, [file('large 2.bin', 'x'.repeat(1_500_001))]);
    const told = page.locator('.queue.folded header p', { hasText: '0 von 1 · eine fehlgeschlagen' });
    await told.waitFor();
    assert.ok(await told.evaluate((line) => line.scrollWidth <= line.clientWidth), 'no word is cut');
  }
  assert.equal((await server.events()).filter(({ id }) => id === '40022').length, 0);
});

browserTest('if the session has ended, an upload asks for the password in the page, and continues', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /401|ERR_/ });
  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  await server.send('POST', '/__svc__/logout', { user: null, headers: { cookie } });
  await choose(page, [file('one.txt', '1'), file('two.txt', '2'), file('large.bin', 'x'.repeat(3_000_000))]);
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Your session has ended.').waitFor();
  assert.equal(await dialog.getByLabel('User name').inputValue(), 'alice');
  await assertAccessible(page, 'the login dialog');
  await dialog.getByLabel('Password').fill('wrong');
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await dialog.getByText('The name or the password is not correct.').waitFor();
  await dialog.getByLabel('Password').fill(testPassword);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('3 files were uploaded.').waitFor({ state: 'attached' });
  assert.deepEqual(readdirSync(server.home), ['large.bin', 'one.txt', 'two.txt']);
});

browserTest('an upload that began before the sign-in, and is refused after it, is repeated without another question', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /401|ERR_/ });
  const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ');
  await server.send('POST', '/__svc__/logout', { user: null, headers: { cookie } });
  let letGo = () => {};
  const signedIn = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  await page.route(
    '**/late.txt',
    async (route) => {
      await signedIn;
      await route.fulfill({ status: 401, json: { errors: [] } });
    },
    { times: 1 },
  );
  const asked = async () => (await page.evaluate<number>('window.askedForPassword')) ?? 0;
  await page.evaluate(`new MutationObserver((changes) => {
    const added = changes.flatMap(({ addedNodes }) => [...addedNodes]);
    window.askedForPassword = (window.askedForPassword ?? 0) + added.filter((node) => node.matches('dialog')).length;
  }).observe(document.body, { childList: true })`);
  await choose(page, [file('late.txt', 'L'), file('early.txt', 'E')]);
  await page.getByRole('dialog').getByLabel('Password').fill(testPassword);
  await page.getByRole('dialog').getByRole('button', { name: 'Sign in' }).click();
  await page.locator('.queue li.done', { hasText: 'early.txt' }).waitFor();
  letGo();
  await page.locator('.queue li.done', { hasText: 'late.txt' }).waitFor();
  assert.equal(await asked(), 1);
  assert.deepEqual(readdirSync(server.home), ['early.txt', 'late.txt']);
});

browserTest('a file that arrived just before the connection was lost appears in the list after it is back', async (t) => {
  const server = await startServer(t);
  const page = await openFolder(t, server, { expectedErrors: /ERR_FAILED/ });
  let refused = 0;
  const folder = (url: URL) => url.pathname === '/home/';
  await page.route(folder, (route) => {
    refused++;
    return route.abort();
  });
  await choose(page, [file('late.txt', 'x')]);
  await until('the page asks for the list', () => refused > 0);
  assert.equal(await page.getByRole('link', { name: 'late.txt' }).count(), 0);
  await page.unroute(folder);
  await page.getByRole('link', { name: 'late.txt' }).waitFor();
});
