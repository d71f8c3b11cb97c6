import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

const content = 'abcdefghijklmnopqrstuvwxyz';

test('conditional GET and HEAD: 304 and 412 as RFC 9110 §13', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), content);
  utimesSync(join(server.home, 'a'), 1_700_000_000.9, 1_700_000_000.9);
  const { etag, 'last-modified': lastModified } = (await server.get('/home/a')).headers;
  assert.equal(lastModified, 'Tue, 14 Nov 2023 22:13:20 GMT');
  const cases: [Record<string, string>, number][] = [
    [{ 'if-none-match': String(etag) }, 304],
    [{ 'if-none-match': `W/${etag}` }, 304],
    [{ 'if-none-match': '*' }, 304],
    [{ 'if-none-match': '"other"' }, 200],
    [{ 'if-modified-since': String(lastModified) }, 304],
    [{ 'if-modified-since': 'Tuesday, 14-Nov-23 22:13:20 GMT' }, 304],
    [{ 'if-modified-since': 'Tue Nov 14 22:13:20 2023' }, 304],
    [{ 'if-modified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' }, 200],
    [{ 'if-modified-since': 'not a date' }, 200],
    [{ 'if-none-match': '"other"', 'if-modified-since': String(lastModified) }, 200],
    [{ 'if-match': String(etag) }, 200],
    [{ 'if-match': `W/${etag}` }, 412],
    [{ 'if-match': '"other"' }, 412],
    [{ 'if-match': '*' }, 200],
    [{ 'if-unmodified-since': String(lastModified) }, 200],
    [{ 'if-unmodified-since': 'Tue, 14 Nov 2023 22:13:19 GMT' }, 412],
  ];
  for (const method of ['GET', 'HEAD']) {
    for (const [headers, status] of cases) {
      const reply = await server.send(method, '/home/a', { headers });
      assert.equal(reply.status, status, `${method} ${JSON.stringify(headers)}`);
      if (status === 304) {
        assert.equal(reply.headers.etag, etag);
        assert.equal(reply.body.length, 0);
      }
    }
  }
});

test('conditional PUT and DELETE prevent lost updates', async (t) => {
  const server = await startServer(t);
  assert.equal((await server.put('/home/a', 'one', { headers: { 'if-none-match': '*' } })).status, 201);
  assert.equal((await server.put('/home/a', 'two', { headers: { 'if-none-match': '*' } })).status, 412);
  assert.equal((await server.put('/home/b', 'x', { headers: { 'if-match': '*' } })).status, 412);
  const first = (await server.get('/home/a')).headers.etag ?? '';
  const second = (await server.put('/home/a', 'two', { headers: { 'if-match': first } })).headers.etag ?? '';
  assert.notEqual(first, second);
  assert.equal((await server.put('/home/a', 'three', { headers: { 'if-match': first } })).status, 412);
  assert.equal((await server.send('DELETE', '/home/a', { headers: { 'if-match': first } })).status, 412);
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'two');
  assert.equal((await server.send('DELETE', '/home/a', { headers: { 'if-match': second } })).status, 204);
});

test('of many creators with If-None-Match: * exactly one wins', async (t) => {
  const server = await startServer(t);
  const replies = await Promise.all(
    Array.from({ length: 12 }, (_, index) => server.put('/home/once', `body ${index}`, { headers: { 'if-none-match': '*' } })),
  );
  assert.equal(replies.filter((reply) => reply.status === 201).length, 1);
  assert.equal(replies.filter((reply) => reply.status === 412).length, 11);
});

test('a single range gets a part, 416, or the whole file, and If-Range is respected', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), content);
  const cases: [string, number, string, string | undefined][] = [
    ['bytes=0-4', 206, 'abcde', 'bytes 0-4/26'],
    ['bytes=20-', 206, 'uvwxyz', 'bytes 20-25/26'],
    ['bytes=-3', 206, 'xyz', 'bytes 23-25/26'],
    ['bytes=0-999', 206, content, 'bytes 0-25/26'],
    ['bytes=26-', 416, '', 'bytes */26'],
    ['bytes=-0', 416, '', 'bytes */26'],
    ['bytes=5-4', 200, content, undefined],
    ['lines=0-4', 200, content, undefined],
    ['bytes=a-b', 200, content, undefined],
  ];
  for (const [range, status, body, contentRange] of cases) {
    const reply = await server.get('/home/a', { headers: { range } });
    assert.equal(reply.status, status, range);
    if (status !== 416) assert.equal(reply.text, body, range);
    assert.equal(reply.headers['content-range'], contentRange, range);
  }
  const { etag } = (await server.get('/home/a')).headers;
  assert.equal((await server.get('/home/a', { headers: { range: 'bytes=0-0', 'if-range': String(etag) } })).status, 206);
  assert.equal((await server.get('/home/a', { headers: { range: 'bytes=0-0', 'if-range': '"old"' } })).status, 200);
});

