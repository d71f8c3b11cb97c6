import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { browserTest, login, openBrowser } from '../support/browser.ts';
import { assertNeverAnew, assertUploaded, choose, eventsOf, largeFile, lineOf } from '../support/large-uploads.ts';
import { until } from '../support/receiver.ts';
import { startServer } from '../support/server.ts';
import { SteppedClock } from '../support/shifted-clock.ts';
import { startUnreliableProxy } from '../support/unreliable-proxy.ts';

const fileBytes = 9_000_000;

browserTest('an upload resumes after a stall; expiry and a full quota are reported, and Try again sends the whole file', async (t) => {
  const clock = new SteppedClock();
  const config = { group: { quota_size: 25_000_000 }, server: { uploads: { expire_after: 60 } } };
  const server = await startServer(t, config, clock);
  const proxy = await startUnreliableProxy(t, server.port);
  const page = await openBrowser(t, { expectedErrors: /409|410|507|ERR_/ });
  await page.clock.install();
  await login(page, proxy.url);
  const begin = async (name: string) => {
    const file = largeFile(server, name, fileBytes);
    proxy.offsets.splice(0);
    proxy.troubles.push({ holdAfterBytes: 3_000_000 });
    await choose(page, file.path);
    await until('content arrives', () => proxy.offsets.length === 1);
    return file;
  };

  const stalled = await begin('stalled.bin');
  await page.clock.fastForward(61_000);
  await lineOf(page, 'stalled.bin', 'done').waitFor();
  assert.equal(proxy.offsets.length, 2);
  assertNeverAnew(proxy.offsets);
  await assertUploaded(server, 'stalled.bin', stalled.content);

  const expired = await begin('expired.bin');
  await proxy.goDown();
  await until('the received part is kept', async () => (await server.eventIds()).filter((id) => id === 40018).length === 2);
  clock.shift(61_000);
  clock.runPeriodic();
  await until('the upload has ended', async () => (await eventsOf(server, 'expired.bin')).includes(40022));
  await proxy.comeBack();
  await lineOf(page, 'expired.bin', 'failed').getByText('The upload was not continued in time.').waitFor();
  assert.deepEqual(proxy.offsets, [0]);
  await page.getByRole('button', { name: 'Try again: expired.bin' }).click();
  await lineOf(page, 'expired.bin', 'done').waitFor();
  assert.deepEqual(await eventsOf(server, 'expired.bin'), [40021, 40069, 40022, 40021, 40017]);
  assert.ok(readFileSync(join(server.home, 'expired.bin')).equals(expired.content));
  await server.send('DELETE', '/home/expired.bin');

  const full = await begin('full.bin');
  await proxy.goDown();
  await until('the filler is stored', async () => (await server.put('/home/filler', Buffer.alloc(10_000_000))).status === 201);
  await proxy.comeBack();
  await lineOf(page, 'full.bin', 'failed').getByText('The quota of this account is used up.').waitFor();
  assert.ok(
    proxy.offsets.every((offset, index) => index === 0 || offset > 0),
    proxy.offsets.join(' '),
  );
  assert.equal((await server.send('DELETE', '/home/filler')).status, 204);
  await page.getByRole('button', { name: 'Try again: full.bin' }).click();
  await lineOf(page, 'full.bin', 'done').waitFor();
  assert.deepEqual(await eventsOf(server, 'full.bin'), [40021, 40022, 40021, 40017]);
  assert.ok(readFileSync(join(server.home, 'full.bin')).equals(full.content));
});
