import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { browserTest, drop } from '../support/browser.ts';
import {
  assertNeverAnew,
  assertUploaded,
  choose,
  eventsOf,
  largeFile,
  lineOf,
  openUploadPage,
  reopen,
  type UploadSetting,
} from '../support/large-uploads.ts';
import { until } from '../support/receiver.ts';
import { testPassword } from '../support/secrets.ts';

/** Uploads a file until a part has arrived, and then holds the rest back. */
async function holdUpload({ server, proxy, page }: UploadSetting, name = 'large.bin') {
  const file = largeFile(server, name);
  proxy.troubles.push({ holdAfterBytes: 3_000_000 });
  await choose(page, file.path);
  await until('content arrives', () => proxy.offsets.length === 1);
  return file;
}

function locationIn(page: Page): Promise<string> {
  return page.evaluate("JSON.parse(localStorage.getItem(Object.keys(localStorage).find((key) => key.startsWith('svc-upload:')))).location");
}

browserTest('two concurrent large uploads resume at their offsets after cuts, a lost reply and an unreachable server', async (t) => {
  const setting = await openUploadPage(t, /409|ERR_/);
  const { server, proxy, page } = setting;
  const files = ['first.bin', 'second.bin'].map((name) => ({ name, ...largeFile(server, name, 20_000_000) }));
  proxy.troubles.push(
    { cutAfterBytes: 4_000_000 },
    { cutAfterBytes: 1_000_000 },
    { cutAfterBytes: 6_000_000 },
    { swallowsReply: true },
    { holdAfterBytes: 2_000_000 },
  );
  await choose(page, ...files.map(({ path }) => path));
  await until('the fifth request has begun', () => proxy.offsets.length >= 5);
  await proxy.goDown();
  await page.locator('.queue li', { hasText: 'waiting for the connection' }).first().waitFor();
  await proxy.comeBack();
  await page.getByText('2 files were uploaded.').waitFor({ state: 'attached' });
  assert.equal(proxy.troubles.length, 0);
  assert.equal(proxy.offsets.filter((offset) => offset === 0).length, 2, 'each upload began once');
  for (const { name, content } of files) await assertUploaded(server, name, content);
});

browserTest('all uploads are paused and continued together, including a small one that has not begun', async (t) => {
  const setting = await openUploadPage(t, /409|ERR_/);
  const { server, proxy, page } = setting;
  const large = ['a.bin', 'b.bin', 'c.bin'].map((name) => ({ name, ...largeFile(server, name) }));
  const small = largeFile(server, 'small.bin', 1000);
  for (const _ of large) proxy.troubles.push({ holdAfterBytes: 1_000_000 });
  await choose(page, ...large.map(({ path }) => path), small.path);
  await until('three uploads are running', () => proxy.offsets.length === 3);
  await page.getByRole('button', { name: 'Pause all' }).click();
  await page.locator('.queue li.paused').nth(3).waitFor();
  await page.getByRole('button', { name: 'Continue all' }).click();
  await page.getByText('4 files were uploaded.').waitFor({ state: 'attached' });
  assert.equal(proxy.offsets.filter((offset) => offset === 0).length, 3);
  for (const { name, content } of large) await assertUploaded(server, name, content);
  await assertUploaded(server, 'small.bin', small.content);
});

browserTest('if the session ends during an upload, the upload resumes after the next login', async (t) => {
  const setting = await openUploadPage(t, /409|401|ERR_/);
  const { server, proxy, page } = setting;
  const { content } = await holdUpload(setting);
  const cookies = await page.context().cookies();
  const cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ');
  await server.send('POST', '/__svc__/logout', { user: null, headers: { cookie } });
  await proxy.goDown();
  await proxy.comeBack();
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Your session has ended.').waitFor();
  await dialog.getByLabel('Password').fill(testPassword);
  await dialog.getByRole('button', { name: 'Sign in' }).click();
  await lineOf(page, 'large.bin', 'done').waitFor();
  assertNeverAnew(proxy.offsets);
  await assertUploaded(server, 'large.bin', content);
});

