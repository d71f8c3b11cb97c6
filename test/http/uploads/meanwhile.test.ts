import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { append, begin, content, hidden, stored, uploads } from '../../support/draft-uploads.ts';
import { startReceiver, until } from '../../support/receiver.ts';
import { startServer, testConfig } from '../../support/server.ts';
import { SteppedClock } from '../../support/shifted-clock.ts';
import { WatchedRequest } from '../../support/watched-request.ts';

const dayMs = 86_400_000;

test('an upload ends if its account loses the permission to write meanwhile; the old file stays', async (t) => {
  const server = await startServer(t);
  for (const name of ['a', 'b']) writeFileSync(join(server.home, name), 'old');
  const url = await begin(server, 'a', content.subarray(0, 1000));
  const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };
  const metadata = { 'upload-length': '5', 'upload-metadata': `path ${Buffer.from('/b').toString('base64')}` };
  const created = await server.send('POST', uploads, { headers: { ...tus, ...metadata }, body: 'he' });
  assert.equal(created.status, 201);
  await server.service.reload(await testConfig(server.folder, { group: { permissions: [['allow-read']] } }));
  const last = await server.send('PATCH', url, { headers: append(1000, true), body: content.subarray(1000) });
  assert.deepEqual([last.status, last.headers['upload-complete']], [403, '?1']);
  const byTus = await server.send('PATCH', String(created.headers.location), { headers: { ...tus, 'upload-offset': '2' }, body: 'llo' });
  assert.equal(byTus.status, 403);
  for (const name of ['a', 'b']) assert.equal(String(stored(server, name)), 'old');
  assert.deepEqual(hidden(server), []);
  assert.equal((await server.events()).filter(({ id }) => id === '40022').length, 2);
});

test('an upload survives jumps of the clock, and a request with content keeps it alive', async (t) => {
  const clock = new SteppedClock();
  const server = await startServer(t, { server: { uploads: { expire_after: 3600 } } }, clock);
  const url = await begin(server, 'a', content.subarray(0, 1000));
  clock.shift(-30 * dayMs);
  clock.runPeriodic();
  const back = await server.send('PATCH', url, { headers: append(1000, false), body: content.subarray(1000, 2000) });
  assert.deepEqual([back.status, back.headers['upload-offset']], [204, '2000']);
  const stuck = new WatchedRequest(server, 'PATCH', url, { ...append(2000, true), 'content-length': String(content.length - 2000) });
  await stuck.write(content.subarray(2000, 100_000));
  await until('the sent content has arrived', () => hidden(server).some((name) => stored(server, name).length === 100_000));
  clock.shift(60 * dayMs);
  clock.runPeriodic();
  const reply = await stuck.end(content.subarray(100_000));
  assert.equal(reply.status, 201, reply.text);
  assert.deepEqual(stored(server, 'a'), content);
  assert.equal((await server.send('HEAD', url)).headers['upload-complete'], '?1');
  const ids = (await server.events()).filter(({ data }) => data.path === '/a').map(({ id }) => id);
  assert.deepEqual(ids, ['40021', '40017']);
});

test('the upload back-end is called only when an upload is complete; a repeated last request gets the same reply header', async (t) => {
  const receiver = await startReceiver(t, { otherwise: { headers: { 'x-receipt': 'r1' } } });
  const server = await startServer(t, {
    service: { api_backend_uuid: 'backend', api_passthrough_headers: 'x-receipt' },
    event_handlers: { backend: { type: 'http', target: '40017', url: receiver.url, data_filter: 'api_backend, yes' } },
  });
  const url = await begin(server, 'a', content.subarray(0, 1000));
  assert.equal((await server.send('HEAD', url)).headers['x-receipt'], undefined);
  assert.equal(receiver.requests.length, 0);
  const last = await server.send('PATCH', url, { headers: append(1000, true), body: content.subarray(1000) });
  assert.deepEqual([last.status, last.headers['x-receipt']], [201, 'r1']);
  const again = await server.send('PATCH', url, { headers: append(content.length, true) });
  assert.deepEqual([again.status, again.headers['x-receipt']], [201, 'r1'], 'a client that lost the reply gets it again');
  const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };
  const metadata = { 'upload-length': '5', 'upload-metadata': `path ${Buffer.from('/b').toString('base64')}` };
  const created = await server.send('POST', uploads, { headers: { ...tus, ...metadata }, body: 'he' });
  assert.equal(created.headers['x-receipt'], undefined);
  const byTus = await server.send('PATCH', String(created.headers.location), { headers: { ...tus, 'upload-offset': '2' }, body: 'llo' });
  assert.deepEqual([byTus.status, byTus.headers['x-receipt']], [204, 'r1']);
  await receiver.received(2);
  assert.equal(receiver.requests.length, 2);
  assert.deepEqual(
    receiver.events().map(({ id, data }) => [id, data.path, data.resumed]),
    [
      ['40017', '/a', 1],
      ['40017', '/b', 1],
    ],
  );
});

test('if a folder has taken the name of the file meanwhile, a tus upload ends with 422', async (t) => {
  const server = await startServer(t);
  const tus = { 'tus-resumable': '1.0.0', 'content-type': 'application/offset+octet-stream' };
  const metadata = { 'upload-length': '5', 'upload-metadata': `path ${Buffer.from('/a').toString('base64')}` };
  const created = await server.send('POST', uploads, { headers: { ...tus, ...metadata }, body: 'he' });
  mkdirSync(join(server.home, 'a'));
  const url = String(created.headers.location);
  const last = await server.send('PATCH', url, { headers: { ...tus, 'upload-offset': '2' }, body: 'llo' });
  assert.equal(last.status, 422, 'clients would repeat the request after a 409');
  assert.equal((await server.send('HEAD', url, { headers: tus })).status, 422);
  assert.deepEqual(hidden(server), []);
});
