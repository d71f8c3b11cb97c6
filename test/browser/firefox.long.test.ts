import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { type Browser, type Download, firefox } from 'playwright-core';
import { assertAccessible, type BrowserOptions, loginByForm, openMenu, openPage, type TestPage } from '../support/browser.ts';
import { workByKeyboard } from '../support/by-keyboard.ts';
import { assertNeverAnew, assertUploaded, choose, largeFile, lineOf, reopen } from '../support/large-uploads.ts';
import { until } from '../support/receiver.ts';
import { hasProgram } from '../support/requires.ts';
import { watchOutput } from '../support/secret-watch.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';
import { startUnreliableProxy } from '../support/unreliable-proxy.ts';

/** With these settings, requests of Firefox to the internet fail: no name resolves, and nothing listens at the port of the proxy. */
const nowhere = {
  'network.dns.disabled': true,
  'network.proxy.type': 1,
  'network.proxy.http': '127.0.0.1',
  'network.proxy.http_port': 9,
  'network.proxy.ssl': '127.0.0.1',
  'network.proxy.ssl_port': 9,
};

const file = { after };
let shared: Promise<Browser> | undefined;

/**
 * Opens a page of Debian's Firefox with its own cookies. The tests of a file share one browser.
 *
 * @returns undefined if the browser is not installed; the test is then skipped
 */
async function openFirefox(t: TestContext, options: BrowserOptions = {}): Promise<TestPage | undefined> {
  if (!hasProgram(t, 'firefox-esr')) return undefined;
  shared ??= start();
  return openPage(t, await shared, options);
}

const home = temporaryFolder(file);
watchOutput(file, async () => (await shared)?.close(), []);

async function start(): Promise<Browser> {
  const browser = await firefox.launch({
    // WebDriver BiDi works with unmodified browsers.
    channel: 'moz-firefox',
    executablePath: '/usr/bin/firefox-esr',
    // Without animations, a page has its final appearance at once.
    firefoxUserPrefs: { ...nowhere, 'ui.prefersReducedMotion': 1 },
    env: { ...process.env, HOME: home },
  });
  leaveOut(browser, 'emulation.setMediaFeaturesOverride');
  return browser;
}

interface Inside {
  _connection: { toImpl: (browser: Browser) => { _browserSession: { send: (method: string, parameters: unknown) => Promise<unknown> } } };
}

/** Stops Playwright from sending `command` for every new context, because the extended support release does not know it. */
function leaveOut(browser: Browser, command: string): void {
  const session = (browser as unknown as Inside)._connection.toImpl(browser)._browserSession;
  const { send } = session;
  session.send = (method, parameters) => (method === command ? Promise.resolve({}) : send.call(session, method, parameters));
}

test('Firefox: sign in, filter, preview, upload, download, rename, move, delete, sign out', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['alpha.txt', 'beta.txt', 'Übersicht.txt']) writeFileSync(join(server.home, name), `content of ${name}`);
  const page = await openFirefox(t);
  if (!page) return;
  const dialog = page.getByRole('dialog');
  await loginByForm(page, server.url);
  await assertAccessible(page, 'the listing');

  await page.getByRole('searchbox').fill('uber');
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
  await page.getByRole('button', { name: 'Download', exact: true }).click();
  assert.equal((await download).suggestedFilename(), 'alpha.txt');

  await page.getByRole('button', { name: 'Rename' }).click();
  await dialog.getByLabel('New name').fill('renamed.txt');
  await page.keyboard.press('Enter');
  await page.getByRole('link', { name: 'renamed.txt' }).waitFor();

  await page.getByLabel('Select renamed.txt').check();
  await page.getByRole('button', { name: 'Move' }).click();
  await dialog.getByRole('button', { name: 'Folder', exact: true }).click();
  await dialog.locator('.place-here', { hasText: 'Folder' }).waitFor();
  await dialog.getByRole('button', { name: 'Move here' }).click();
  await page.getByText(/^Moved \S/).waitFor();
  assert.ok(existsSync(join(server.home, 'Folder/renamed.txt')));
  await page.getByRole('link', { name: 'renamed.txt' }).waitFor({ state: 'detached' });

  await page.getByLabel('Select beta.txt').check();
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await dialog.getByRole('heading', { name: /^Delete “/ }).waitFor();
  await dialog.getByRole('button', { name: 'Delete' }).click();
  await page.getByText(/^Deleted \S/).waitFor();
  assert.deepEqual(readdirSync(server.home), ['Folder', 'source.txt', 'Übersicht.txt']);

  await openMenu(page);
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
});

test('Firefox: folders and files of any kind have a visible icon', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'Folder'));
  for (const name of ['a.txt', 'b.unknown']) writeFileSync(join(server.home, name), 'x');
  // The content security policy refuses the style that Playwright adds for a screenshot.
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

test('Firefox: all actions work without a mouse', async (t) => {
  const server = await startServer(t);
  const page = await openFirefox(t);
  if (page) await workByKeyboard(page, server);
});

test('Firefox: a large upload resumes by itself after a cut connection, and on a new page once the file is chosen again', async (t) => {
  const server = await startServer(t);
  const proxy = await startUnreliableProxy(t, server.port);
  const page = await openFirefox(t);
  if (!page) return;
  await loginByForm(page, proxy.url);
  const { path, content } = largeFile(server, 'large.bin');
  proxy.troubles.push({ cutAfterBytes: 2_000_000 }, { holdAfterBytes: 3_000_000 });
  await choose(page, path);
  await until('the upload continues', () => proxy.offsets.length === 2);
  const next = await reopen({ page, proxy });
  const offer = next.locator('.unfinished li');
  await offer.getByText(/^[\d.]+ MB of 12 MB$/).waitFor();
  await offer.locator('input[type=file]').setInputFiles(path);
  await lineOf(next, 'large.bin', 'done').waitFor();
  assertNeverAnew(proxy.offsets);
  await assertUploaded(server, 'large.bin', content);
});
