import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../../src/lib/clock.ts';
import { silentLog } from '../../../src/lib/log.ts';
import { Server } from '../../../src/server/server.ts';
import { Client } from '../../support/client.ts';
import { append, begin, content, hidden, newest, part, sha256, stored, whole } from '../../support/draft-uploads.ts';
import { until } from '../../support/receiver.ts';
import { watchOutput } from '../../support/secret-watch.ts';
import { startServer, testConfig } from '../../support/server.ts';
import { SteppedClock } from '../../support/shifted-clock.ts';
import { WatchedRequest } from '../../support/watched-request.ts';

// MUSTs: an upload that lost its content has ended (Offset); SHOULD: a refusal for a limit contains all limits (Limits).
test('the checks of an upload are repeated at its end, and a refusal leaves nothing behind', async (t) => {
  const permissions = [['allow-full-control'], ['/read-only/*', 'allow-read']];
  const server = await startServer(t, { group: { quota_size: 1_000_000, file_write_size: 900_000, permissions } });
  mkdirSync(join(server.home, 'sub'));
  mkdirSync(join(server.home, 'read-only'));
  writeFileSync(join(server.home, 'there'), 'x');
  assert.equal((await server.put('/home/read-only/a', 'x', { headers: part })).status, 403);
  assert.equal((await server.put('/home/there', 'x', { headers: { ...part, 'if-none-match': '*' } })).status, 412);
  const tooLarge = await server.put('/home/big', 'x', { headers: { ...part, 'upload-length': '900001' } });
  assert.deepEqual([tooLarge.status, tooLarge.headers['upload-limit']], [413, 'max-size=900000']);
  assert.equal((await server.put('/home/none/a', 'x', { headers: part })).status, 409);
  assert.equal((await server.put('/home/there', 'x', { headers: { 'if-none-match': '*' } })).status, 412);
  const told = (await server.eventIds()).filter((id) => id === 40021 || id === 40022);
  assert.deepEqual(told, Array(5).fill(40022), 'an upload refused at once has no begin event');
  const end = async (name: string, headers: Record<string, string>, meanwhile: () => unknown) => {
    const url = await begin(server, name, content, headers);
    await meanwhile();
    const reply = await server.send('PATCH', url, { headers: append(content.length, true) });
    assert.equal(reply.headers['upload-complete'], '?1', `${name} ${reply.status}`);
    return reply.status;
  };
  assert.equal(await end('new', { 'if-none-match': '*' }, () => writeFileSync(join(server.home, 'new'), 'somebody else')), 412);
  assert.equal(String(stored(server, 'new')), 'somebody else');
  assert.equal(await end('folder', {}, () => mkdirSync(join(server.home, 'folder'))), 409);
  const lose = () => {
    for (const name of hidden(server)) rmSync(join(server.home, name));
  };
  assert.equal(await end('lost', {}, lose), 404);
  // The upload has 300,000 bytes, and another file of 650,000 leaves no space for the rest.
  const url = await begin(server, 'full', content);
  assert.equal((await server.put('/home/filler', Buffer.alloc(750_000))).status, 507, 'unfinished uploads count');
  assert.equal((await server.put('/home/filler', Buffer.alloc(650_000))).status, 201);
  const late = await server.send('PATCH', await begin(server, 'late', Buffer.alloc(0)), {
    headers: { ...append(0, false), 'upload-length': '900001' },
  });
  assert.equal(late.status, 413);
  assert.match(String(late.headers['upload-limit']), /^max-size=900000, max-age=\d+$/);
  const full = await server.send('PATCH', url, { headers: append(content.length, true), body: content });
  assert.deepEqual([full.status, full.headers['upload-complete']], [507, '?1']);
  assert.deepEqual(hidden(server), []);
  const starts = (await server.events()).filter(({ id, data }) => id === '40021' && data.path !== '/filler').length;
  const ends = (await server.events()).filter(({ id, data }) => id === '40022' && data.resumed !== undefined).length;
  assert.equal(ends, starts, 'the end of each upload is reported once');
});

// MUSTs: a 104 to an append has no `Location` (Append).
test('progress is reported by 104 while content arrives, but not for content with a digest, and never the whole length', async (t) => {
  const server = await startServer(t);
  const large = Buffer.alloc(80 * 1024 * 1024, 'x');
  const headers = { 'content-length': String(large.length) };
  const told = await new WatchedRequest(server, 'PUT', '/home/a', { ...whole, ...headers }).end(large);
  const url = await begin(server, 'c', Buffer.alloc(0));
  const appended = await new WatchedRequest(server, 'PATCH', url, { ...newest, ...append(0, true), ...headers }).end(large);
  for (const interim of [told.interim.slice(1), appended.interim]) {
    const offsets = interim.map(({ headers: { 'upload-offset': offset } }) => Number(offset));
    assert.ok(offsets.length > 0 && offsets.every((offset) => offset > 0 && offset < large.length), String(offsets));
    assert.deepEqual(
      offsets,
      offsets.toSorted((a, b) => a - b),
    );
    for (const { status, headers } of interim)
      assert.deepEqual([status, headers['upload-draft-interop-version'], headers.location], [104, '9', undefined]);
  }
  const secret = await new WatchedRequest(server, 'PUT', '/home/b', { ...whole, ...headers, 'content-digest': sha256(large) }).end(large);
  assert.deepEqual([secret.status, secret.interim.length], [201, 1]);
});