test('several ranges are sent as multipart/byteranges with an exact length', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a.txt'), content);
  const reply = await server.get('/home/a.txt', { headers: { range: 'bytes=0-1, 10-12,-2' } });
  assert.equal(reply.status, 206);
  const boundary = /boundary=(.+)$/.exec(reply.headers['content-type'] ?? '')?.[1] ?? '';
  assert.match(reply.headers['content-type'] ?? '', /^multipart\/byteranges; boundary=/);
  assert.equal(Number(reply.headers['content-length']), reply.body.length);
  const parts = reply.text
    .split(`--${boundary}`)
    .slice(1, -1)
    .map((part) => part.split('\r\n\r\n')[1]?.trimEnd());
  assert.deepEqual(parts, ['ab', 'klm', 'yz']);
  assert.match(reply.text, /Content-Range: bytes 10-12\/26/);
});

test('ranges that only cause work are ignored (CVE-2011-3192)', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), content);
  const overlapping = `bytes=${Array.from({ length: 40 }, (_, index) => `${index % 5}-`).join(',')}`;
  const many = `bytes=${Array.from({ length: 200 }, (_, index) => `${index}-${index}`).join(',')}`;
  for (const range of [overlapping, many]) assert.equal((await server.get('/home/a', { headers: { range } })).status, 200);
});

const sha256 = (text: string) => createHash('sha256').update(text).digest('base64');

test('an upload whose digest or length does not match is refused and leaves the old file', async (t) => {
  const server = await startServer(t);
  await server.put('/home/a', 'old');
  const md5 = createHash('md5').update('new').digest('base64');
  const sha1 = createHash('sha1').update('new').digest('hex');
  const good: Record<string, string>[] = [
    { 'content-md5': md5 },
    { 'content-digest': `sha-256=:${sha256('new')}:` },
    { 'repr-digest': `sha-512=:${createHash('sha512').update('new').digest('base64')}:, unknown=:AAAA:` },
    { 'oc-checksum': `SHA1:${sha1}` },
    { 'oc-checksum': 'ADLER32:02a1014b' },
  ];
  const adler = good.pop();
  for (const headers of good) assert.equal((await server.put('/home/b', 'new', { headers })).status, 201, JSON.stringify(headers));
  assert.ok(adler);
  const bad: Record<string, string>[] = [
    { 'content-md5': createHash('md5').update('other').digest('base64') },
    { 'content-digest': `sha-256=:${sha256('other')}:` },
    { 'repr-digest': `sha-256=:${sha256('other')}:` },
    { 'oc-checksum': `SHA1:${'0'.repeat(40)}` },
    { 'oc-checksum': 'ADLER32:00000000' },
    { 'content-md5': 'no base64!' },
    { 'content-digest': 'sha-256=oops' },
    { 'content-range': 'bytes 0-2/10' },
  ];
  for (const headers of bad) {
    const reply = await server.put('/home/a', 'new', { headers });
    assert.equal(reply.status, 400, JSON.stringify(headers));
    assert.ok(reply.json<{ errors: { message: string }[] }>().errors[0]?.message);
  }
  assert.equal((await server.put('/home/a', 'new', { headers: { 'content-encoding': 'gzip' } })).status, 415);
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'old');
  assert.deepEqual(await server.names('/home/'), ['a', 'b']);
});

test('Want-Repr-Digest returns the digest of the whole file', async (t) => {
  const server = await startServer(t);
  await server.put('/home/a', content);
  const reply = await server.get('/home/a', { headers: { 'want-repr-digest': 'sha-256=10', range: 'bytes=0-0' } });
  assert.equal(reply.headers['repr-digest'], `sha-256=:${sha256(content)}:`);
  assert.equal((await server.get('/home/a', { headers: { 'want-repr-digest': 'sha-256=0' } })).headers['repr-digest'], undefined);
});

test('?inline shows safe types, and never HTML or SVG', async (t) => {
  const server = await startServer(t);
  for (const [name, disposition, type] of [
    ['a.png', 'inline', 'image/png'],
    ['a.pdf', 'inline', 'application/pdf'],
    ['a.txt', 'inline', 'text/plain; charset=utf-8'],
    ['a.html', 'attachment', 'text/html; charset=utf-8'],
    ['a.svg', 'attachment', 'image/svg+xml'],
    ['a.xml', 'attachment', 'application/xml'],
    ['a.js', 'inline', 'text/plain; charset=utf-8'],
  ] as const) {
    await server.put(`/home/${name}`, '<script>alert(1)</script>');
    const reply = await server.get(`/home/${name}?inline`);
    assert.match(reply.headers['content-disposition'] ?? '', new RegExp(`^${disposition};`), name);
    assert.equal(reply.headers['content-type'], type);
    assert.match(String(reply.headers['content-security-policy']), /^sandbox;/);
  }
});
