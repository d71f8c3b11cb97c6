import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer, type TestServer } from '../../support/server.ts';

const uploads = '/home/__svc__/uploads/';
const tus = { 'tus-resumable': '1.0.0' };
const content = randomBytes(300_000);
const metadata = (pairs: Record<string, string>) =>
  Object.entries(pairs)
    .map(([key, value]) => `${key} ${Buffer.from(value).toString('base64')}`)
    .join(',');
const append = (offset: number) => ({ ...tus, 'upload-offset': String(offset), 'content-type': 'application/offset+octet-stream' });

async function create(server: TestServer, length: number | undefined, pairs: Record<string, string>): Promise<string> {
  const size: Record<string, string> = length === undefined ? { 'upload-defer-length': '1' } : { 'upload-length': String(length) };
  const reply = await server.send('POST', uploads, { headers: { ...tus, ...size, 'upload-metadata': metadata(pairs) } });
  assert.equal(reply.status, 201, reply.text);
  assert.equal(reply.headers['tus-resumable'], '1.0.0');
  if (length !== 0) assert.ok(Date.parse(String(reply.headers['upload-expires'])) > Date.now());
  return String(reply.headers.location);
}

const hidden = (server: TestServer) => readdirSync(server.home).filter((name) => name.startsWith('.svc-'));

// MUSTs: `Tus-Resumable` in every reply, 401 and 405 too; OPTIONS ignores it; `Tus-Version`, `Tus-Extension`, `Tus-Checksum-Algorithm`
// by OPTIONS.
test('OPTIONS lists versions and extensions, also without a login', async (t) => {
  const server = await startServer(t);
  for (const [target, headers] of [
    [uploads, {}],
    [uploads, { 'tus-resumable': '0.2.2' }],
    [`${uploads}x`, {}],
  ] as const) {
    const reply = await server.send('OPTIONS', target, { user: null, headers });
    assert.equal(reply.status, 204);
    assert.equal(reply.headers['tus-version'], '1.0.0');
    assert.equal(reply.headers['tus-resumable'], '1.0.0');
    assert.equal(reply.headers['tus-checksum-algorithm'], 'sha1,sha256,md5');
    const extensions = 'creation,creation-with-upload,creation-defer-length,checksum,termination,expiration';
    assert.equal(reply.headers['tus-extension'], extensions);
  }
});

// MUSTs: HEAD has `Upload-Offset`, even if 0 or complete, `Upload-Length` if known, `no-store`, and the metadata; PATCH gets 204 with
// the new offset; creation gets 201 with `Location`, or 413 if too long; `Upload-Expires` in replies to POST and to PATCH, even in 409
// and 460.
test('a tus upload can be created, continued and completed', async (t) => {
  const server = await startServer(t, { service: { metadata_fields: 'x-labels' } });
  mkdirSync(join(server.home, 'in'));
  const url = await create(server, content.length, { filename: 'ü.bin', folder: '/in', 'x-labels': 'a=1,a=2' });
  const fresh = await server.send('HEAD', url, { headers: tus });
  assert.deepEqual([fresh.status, fresh.headers['upload-offset'], fresh.headers['upload-length']], [200, '0', '300000']);
  assert.equal(fresh.headers['upload-metadata'], metadata({ filename: 'ü.bin', folder: '/in', 'x-labels': 'a=1,a=2' }));
  assert.equal(fresh.headers['cache-control'], 'no-store');
  const first = await server.send('PATCH', url, { headers: append(0), body: content.subarray(0, 100_000) });
  assert.deepEqual([first.status, first.headers['upload-offset'], first.headers['tus-resumable']], [204, '100000', '1.0.0']);
  assert.ok(Date.parse(String(first.headers['upload-expires'])) > Date.now());
  assert.equal((await server.send('HEAD', url, { headers: tus })).headers['upload-offset'], '100000');
  const last = await server.send('PATCH', url, { headers: append(100_000), body: content.subarray(100_000) });
  assert.deepEqual([last.status, last.headers['upload-offset']], [204, '300000']);
  assert.deepEqual(readFileSync(join(server.home, 'in', 'ü.bin')), content);
  const done = await server.send('HEAD', url, { headers: tus });
  assert.deepEqual([done.headers['upload-offset'], done.headers['upload-length']], ['300000', '300000']);
  const again = await server.send('PATCH', url, { headers: append(300_000) });
  assert.deepEqual([again.status, again.headers['upload-offset']], [204, '300000']);
  const events = (await server.events()).filter(({ data }) => data.path === '/in/ü.bin');
  assert.deepEqual(
    events.map(({ id }) => id),
    ['40021', '40017'],
  );
  assert.deepEqual([events[1]?.data.resumed, events[1]?.data.metadata], [1, { a: ['1', '2'] }]);
  assert.deepEqual(hidden(server), []);
});