// MUSTs: a field with a malformed value is ignored; the length is recorded (Creation, Append); HEAD and GET have offset,
// completeness, length and limits (Offset Retrieval).
test('a malformed length is ignored; the length that an append sends is recorded, for HEAD and GET', async (t) => {
  const server = await startServer(t);
  for (const strange of ['-1', '1.5', 'NaN', '7, 8', '9'.repeat(16)]) {
    const url = await begin(server, 'a', Buffer.from('x'), { 'upload-length': strange });
    assert.equal((await server.send('HEAD', url)).headers['upload-length'], undefined, strange);
    const append7 = { ...append(1, false), 'upload-length': '7' };
    assert.equal((await server.send('PATCH', url, { headers: append7, body: 'y' })).status, 204);
    for (const method of ['HEAD', 'GET']) {
      const { status, headers } = await server.send(method, url);
      const state = [headers['upload-offset'], headers['upload-complete'], headers['upload-length']];
      assert.deepEqual([status, ...state, headers['cache-control']], [204, '2', '?0', '7', 'no-store'], method);
    }
  }
});

test('an upload can be resumed after a restart and a reload, with the new limits', async (t) => {
  const server = await startServer(t, { server: { uploads: { maximum_per_account: 2 } } });
  const url = await begin(server, 'a', content.subarray(0, 1000));
  await begin(server, 'b', content);
  assert.equal((await server.put('/home/c', 'x', { headers: part })).status, 429);
  await server.stop();
  const config = await testConfig(server.folder, { server: { uploads: { maximum_per_account: 5 } } });
  const service = new Server(config, { clock: systemClock, log: silentLog });
  await service.start();
  watchOutput(t, () => service.stop(), []);
  const client = new Client(service.listening()[0]?.url ?? '');
  assert.equal((await client.put('/home/c', 'x', { headers: part })).status, 201);
  await service.reload(await testConfig(server.folder, { server: { uploads: { maximum_per_account: 3 } } }));
  const reloaded = new Client(service.listening()[0]?.url ?? '');
  assert.equal((await reloaded.put('/home/d', 'x', { headers: part })).status, 429);
  assert.equal((await reloaded.send('HEAD', url)).headers['upload-offset'], '1000');
  const reply = await reloaded.send('PATCH', url, { headers: append(1000, true), body: content.subarray(1000) });
  assert.equal(reply.status, 201);
  assert.deepEqual(stored(server, 'a'), content);
});

test('an abandoned upload expires, with events', async (t) => {
  const clock = new SteppedClock();
  const server = await startServer(t, { server: { uploads: { expire_after: 3600 } } }, clock);
  const url = await begin(server, 'a', content);
  clock.shift(3_601_000);
  clock.runPeriodic();
  await until('the content is removed', () => hidden(server).length === 0);
  await until('the upload has ended', async () => (await server.send('HEAD', url)).status === 410);
  const ends = async () => (await server.events()).filter(({ id }) => ['40069', '40022'].includes(id));
  await until('the end is reported', async () => (await ends()).length === 2);
  assert.deepEqual(
    (await ends()).map(({ id, account, data }) => [id, account.name, data.path]),
    [
      ['40069', 'alice', '/a'],
      ['40022', 'alice', '/a'],
    ],
  );
});

test('an upload ends when its folder is deleted or moved, and is not moved with it', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'a', 'b'), { recursive: true });
  mkdirSync(join(server.home, 'c'));
  const deep = await begin(server, 'a/b/x', content);
  const beside = await begin(server, 'c/x', content);
  assert.equal((await server.send('DELETE', '/home/a/')).status, 204);
  assert.equal((await server.send('HEAD', deep)).status, 410);
  const moved = await server.send('MOVE', '/home/c/', { headers: { destination: '/home/d/' } });
  assert.equal(moved.status, 201);
  assert.equal((await server.send('HEAD', beside)).status, 410);
  assert.deepEqual(readdirSync(join(server.home, 'd')), []);
  assert.equal((await server.events()).filter(({ id }) => id === '40022').length, 2);
});