browserTest('an upload that the service no longer knows begins again, and the page says so', async (t) => {
  const setting = await openUploadPage(t, /409|404|ERR_/);
  const { server, proxy, page } = setting;
  const { content } = await holdUpload(setting);
  const location = await locationIn(page);
  await proxy.goDown();
  assert.equal((await server.send('DELETE', location)).status, 204);
  await proxy.comeBack();
  await lineOf(page, 'large.bin', 'done').getByText('the server had discarded the beginning; it was sent again').waitFor();
  assert.deepEqual(proxy.offsets, [0, 0]);
  assert.ok(readFileSync(join(server.home, 'large.bin')).equals(content));
  assert.deepEqual(await eventsOf(server, 'large.bin'), [40021, 40069, 40022, 40021, 40017]);
});

browserTest('the service ends an upload that is cancelled in the page, and one whose offer to resume is discarded', async (t) => {
  const setting = await openUploadPage(t, /409|ERR_/);
  const { server, proxy, page } = setting;
  await holdUpload(setting);
  await page.getByRole('button', { name: 'Cancel: large.bin' }).click();
  await lineOf(page, 'large.bin', 'cancelled').waitFor();
  const isOver = async (count: number) => (await eventsOf(server, 'large.bin')).filter((id) => id === 40022).length === count;
  await until('the service has ended the cancelled upload', () => isOver(1));
  proxy.troubles.push({ holdAfterBytes: 3_000_000 });
  await page.getByRole('button', { name: 'Try again: large.bin' }).click();
  await until('the upload starts again', () => proxy.offsets.length === 2);
  const next = await reopen(setting);
  await next.getByRole('button', { name: 'Discard: large.bin' }).click();
  await until('the service has ended the discarded upload', () => isOver(2));
  await next.locator('.unfinished').waitFor({ state: 'detached' });
  assert.deepEqual(proxy.offsets, [0, 0]);
  assert.deepEqual(readdirSync(server.home), []);
  await next.reload();
  await next.getByText('This folder is empty.').waitFor();
  assert.equal(await next.locator('.unfinished').count(), 0);
});

browserTest('if a file changes on the disk during its upload, the upload fails, and nothing is stored', async (t) => {
  const setting = await openUploadPage(t, /409|ERR_/);
  const { server, proxy, page } = setting;
  const { path } = largeFile(server, 'large.bin');
  proxy.troubles.push({ holdAfterBytes: 3_000_000 });
  // The file is dropped, because the browser reads a dropped file from the disk. Of a file that a test chooses, it gets a copy.
  await drop(page, [path]);
  await until('content arrives', () => proxy.offsets.length === 1);
  await proxy.goDown();
  writeFileSync(path, Buffer.alloc(12_000_000, 'x'));
  await proxy.comeBack();
  await lineOf(page, 'large.bin', 'failed').getByText('the file was changed or deleted on your device').waitFor();
  await until('the service has ended the upload', async () => (await eventsOf(server, 'large.bin')).at(-1) === 40022);
  assert.deepEqual(readdirSync(server.home), []);
});

browserTest('a folder is dropped again after the page was closed: complete files are skipped, the others resume', async (t) => {
  const setting = await openUploadPage(t, /409|412|ERR_/);
  const { server, proxy } = setting;
  const small = largeFile(server, 'tree/deep/a.bin', 1000);
  const large = largeFile(server, 'tree/deep/large.bin');
  const folder = join(server.folder, 'source/tree');
  proxy.troubles.push({ holdAfterBytes: 3_000_000 });
  await drop(setting.page, [folder]);
  await lineOf(setting.page, 'a.bin', 'done').waitFor();
  await until('content arrives', () => proxy.offsets.length === 1);
  const next = await reopen(setting);
  await next.locator('.unfinished li').getByText('tree/deep/large.bin').waitFor();
  await drop(next, [folder]);
  await next.getByRole('dialog').getByRole('button', { name: 'Skip' }).click();
  await next.getByText('One file was uploaded.').waitFor({ state: 'attached' });
  assertNeverAnew(proxy.offsets);
  assert.ok(readFileSync(join(server.home, 'tree/deep/a.bin')).equals(small.content));
  await assertUploaded(server, 'tree/deep/large.bin', large.content);
});

