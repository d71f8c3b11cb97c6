import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { journalFolder } from '../../src/events/journal/file-event-log.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { parseVirtualPath } from '../../src/lib/virtual-path.ts';
import { readEvents } from '../support/journal.ts';
import { type NodeProcess, startNodes } from '../support/node-process.ts';
import { startNode, startNodesOnRedis, type TestNode } from '../support/nodes.ts';
import { until } from '../support/receiver.ts';
import { startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { testFiles } from '../support/sftp-session.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Returns ID, path and size of each event with which an upload ended, from the journals of the named nodes. */
async function ends(folder: string, names: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const name of names)
    for await (const { event } of readEvents(journalFolder(join(folder, name)), undefined, (bad) => assert.fail(bad.reason)))
      if (['40017', '40022'].includes(event.id)) found.push(`${event.id} ${event.data.path} ${event.data.total_write}`);
  return found.sort();
}

const append = (offset: number, isLast: boolean) => ({
  'upload-offset': String(offset),
  'upload-complete': isLast ? '?1' : '?0',
  'content-type': 'application/partial-upload',
});

test('unfinished uploads that an emptied Redis lost are ended, each with one event; finished uploads get no second event', {
  timeout: 120_000,
}, async (t) => {
  const begun = await startNodesOnRedis(t, 3, {});
  if (!begun) return;
  const { nodes, redis, folder } = begun;
  const [here, there, third] = nodes as [TestNode, TestNode, TestNode];
  const begin = async (node: TestNode, name: string) => {
    const reply = await node.put(`/home/${name}`, 'abc', { headers: { 'upload-complete': '?0' } });
    assert.equal(reply.status, 201);
    return String(reply.headers.location);
  };
  const patch = async (node: TestNode, url: string, isLast: boolean) =>
    (await node.send('PATCH', url, { headers: append(3, isLast), body: 'defg' })).status;
  const urls = [await begin(here, 'alone'), await begin(here, 'shared'), await begin(third, 'of-one-that-is-down')];
  assert.equal(await patch(there, urls[1] as string, false), 204);
  const finished = await begin(here, 'finished');
  assert.equal(await patch(there, finished, true), 201);
  const cancelled = await begin(here, 'cancelled');
  assert.equal((await there.send('DELETE', cancelled)).status, 204);
  await third.stop();
  const before = await ends(folder, ['n0', 'n1', 'n2']);
  assert.deepEqual(before, ['40017 /finished 7', '40022 /cancelled 3']);

  await redis.command('FLUSHALL');
  const hidden = () => readdirSync(join(folder, 'home')).filter((name) => name.startsWith('.svc-'));
  await until('the files of living nodes were removed', () => hidden().length === 1);
  await until('all ends are reported', async () => (await ends(folder, ['n0', 'n1', 'n2'])).length === before.length + 2);
  const again = await startNode(t, folder, 'n2', redis.url);
  await until('the third node has ended its own upload', async () => (await ends(folder, ['n0', 'n1', 'n2'])).length === before.length + 3);
  assert.deepEqual(await ends(folder, ['n0', 'n1', 'n2']), [
    '40017 /finished 7',
    '40022 /alone 3',
    '40022 /cancelled 3',
    '40022 /of-one-that-is-down 3',
    '40022 /shared 7',
  ]);
  for (const url of urls) {
    const reply = await again.send('HEAD', url);
    assert.equal(reply.status, 410, url);
  }
  await until('no temporary file is left', () => hidden().length === 0);
  assert.deepEqual(readdirSync(join(folder, 'home')), ['finished']);
});

test('if the record of an upload is lost during its creation, the client gets `unavailable`, and its next attempt succeeds', async (t) => {
  const { files, environment, home } = testFiles(t);
  const { uploads } = environment;
  const add = uploads.add.bind(uploads);
  let losses = 1;
  uploads.add = async (...args) => {
    const record = await add(...args);
    if (losses-- <= 0) return record;
    const hold = await uploads.hold(record.id, () => {});
    await hold.remove();
    hold.release();
    return record;
  };
  const begin = () => files.beginResumable(parseVirtualPath('/a'), { lengthBytes: 3, verify: undefined, notes: {} }, () => {});
  await assert.rejects(begin(), (error) => isServiceError(error, 'unavailable'));
  assert.deepEqual(readdirSync(home), []);
  (await begin()).release();
});

test('if Redis loses an upload after the file was renamed, but before its event, the event is emitted', { timeout: 120_000 }, async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const folder = temporaryFolder(t);
  const control = join(folder, 'failing');
  const preload = join(process.env.SVC_ROOT ?? process.cwd(), 'test/support/failing-disk.cjs');
  const [{ client, running }] = (await startNodes(t, folder, 'http://127.0.0.1:9/', [redis.url], {
    event_handlers: {},
    env: () => ({ NODE_OPTIONS: `--require ${preload}`, FAILING_DISK: control }),
  })) as [NodeProcess];
  const begun = await client.put('/home/a', 'abc', { headers: { 'upload-complete': '?0' } });
  const url = String(begun.headers.location);
  writeFileSync(control, 'stall fsync home$');
  const last = client.send('PATCH', url, { headers: append(3, true), body: 'defg' }).catch(() => undefined);
  await until('the file has its name', () => existsSync(`${control}.stalled`));
  await redis.command('FLUSHALL');
  rmSync(control);
  const reply = await last;
  assert.ok(reply === undefined || reply.status === 503, 'the request is cut, or gets 503');
  assert.equal(readFileSync(join(folder, 'home/a'), 'utf8'), 'abcdefg');
  await until('the end is in the journal', async () => (await ends(folder, ['n0'])).length > 0);
  await until('HEAD shows that the upload is complete', async () => (await client.send('HEAD', url)).headers['upload-complete'] === '?1');
  running.child.kill('SIGTERM');
  await running.ended;
  assert.deepEqual(await ends(folder, ['n0']), ['40017 /a 7']);
});