// MUSTs: `X-HTTP-Method-Override`; an upload of length 0 is complete at once; `Upload-Defer-Length: 1` until the length is known; a known
// length stays; creation with content has `Upload-Offset`.
test('tus supports content in the creation, empty files, a length that is sent later, and other methods sent as POST', async (t) => {
  const server = await startServer(t);
  const headers = {
    ...tus,
    'upload-length': '5',
    'upload-metadata': metadata({ path: '/a' }),
    'content-type': 'application/offset+octet-stream',
  };
  const whole = await server.send('POST', uploads, { headers, body: 'hello' });
  assert.deepEqual([whole.status, whole.headers['upload-offset'], whole.headers['server-path']], [201, '5', '/a']);
  const half = await server.send('POST', uploads, { headers: { ...headers, 'upload-metadata': metadata({ path: 'b' }) }, body: 'he' });
  assert.deepEqual([half.status, half.headers['upload-offset']], [201, '2']);
  const url = String(half.headers.location);
  const override = (method: string) => ({ ...append(2), 'x-http-method-override': method });
  assert.equal((await server.send('POST', url, { headers: override('PATCH'), body: 'llo' })).status, 204);
  assert.equal(readFileSync(join(server.home, 'b'), 'utf8'), 'hello');
  assert.equal((await server.send('POST', url, { headers: override('DELETE') })).status, 204);
  assert.equal((await server.send('POST', url, { headers: override('BREW') })).status, 405);
  await create(server, 0, { filename: 'empty' });
  assert.equal(readFileSync(join(server.home, 'empty')).length, 0, 'an empty file is complete without content');
  const deferred = await create(server, undefined, { path: '/later' });
  const head = await server.send('HEAD', deferred, { headers: tus });
  assert.deepEqual([head.headers['upload-defer-length'], head.headers['upload-length']], ['1', undefined]);
  assert.equal((await server.send('PATCH', deferred, { headers: append(0), body: 'hel' })).status, 204);
  const last = await server.send('PATCH', deferred, { headers: { ...append(3), 'upload-length': '5' }, body: 'lo' });
  assert.equal(last.status, 204);
  assert.equal(readFileSync(join(server.home, 'later'), 'utf8'), 'hello');
});

// MUSTs: a wrong checksum, or an unknown algorithm, leaves the offset; sha1 is supported; no trailers.
test('a checksum accepts or rejects a request as a whole', async (t) => {
  const server = await startServer(t);
  const url = await create(server, content.length, { path: '/a' });
  const of = (algorithm: string, data: Buffer) => ({
    'upload-checksum': `${algorithm} ${createHash(algorithm).update(data).digest('base64')}`,
  });
  let offset = 0;
  for (const algorithm of ['sha1', 'sha256', 'md5']) {
    const chunk = content.subarray(offset, offset + 100_000);
    const wrong = await server.send('PATCH', url, { headers: { ...append(offset), ...of(algorithm, content) }, body: chunk });
    assert.equal(wrong.status, 460);
    assert.ok(wrong.headers['upload-expires']);
    assert.equal((await server.send('HEAD', url, { headers: tus })).headers['upload-offset'], String(offset));
    const right = await server.send('PATCH', url, { headers: { ...append(offset), ...of(algorithm, chunk) }, body: chunk });
    assert.equal(right.status, 204, right.text);
    if (offset === 0) {
      const unknown = { ...append(100_000), 'upload-checksum': 'crc32 AAAA' };
      assert.equal((await server.send('PATCH', url, { headers: unknown, body: chunk })).status, 400);
      const behind = { ...append(100_000), 'transfer-encoding': 'chunked', trailer: 'X-Y, Upload-Checksum' };
      assert.equal((await server.send('PATCH', url, { headers: behind, body: chunk })).status, 400, 'a checksum in a trailer is refused');
    }
    offset += 100_000;
  }
  assert.deepEqual(readFileSync(join(server.home, 'a')), content);
  for (const bad of ['crc32 AAAA', 'sha1', 'sha1 !', 'md5 AAAA']) {
    const headers = { ...append(0), 'upload-length': '1', 'upload-metadata': metadata({ path: '/b' }), 'upload-checksum': bad };
    assert.equal((await server.send('POST', uploads, { headers, body: 'x' })).status, 400, bad);
  }
});

