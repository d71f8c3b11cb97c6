import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxShown, type Transfer, Transfers } from '../../src/files/transfers.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';
import { openFlags } from '../../src/ssh/sftp/packets/packets.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { testSession } from '../support/sftp-session.ts';

const files = { account: { name: 'alice' }, context: { component: { uuid: 'web' } } } as unknown as Transfer['files'];

function upload(clock: ManualClock, more: Partial<Transfer> = {}) {
  const path = '/file' as VirtualPath;
  return { direction: 'upload' as const, files, path, startedMs: clock.monotonicMs(), bytes: 0, totalBytes: undefined, ...more };
}

test('the speed is that of the last seconds, not the mean, however often it is read', () => {
  const clock = new ManualClock();
  const transfers = new Transfers(clock);
  const transfer = upload(clock, { totalBytes: 10_000_000 });
  const speed = () => transfers.list().shown[0]?.bytesPerSecond;
  transfers.enter(transfer);
  clock.advance(500);
  transfer.bytes = 1000;
  assert.equal(speed(), 2000, 'the speed since the start');
  clock.advance(3_600_000);
  transfer.bytes = 1_000_000;
  speed();
  for (let tenths = 0; tenths < 30; tenths++) {
    clock.advance(100);
    transfer.bytes += 50_000;
    speed();
  }
  assert.equal(speed(), 500_000);
  clock.advance(2000);
  speed();
  clock.advance(2000);
  assert.equal(speed(), 0, 'the transfer stands still');
  const [shown] = transfers.list().shown;
  const { id, service, account, path, direction, bytes, totalBytes, startedMs } = shown ?? assert.fail();
  const expected = { id: '1', service: 'web', account: 'alice', path: '/file', direction: 'upload', bytes: 2_500_000 };
  assert.deepEqual({ id, service, account, path, direction, bytes }, expected);
  assert.deepEqual([totalBytes, startedMs], [10_000_000, clock.nowMs() - 3_607_500]);
  transfers.leave(transfer);
  transfers.leave(transfer);
  assert.deepEqual(transfers.list(), { shown: [], leftOut: 0 });
});

test('bytes from before an upload was resumed do not count as speed; neither does a truncation', () => {
  const clock = new ManualClock();
  const transfers = new Transfers(clock);
  const transfer = upload(clock, { bytes: 5_000_000, formerBytes: 5_000_000 });
  transfers.enter(transfer);
  clock.advance(1000);
  transfer.bytes += 100;
  assert.equal(transfers.list().shown[0]?.bytesPerSecond, 100);
  clock.advance(1000);
  transfer.bytes = 0;
  assert.equal(transfers.list().shown[0]?.bytesPerSecond, 0);
});

test('the transfers that began first are listed, and the others are counted', () => {
  const clock = new ManualClock();
  const transfers = new Transfers(clock);
  for (let number = 0; number <= maxShown; number++) {
    transfers.enter(upload(clock));
    clock.advance(1);
  }
  const { shown, leftOut } = transfers.list();
  assert.deepEqual([new Set(shown.map(({ id }) => id)).size, leftOut], [maxShown, 1]);
  assert.ok(shown.every(({ startedMs }, index) => index === 0 || startedMs >= (shown[index - 1]?.startedMs ?? 0)));
});

test('open files of SFTP clients are transfers until they are closed or the connection is lost', async (t) => {
  const { client, environment, lose, served } = testSession(t);
  const { read, write, create, truncate } = openFlags;
  const seen = () =>
    environment.transfers.list().shown.map(({ path, direction, bytes, totalBytes }) => [path, direction, bytes, totalBytes]);
  const upload = await client.open('up', write | create | truncate);
  await client.write(upload, 0, 'hello');
  assert.deepEqual(seen(), [['/up', 'upload', 5, undefined]]);
  await client.close(upload);
  assert.deepEqual(seen(), []);
  const download = await client.open('up', read);
  await client.read(download, 0, 3);
  assert.deepEqual(seen(), [['/up', 'download', 3, 5]]);
  await client.close(download);
  assert.deepEqual(seen(), []);
  await client.open('up', read);
  await client.open('other', write | create);
  assert.equal(seen().length, 2);
  lose();
  await served;
  assert.deepEqual(seen(), []);
});
