import assert from 'node:assert/strict';
import fs, { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TestReply, TestRequest } from '../support/client.ts';
import { clockAhead, whereFilesAreKept } from '../support/kept-files.ts';
import { startServer, testConfig } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Counts how often this process opens a path. */
function countOpens(t: TestContext, path: string): () => number {
  const { openSync } = fs;
  let count = 0;
  fs.openSync = (opened, ...rest) => {
    if (opened === path) count++;
    return openSync(opened, ...rest);
  };
  syncBuiltinESMExports();
  t.after(() => {
    fs.openSync = openSync;
    syncBuiltinESMExports();
  });
  return () => count;
}

/** Returns a reply without the parts that differ each time. */
function comparable({ status, headers, text }: TestReply): unknown {
  const { date, 'x-request-id': _, ...others } = headers;
  const boundary = /boundary=(.+)/.exec(String(headers['content-type']))?.[1] ?? ' ';
  return JSON.parse(JSON.stringify({ status, headers: others, text }).replaceAll(boundary, 'BOUNDARY'));
}

const requests: [method: string, target: string, headers: TestRequest['headers']][] = [
  ['GET', '/home/f.html', {}],
  ['GET', '/home/f.html?inline', {}],
  ['GET', '/home/f.html', { range: 'bytes=2-4' }],
  ['GET', '/home/f.html', { range: 'bytes=0-0,-2' }],
  ['GET', '/home/f.html', { range: 'bytes=100-' }],
  ['GET', '/home/f.html', { 'want-repr-digest': 'sha-256=1' }],
  ['GET', '/home/f.html', { 'if-none-match': '*' }],
  ['GET', '/home/f.html', { 'if-match': '"other"' }],
  ['GET', '/home/f.html', { 'if-modified-since': new Date(Date.now() + 60_000).toUTCString() }],
  ['HEAD', '/home/f.html', {}],
  ['GET', '/home/f.html', { 'x-request-id': 'given' }],
  ['GET', '/home/empty', {}],
  ['GET', '/home/f.html/', {}],
];

test('a reply from memory and its events are equal to those of an opened file', whereFilesAreKept, async (t) => {
  const replies = async (bytes: number) => {
    const server = await startServer(t, { server: { file_cache_size: bytes } }, clockAhead);
    writeFileSync(join(server.home, 'f.html'), '<p>content</p>');
    writeFileSync(join(server.home, 'empty'), '');
    const opens = countOpens(t, join(server.home, 'f.html'));
    await server.get('/home/f.html');
    await server.get('/home/empty');
    const before = opens();
    const all: unknown[] = [];
    for (const [method, target, headers = {}] of requests) {
      const reply = await server.send(method, target, { headers });
      const etag = reply.headers.etag?.replace(/\w+/g, 'x');
      all.push(comparable({ ...reply, headers: { ...reply.headers, ...(etag && { etag }), 'last-modified': 'x' } }));
    }
    const events = (await server.events())
      .filter(({ id }) => Number(id) >= 40_000)
      .map(({ id, message, data, account, component }) => {
        const { request_id, duration, read_speed, ...others } = data;
        return { id, message, data: { ...others, members: Object.keys(data) }, account: account.name, component: component.type };
      });
    await server.stop();
    const told = JSON.stringify({ all, events }).replaceAll(server.folder, 'FOLDER');
    return { told: JSON.parse(told), opened: opens() - before };
  };
  const kept = await replies(1_000_000);
  const opened = await replies(0);
  assert.deepEqual(kept.told, opened.told);
  // Two requests open the file even if its content is in memory: HEAD, and the request for `f.html/`, the path of a folder.
  assert.deepEqual([kept.opened, opened.opened], [2, 12]);
});

test('a change by the service itself is visible in the next reply', whereFilesAreKept, async (t) => {
  const server = await startServer(t, {}, clockAhead);
  const status = async (target: string) => (await server.get(target)).status;
  const text = async (target: string) => (await server.get(target)).text;
  for (const content of ['first', 'again', 'third, longer']) {
    await server.put('/home/f', content);
    assert.equal(await text('/home/f'), content);
    assert.equal(await text('/home/f'), content);
  }
  await server.send('COPY', '/home/f', { headers: { destination: '/home/g' } });
  await server.put('/home/g', 'other');
  await server.send('MOVE', '/home/g', { headers: { destination: '/home/f', overwrite: 'T' } });
  assert.equal(await text('/home/f'), 'other');
  assert.equal(await status('/home/g'), 404);
  await server.send('PUT', '/home/folder/');
  await server.send('MOVE', '/home/f', { headers: { destination: '/home/folder/f' } });
  assert.equal(await text('/home/folder/f'), 'other');
  await server.send('MOVE', '/home/folder/', { headers: { destination: '/home/moved/' } });
  assert.deepEqual([await status('/home/folder/f'), await text('/home/moved/f')], [404, 'other']);
  await server.send('DELETE', '/home/moved/f');
  assert.equal(await status('/home/moved/f'), 404);
});

test('if a folder with a cached file is moved away and replaced by a link, the link is not followed', whereFilesAreKept, async (t) => {
  const server = await startServer(t, {}, clockAhead);
  const outside = temporaryFolder(t);
  mkdirSync(join(server.home, 'd'));
  writeFileSync(join(server.home, 'd', 'f'), 'inside');
  await server.get('/home/d/f');
  assert.equal((await server.get('/home/d/f')).text, 'inside');
  renameSync(join(server.home, 'd'), join(outside, 'd'));
  symlinkSync(join(outside, 'd'), join(server.home, 'd'));
  assert.equal((await server.get('/home/d/f')).status, 404);
});

test('new permissions and a new cache size take effect with a reload, and a logout at once', whereFilesAreKept, async (t) => {
  const server = await startServer(t, {}, clockAhead);
  writeFileSync(join(server.home, 'f'), 'content');
  const opens = countOpens(t, join(server.home, 'f'));
  const session = await server.login();
  const get = () => server.get('/home/f', { headers: { authorization: `session ${session}` } });
  await get();
  await get();
  assert.equal(opens(), 1);
  const reload = async (config: Parameters<typeof testConfig>[1]) => server.service.reload(await testConfig(server.folder, config));
  await reload({ server: { file_cache_size: 0 } });
  await get();
  await get();
  assert.equal(opens(), 3);
  await reload({ group: { permissions: [['allow-list']] } });
  assert.equal((await server.get('/home/f')).status, 403);
  await server.send('POST', '/__svc__/logout', { headers: { authorization: `session ${session}` } });
  assert.equal((await get()).status, 401);
  assert.equal(opens(), 3);
});

test('CORS headers are those for the requesting origin, even if another origin got the file before', whereFilesAreKept, async (t) => {
  const origins = ['https://a.example', 'https://b.example'];
  const server = await startServer(t, { service: { cors_origins: origins } }, clockAhead);
  writeFileSync(join(server.home, 'f'), 'content');
  for (const origin of [undefined, ...origins, undefined]) {
    const { status, headers } = await server.get('/home/f', { headers: origin ? { origin } : {} });
    assert.deepEqual([status, headers['access-control-allow-origin'], headers.vary], [200, origin, 'origin']);
  }
});