// MUSTs: metadata is validated (Security Considerations); `Tus-Resumable` in every reply, 401 and 405 too; OPTIONS ignores it; other
// versions get 412 with `Tus-Version`, and are not processed; a wrong offset gets 409 and changes nothing; creation gets 201 with
// `Location`, or 413 if too long; HEAD has the metadata; `Upload-Defer-Length: 1` until the length is known; a known length
// stays; `Upload-Expires` in replies to POST and to PATCH, even in 409 and 460.
test('bad requests are refused, and change nothing', async (t) => {
  const server = await startServer(t, { group: { file_write_size: 1000 } });
  const path = { 'upload-metadata': metadata({ path: '/a' }) };
  const creations: [number, Record<string, string>, string?][] = [
    [412, { 'tus-resumable': '0.2.2', 'upload-length': '1', ...path }],
    [400, { ...tus, ...path }],
    [400, { ...tus, 'upload-defer-length': '2', ...path }],
    [400, { ...tus, 'upload-length': '1', 'upload-defer-length': '1', ...path }],
    [400, { ...tus, 'upload-length': '-1', ...path }],
    [400, { ...tus, 'upload-length': '1' }],
    [413, { ...tus, 'upload-length': '1001', ...path }],
    [415, { ...tus, 'upload-length': '1', ...path, 'content-type': 'text/plain' }, 'x'],
    [400, { ...tus, 'upload-length': '1', 'upload-metadata': 'path L2E=,path L2E=' }],
    [400, { ...tus, 'upload-length': '1', 'upload-metadata': 'path L2E=, ' }],
    [400, { ...tus, 'upload-length': '1', 'upload-metadata': 'path //8=' }],
    [400, { ...tus, 'upload-length': '1', 'upload-metadata': metadata({ path: '/../a' }) }],
    [400, { ...tus, 'upload-length': '1', 'upload-metadata': metadata({ filename: 'a/b' }) }],
    [400, { ...tus, 'upload-length': '1', 'upload-metadata': metadata({ filename: 'x', folder: '/a/..' }) }],
    [403, { ...tus, 'upload-length': '1', 'upload-metadata': metadata({ path: '/__svc__/x' }) }],
    [422, { ...tus, 'upload-length': '1', 'upload-metadata': metadata({ path: '/none/x' }) }],
    [422, { ...tus, 'upload-length': '1', 'upload-metadata': metadata({ path: '/' }) }],
  ];
  for (const [status, headers, body] of creations) {
    const reply = await server.send('POST', uploads, { headers, ...(body && { body }) });
    assert.equal(reply.status, status, `${JSON.stringify(headers)}: ${reply.text}`);
    assert.equal(reply.headers['tus-resumable'], '1.0.0');
    if (status === 412) assert.equal(reply.headers['tus-version'], '1.0.0');
  }
  const url = await create(server, 1000, { path: '/a' });
  await server.send('PATCH', url, { headers: append(0), body: content.subarray(0, 400) });
  const patches: [number, Record<string, string>, number][] = [
    [409, append(0), 10],
    [409, append(401), 10],
    [400, { ...append(400), 'upload-offset': 'x' }, 10],
    [400, { ...tus, 'content-type': 'application/offset+octet-stream' }, 10],
    [415, { ...append(400), 'content-type': 'application/octet-stream' }, 10],
    [413, append(400), 601],
    [400, { ...append(400), 'transfer-encoding': 'chunked' }, 601],
    [400, { ...append(400), 'upload-length': '2000' }, 10],
    [412, { ...append(400), 'tus-resumable': '2' }, 10],
  ];
  for (const [status, headers, bytes] of patches) {
    const reply = await server.send('PATCH', url, { headers, body: content.subarray(0, bytes) });
    assert.equal(reply.status, status, `${JSON.stringify(headers)}: ${reply.text}`);
    assert.equal(reply.headers['tus-resumable'], '1.0.0');
    if ([409, 413].includes(status)) assert.ok(Date.parse(String(reply.headers['upload-expires'])) > Date.now(), JSON.stringify(headers));
    if (!headers['transfer-encoding'])
      assert.equal((await server.send('HEAD', url, { headers: tus })).headers['upload-offset'], '400', JSON.stringify(headers));
  }
  assert.equal(existsSync(join(server.home, 'a')), false);
  for (const [status, method, user] of [
    [401, 'HEAD', null],
    [405, 'PUT', undefined],
  ] as const) {
    const reply = await server.send(method, url, { headers: tus, ...(user === null && { user }) });
    assert.deepEqual([reply.status, reply.headers['tus-resumable']], [status, '1.0.0'], method);
  }
  assert.equal((await server.send('HEAD', url)).headers['tus-resumable'], undefined);
});