browserTest('a taken name is reported before content is sent; the chosen name is kept when the page is opened again', async (t) => {
  const setting = await openUploadPage(t, /409|412|ERR_/);
  const { server, proxy, page } = setting;
  writeFileSync(join(server.home, 'large.bin'), 'old');
  const { path, content } = largeFile(server, 'large.bin');
  proxy.troubles.push({ holdAfterBytes: 3_000_000 });
  await choose(page, path);
  await page.getByRole('dialog').getByRole('button', { name: 'Keep both' }).click();
  await until('content arrives', () => proxy.offsets.length === 1);
  const next = await reopen(setting);
  await choose(next, path);
  await lineOf(next, 'large (2).bin', 'done').waitFor();
  assertNeverAnew(proxy.offsets);
  assert.equal(readFileSync(join(server.home, 'large.bin'), 'utf8'), 'old');
  await assertUploaded(server, 'large (2).bin', content);
});

browserTest('if another upload takes the name of a file during its upload, the page asks at the end whether to overwrite', async (t) => {
  const setting = await openUploadPage(t, /409|412|ERR_/);
  const { server, proxy, page } = setting;
  const { content } = await holdUpload(setting);
  await server.put('/home/large.bin', 'faster');
  await proxy.goDown();
  await proxy.comeBack();
  await page.getByRole('dialog').getByRole('button', { name: 'Overwrite' }).click();
  await lineOf(page, 'large.bin', 'done').waitFor();
  assert.ok(readFileSync(join(server.home, 'large.bin')).equals(content));
});

browserTest('another tab neither interrupts an upload nor offers to resume it', async (t) => {
  const setting = await openUploadPage(t, /409|ERR_/);
  const { server, proxy, page } = setting;
  const { content } = await holdUpload(setting);
  const other = await page.context().newPage();
  const asked: string[] = [];
  other.on('request', (request) => asked.push(request.method()));
  await other.goto(`${proxy.url}/home/`);
  await other.getByText('This folder is empty.').waitFor();
  await other.waitForLoadState('networkidle');
  assert.equal(await other.locator('.unfinished').count(), 0);
  assert.ok(!asked.includes('HEAD'), asked.join(' '));
  await proxy.goDown();
  await proxy.comeBack();
  await lineOf(page, 'large.bin', 'done').waitFor();
  await assertUploaded(server, 'large.bin', content);
});

browserTest(
  'requests have the largest size that the service accepts; an upload that is resumed on a new page keeps its metadata',
  async (t) => {
    const service = { maximum_request_size: 5_000_000, metadata_fields: ['x-labels, required', 'project, required'] };
    const setting = await openUploadPage(t, /409|ERR_/, { service });
    const { server, proxy, page } = setting;
    const { path, content } = largeFile(server, 'large.bin');
    proxy.troubles.push({ cutAfterBytes: 5_000_000_000 }, { holdAfterBytes: 2_000_000 });
    await choose(page, path);
    await page.getByRole('dialog').getByLabel('project (required)').fill('spring');
    await page.getByRole('dialog').getByRole('button', { name: 'Upload' }).click();
    await until('the second request begins', () => proxy.offsets.length === 2);
    const next = await reopen(setting);
    await next.locator('.unfinished input[type=file]').setInputFiles(path);
    await lineOf(next, 'large.bin', 'done').waitFor();
    assert.equal(proxy.offsets[1], 5_000_000);
    assertNeverAnew(proxy.offsets);
    await assertUploaded(server, 'large.bin', content);
    const stored = (await server.events()).findLast(({ id }) => id === '40017');
    assert.deepEqual(stored?.data.metadata, { project: ['spring'] });
  },
);

browserTest('a refusal by the service is shown before content is sent', async (t) => {
  const setting = await openUploadPage(t, /409|413/, { group: { file_write_size: 9_000_000 } });
  const { server, proxy, page } = setting;
  await choose(page, largeFile(server, 'large.bin').path);
  await lineOf(page, 'large.bin', 'failed').getByText('larger than 9 MB, the largest size that is allowed here').waitFor();
  assert.deepEqual(proxy.offsets, []);
});
