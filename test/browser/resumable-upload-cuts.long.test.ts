import assert from 'node:assert/strict';
import { assertAccessible, browserTest } from '../support/browser.ts';
import { assertNeverAnew, assertUploaded, choose, largeFile, lineOf, openUploadPage, reopen } from '../support/large-uploads.ts';
import { until } from '../support/receiver.ts';

browserTest('a large upload resumes by itself after a cut connection, an unreachable server and a lost reply', async (t) => {
  const setting = await openUploadPage(t, /409|ERR_/);
  const { server, proxy, page } = setting;
  const { path, content } = largeFile(server, 'large.bin');
  proxy.troubles.push({ cutAfterBytes: 2_000_000 }, { holdAfterBytes: 3_000_000 }, { swallowsReply: true });
  await choose(page, path);
  await until('the upload continues', () => proxy.offsets.length === 2);
  await proxy.goDown();
  await lineOf(page, 'large.bin').getByText('waiting for the connection').waitFor();
  await proxy.comeBack();
  await lineOf(page, 'large.bin', 'done').waitFor();
  await page.getByRole('link', { name: 'large.bin' }).waitFor();
  assert.equal(proxy.troubles.length, 0, 'all planned troubles happened');
  assert.ok(
    proxy.offsets.slice(3).every((offset) => offset === content.length),
    'complete parts are not sent again',
  );
  assertNeverAnew(proxy.offsets);
  await assertUploaded(server, 'large.bin', content);
});

browserTest(
  'behind a proxy that holds back whole requests, an upload continues in pieces of 16 MiB, and of 8 MiB after another loss',
  async (t) => {
    const setting = await openUploadPage(t, /409|ERR_/);
    const { server, proxy, page } = setting;
    const { path, content } = largeFile(server, 'large.bin', 60_000_000);
    proxy.troubles.push({ keepsBackBytes: 30_000_000 }, { keepsBackBytes: 16_000_000 });
    await choose(page, path);
    await lineOf(page, 'large.bin', 'done').waitFor();
    const piece = 8 * 1024 * 1024;
    assert.deepEqual([...new Set(proxy.sizes)].slice(0, 3), [60_000_000, 2 * piece, piece]);
    const after = proxy.sizes.slice(proxy.sizes.lastIndexOf(2 * piece) + 1);
    assert.ok(Math.max(...after) <= piece, proxy.sizes.join(' '));
    await assertUploaded(server, 'large.bin', content);
  },
);

browserTest('a paused upload resumes at its offset: in the same page, or in a new page once the file is chosen again', async (t) => {
  const setting = await openUploadPage(t, /409|ERR_/);
  const { server, proxy, page } = setting;
  const { path, content } = largeFile(server, 'large.bin');
  const other = largeFile(server, 'other/large.bin');
  proxy.troubles.push({ holdAfterBytes: 2_000_000 }, { holdAfterBytes: 3_000_000 });
  await choose(page, path);
  const line = lineOf(page, 'large.bin');
  await line.getByText(/MB of 12 MB/).waitFor();
  await page.getByRole('button', { name: 'Pause: large.bin' }).click();
  await line.getByText('paused').waitFor();
  await assertAccessible(page, 'a paused upload');
  assert.equal(await page.getByRole('button', { name: 'Close' }).isVisible(), false, 'the panel of a paused upload cannot be closed');
  await page.getByRole('button', { name: 'Continue: large.bin' }).click();
  await until('the upload continues', () => proxy.offsets.length === 2);

  const next = await reopen({ page, proxy });
  const offer = next.locator('.unfinished li');
  await offer.getByText(/^[\d.]+ MB of 12 MB$/).waitFor();
  await assertAccessible(next, 'an offer to resume an upload');
  await offer.locator('input[type=file]').setInputFiles(other.path);
  await next.getByText('This is another file. The unfinished one is large.bin, 12 MB').waitFor();
  await offer.locator('input[type=file]').setInputFiles(path);
  await lineOf(next, 'large.bin', 'done').waitFor();
  await next.locator('.unfinished').waitFor({ state: 'detached' });
  assert.equal(proxy.offsets.length, 3);
  assertNeverAnew(proxy.offsets);
  await assertUploaded(server, 'large.bin', content);
});