test('errors that end an upload have a status after which no client retries', async (t) => {
  const server = await startServer(t, { group: { quota_size: 500_000 } });
  const cases: [number, string, () => unknown][] = [
    [422, 'folder', () => mkdirSync(join(server.home, 'folder'))],
    [422, 'gone/x', () => server.send('DELETE', '/home/gone/')],
    [422, 'full', () => server.put('/home/filler', Buffer.alloc(450_000))],
  ];
  mkdirSync(join(server.home, 'gone'));
  for (const [status, path, meanwhile] of cases) {
    const url = await create(server, 200_000, { path });
    await server.send('PATCH', url, { headers: append(0), body: content.subarray(0, 1000) });
    await meanwhile();
    const reply = await server.send('PATCH', url, { headers: append(1000), body: content.subarray(1000, 200_000) });
    assert.equal(reply.status, path === 'gone/x' ? 410 : status, path);
    const after = await server.send('HEAD', url, { headers: tus });
    assert.equal(after.status, path === 'gone/x' ? 410 : status, path);
    assert.equal(after.headers['upload-offset'], undefined);
  }
  assert.deepEqual(hidden(server), []);
});

// MUSTs: DELETE gets 204, and later requests get 404 or 410.
test('a terminated upload no longer exists', async (t) => {
  const server = await startServer(t);
  const url = await create(server, 10, { path: '/a' });
  assert.equal((await server.send('DELETE', url, { headers: tus })).status, 204);
  for (const method of ['HEAD', 'DELETE']) assert.equal((await server.send(method, url, { headers: tus })).status, 404);
  assert.deepEqual(hidden(server), []);
});

test('an upload that began with the draft can continue with tus, and the other way round', async (t) => {
  const server = await startServer(t);
  const draft = { 'upload-draft-interop-version': '8', 'content-type': 'application/partial-upload' };
  const begun = await server.send('PUT', '/home/a.bin', {
    headers: { 'upload-draft-interop-version': '8', 'upload-complete': '?0' },
    body: content.subarray(0, 100_000),
  });
  const url = String(begun.headers.location);
  const head = await server.send('HEAD', url, { headers: tus });
  assert.deepEqual([head.status, head.headers['upload-offset'], head.headers['upload-defer-length']], [200, '100000', '1']);
  const headers = { ...append(100_000), 'upload-length': String(content.length) };
  assert.equal((await server.send('PATCH', url, { headers, body: content.subarray(100_000) })).status, 204);
  assert.deepEqual(readFileSync(join(server.home, 'a.bin')), content);

  const other = await create(server, content.length, { filename: 'b.bin' });
  assert.equal((await server.send('PATCH', other, { headers: append(0), body: content.subarray(0, 100_000) })).status, 204);
  const last = { ...draft, 'upload-offset': '100000', 'upload-complete': '?1' };
  assert.equal((await server.send('PATCH', other, { headers: last, body: content.subarray(100_000) })).status, 201);
  assert.deepEqual(readFileSync(join(server.home, 'b.bin')), content);
});
