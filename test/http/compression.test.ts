import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { testPassword } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const gzip = { 'accept-encoding': 'gzip, deflate, br' };

async function startLarge(t: TestContext) {
  const server = await startServer(t);
  for (let index = 0; index < 4000; index++) writeFileSync(join(server.home, `report-${String(index).padStart(5, '0')}.pdf`), '');
  return server;
}

test('a page of 4,000 entries takes about 250 bytes for each, and less than an eighth of that when compressed', async (t) => {
  const server = await startLarge(t);
  const page = await server.get('/home/?rows=all', { headers: { accept: 'text/html' } });
  assert.equal(page.text.match(/<tr data-size/g)?.length, 4000);
  assert.ok(page.body.length < 4000 * 250 + 10_000, `${page.body.length} bytes`);
  assert.equal(page.headers['content-encoding'], undefined, 'without Accept-Encoding the page is not compressed');
  const packed = await server.get('/home/?rows=all', { headers: { accept: 'text/html', ...gzip } });
  assert.equal(packed.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(packed.body).toString(), page.text);
  assert.ok(packed.body.length < page.body.length / 8, `${packed.body.length} of ${page.body.length} bytes`);
});

test('compressed listings have the same content, and all have Vary: Accept-Encoding', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'd'));
  for (const name of ['a', 'b', 'ü']) writeFileSync(join(server.home, 'd', name), name);
  for (const [method, headers] of [
    ['GET', { accept: 'text/html' }],
    ['GET', { accept: 'application/json' }],
    ['PROPFIND', { depth: '1' }],
  ] as const) {
    const plain = await server.send(method, '/home/d/', { headers });
    const packed = await server.send(method, '/home/d/', { headers: { ...headers, ...gzip } });
    assert.equal(packed.headers['content-encoding'], 'gzip', method);
    assert.equal(gunzipSync(packed.body).toString(), plain.text);
    for (const reply of [plain, packed]) assert.match(String(reply.headers.vary), /accept-encoding/);
  }
  const head = await server.send('HEAD', '/home/d/', { headers: { accept: 'text/html', ...gzip } });
  assert.deepEqual([head.headers['content-encoding'], head.body.length], ['gzip', 0]);
});

test('gzip needs an Accept-Encoding that permits it, and cross-origin requests get no compression', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), '');
  const codingFor = async (headers: Record<string, string>) =>
    (await server.get('/home/', { headers: { accept: 'text/html', ...headers } })).headers['content-encoding'];
  for (const value of ['gzip', 'GZIP;q=0.1', '*', 'br, *;q=0.5'])
    assert.equal(await codingFor({ 'accept-encoding': value }), 'gzip', value);
  for (const value of ['', 'br', 'identity', 'gzip;q=0', '*;q=0', 'gzip;q=0, *', 'gzip;q=nonsense'])
    assert.equal(await codingFor({ 'accept-encoding': value }), undefined, value);
  for (const site of ['same-origin', 'none']) assert.equal(await codingFor({ ...gzip, 'sec-fetch-site': site }), 'gzip', site);
  for (const site of ['cross-site', 'same-site', 'nonsense'])
    assert.equal(await codingFor({ ...gzip, 'sec-fetch-site': site }), undefined, site);
});

test('files of users, archives and replies with secrets are never compressed', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.html'), 'x'.repeat(10_000));
  const login = { 'content-type': 'application/json', accept: 'application/json', ...gzip };
  const replies = [
    await server.get('/home/a.html', { headers: gzip }),
    await server.get('/home/', { headers: { accept: 'application/zip', ...gzip } }),
    await server.send('POST', '/__svc__/login', { user: null, headers: login, body: `{"username":"alice","password":"${testPassword}"}` }),
    await server.get('/home/missing/', { headers: { accept: 'text/html', ...gzip } }),
  ];
  assert.deepEqual(
    replies.map((reply) => [reply.status, reply.headers['content-encoding']]),
    [200, 200, 200, 404].map((status) => [status, undefined]),
  );
});

test('compressed script, style and files of the API page have the same content; script and style take under 40 kB', async (t) => {
  const server = await startServer(t);
  const pages = [await server.get('/home/', { headers: { accept: 'text/html' } }), await server.get('/__svc__/openapi.html')];
  const [own = [], api = []] = pages.map((page) =>
    [...page.text.matchAll(/(?:href|src)="(\/__svc__\/assets\/[^"]+)"/g)].map((match) => match[1] ?? ''),
  );
  const sizes = new Map<string, number>();
  for (const path of new Set([...own, ...api])) {
    const plain = await server.get(path, { user: null });
    const packed = await server.get(path, { user: null, headers: { ...gzip, 'sec-fetch-site': 'same-origin' } });
    assert.equal(packed.headers['content-encoding'], 'gzip', path);
    assert.ok(gunzipSync(packed.body).equals(plain.body), path);
    assert.equal(Number(packed.headers['content-length']), packed.body.length);
    assert.match(String(plain.headers.vary), /accept-encoding/);
    sizes.set(path, packed.body.length);
  }
  const ownBytes = own.filter((path) => /\.(js|css)$/.test(path)).map((path) => sizes.get(path) ?? 0);
  assert.equal(ownBytes.length, 2);
  const sum = ownBytes.reduce((total, bytes) => total + bytes, 0);
  t.diagnostic(`script and style have ${sum} bytes compressed`);
  assert.ok(sum < 40_000, `${sum} bytes`);
});
