import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { append, begin, content, hidden, newest, part, sha256, stored, uploads, whole } from '../../support/draft-uploads.ts';
import { cheapHash } from '../../support/passwords.ts';
import { until } from '../../support/receiver.ts';
import { testPassword } from '../../support/secrets.ts';
import { startServer } from '../../support/server.ts';
import { WatchedRequest } from '../../support/watched-request.ts';

/**
 * The comments before the tests list the covered MUSTs of the draft, or of tus. The draft is the version of 15 July 2026 (interop
 * version 9, later than -12), with the digests of RFC 9530.
 */

// MUSTs: a 104 has `Location`, and `Upload-Limit` if there is one (Creation); all replies to one request have one `Location`
// (Creation); no internal information in the URL (Security Considerations); no 104 if the interop version is missing or unsupported;
// each 104 has the interop version of its request.
test('a whole PUT gets a 104 if its client understands it, and the usual reply', async (t) => {
  const server = await startServer(t, { group: { file_write_size: 1_000_000 }, service: { maximum_request_size: 500_000 } });
  for (const [version, isTold] of [
    ['9', true],
    ['8', true],
    ['6', true],
    ['5', true],
    ['7', false],
    ['10', false],
    ['', false],
  ] as const) {
    const headers = {
      'upload-complete': '?1',
      'content-length': String(content.length),
      ...(version && { 'upload-draft-interop-version': version }),
    };
    const reply = await new WatchedRequest(server, 'PUT', `/home/a${version}`, headers).end(content);
    assert.equal(reply.status, 201, version);
    assert.match(String(reply.headers.etag), /^"/);
    assert.equal(reply.headers['server-path'], `/a${version}`);
    assert.deepEqual(stored(server, `a${version}`), content);
    assert.equal(reply.interim.length > 0, isTold, version);
    if (!isTold) continue;
    const [first] = reply.interim;
    assert.equal(first?.status, 104);
    assert.match(String(first?.headers.location), /^\/home\/__svc__\/uploads\/[\w-]{43}$/);
    assert.equal(first?.headers['upload-draft-interop-version'], version);
    assert.match(String(first?.headers['upload-limit']), /^max-size=1000000, max-append-size=500000, max-age=\d+$/);
    assert.equal(reply.headers['upload-complete'], '?1');
    assert.equal(reply.headers.location, first?.headers.location);
  }
  assert.deepEqual(hidden(server), []);
  const ends = (await server.events()).filter(({ id }) => id === '40017');
  assert.deepEqual(
    ends.map(({ data }) => data.resumed),
    [0, 0, 0, 0, undefined, undefined, undefined],
  );
  const old = await server.raw(
    `PUT /home/old HTTP/1.0\r\nHost: x\r\nAuthorization: Basic ${Buffer.from(`alice:${testPassword}`).toString('base64')}\r\n` +
      'Upload-Draft-Interop-Version: 8\r\nUpload-Complete: ?1\r\nContent-Length: 2\r\n\r\nok',
  );
  assert.match(old, /^HTTP\/1\.1 201 /, 'HTTP/1.0 knows no interim replies');
});

// MUSTs: a 100 is not replaced by a 104 (Status Code 104).
test('100 Continue is sent as usual, after the 104', async (t) => {
  const server = await startServer(t);
  const headers = { ...whole, expect: '100-continue', 'content-length': '5' };
  const request = new WatchedRequest(server, 'PUT', '/home/a', headers);
  await until('104 and 100 have arrived', () => request.interim.length === 2);
  const reply = await request.end(Buffer.from('hello'));
  assert.equal(reply.status, 201);
  assert.deepEqual(
    reply.interim.map(({ status }) => status),
    [104, 100],
  );
});

// MUSTs: the offset never decreases (Offset); HEAD and GET have offset, completeness, length and limits (Offset Retrieval); the length is
// recorded, and an interrupted upload is not complete (Creation, Append); the reply that completes has `Upload-Complete: ?1` (Append).
test('data received before a cut is kept, and the rest completes the upload; its begin and end are reported once', async (t) => {
  const server = await startServer(t);
  const first = new WatchedRequest(server, 'PUT', '/home/a.bin', { ...whole, 'content-length': String(content.length) });
  const url = await first.location();
  await first.write(content.subarray(0, 200_000));
  await until('the sent content has arrived', () =>
    hidden(server).some((name) => readFileSync(join(server.home, name)).length === 200_000),
  );
  first.cut();
  const head = await server.send('HEAD', url);
  assert.equal(head.status, 204);
  assert.equal(head.headers['upload-offset'], '200000');
  assert.equal(head.headers['upload-complete'], '?0');
  assert.equal(head.headers['upload-length'], String(content.length));
  assert.match(String(head.headers['upload-limit']), /^max-age=\d+$/);
  assert.equal(head.headers['cache-control'], 'no-store');
  assert.deepEqual(await server.names('/home/'), [], 'nothing is visible before the upload is whole');
  const rest = await server.send('PATCH', url, { headers: append(200_000, true), body: content.subarray(200_000) });
  assert.equal(rest.status, 201);
  assert.equal(rest.headers['upload-complete'], '?1');
  assert.equal(rest.headers['server-path'], '/a.bin');
  assert.deepEqual(stored(server, 'a.bin'), content);
  assert.deepEqual(hidden(server), []);
  const events = (await server.events()).filter(({ data }) => data.path === '/a.bin');
  assert.deepEqual(
    events.map(({ id }) => id),
    ['40021', '40018', '40017'],
  );
  assert.equal(events[2]?.data.resumed, 1);
  assert.equal(events[2]?.data.total_write, content.length);
  // The reply may have been lost, so the client can ask for it.
  const after = await server.send('HEAD', url);
  assert.deepEqual([after.headers['upload-complete'], after.headers['upload-offset']], ['?1', String(content.length)]);
  const again = await server.send('PATCH', url, { headers: append(content.length, true) });
  assert.deepEqual([again.status, again.headers.etag], [201, rest.headers.etag]);
  assert.equal((await server.events()).filter(({ id }) => id === '40017').length, 1);
});

test('a PUT that breaks off leaves nothing if its client did not get the URL', async (t) => {
  const server = await startServer(t);
  for (const headers of [{ 'upload-complete': '?1' }, { 'upload-complete': '?0' }, {}]) {
    const request = new WatchedRequest(server, 'PUT', '/home/a', { ...headers, 'content-length': '100000' });
    await request.write(content.subarray(0, 50_000));
    await until('the upload has begun', () => hidden(server).length > 0);
    request.cut();
    await until('no hidden file is left', () => hidden(server).length === 0);
  }
  await until('all three ends are reported', async () => (await server.events()).filter(({ id }) => id === '40022').length === 3);
});

// MUSTs: the offset never decreases (Offset); the reply to an incomplete creation has `Location` and `Upload-Limit` (Creation).
test('uploads in parts may use PUT, POST with a name, an empty last request, and a length that is sent late', async (t) => {
  const server = await startServer(t);
  mkdirSync(join(server.home, 'in box'));
  const byPut = await begin(server, 'p', content.subarray(0, 100_000), { 'upload-length': String(content.length) });
  const middle = await server.send('PATCH', byPut, { headers: append(100_000, false), body: content.subarray(100_000) });
  assert.deepEqual([middle.status, middle.headers['upload-offset'], middle.headers['upload-complete']], [204, '300000', '?0']);
  assert.equal(existsSync(join(server.home, 'p')), false, 'only the client says when an upload is whole');
  const head = await server.send('HEAD', byPut);
  assert.equal(head.headers['upload-offset'], '300000', 'HEAD has the newest offset');
  assert.equal((await server.send('PATCH', byPut, { headers: append(300_000, true) })).status, 201);
  assert.deepEqual(stored(server, 'p'), content);

  const named = { ...part, 'content-disposition': `inline; filename="x"; filename*=UTF-8''%C3%BC%20b.bin` };
  const byPost = await server.send('POST', `${uploads}?folder=${encodeURIComponent('/in box')}`, { headers: named });
  assert.deepEqual([byPost.status, byPost.headers['upload-offset']], [201, '0']);
  const url = String(byPost.headers.location);
  assert.equal((await server.send('HEAD', url)).headers['upload-length'], undefined);
  const last = await server.send('PATCH', url, { headers: { ...append(0, true), 'transfer-encoding': 'chunked' }, body: content });
  assert.deepEqual([last.status, last.headers['server-path']], [201, Buffer.from('/in box/ü b.bin').toString('latin1')]);
  assert.deepEqual(readFileSync(join(server.home, 'in box', 'ü b.bin')), content);
  assert.equal((await server.send('POST', '/home/p', { headers: part })).status, 405, 'a file does not support POST');
});

// MUSTs: a field with a malformed value is ignored; lengths given in two ways match, in one request and in several (Length);
// `Upload-Limit` in the reply to OPTIONS, `min-size=0` without limits (Limits); a wrong offset gets 409 with the right one and `?0`
// (Append).
test('offsets, lengths and types that do not fit are refused, and change nothing', async (t) => {
  const server = await startServer(t, {
    accounts: { bob: { password: await cheapHash('bobs password') } },
  });
  const url = await begin(server, 'a', content.subarray(0, 1000), { 'upload-length': '3000' });
  const type = 'https://iana.org/assignments/http-problem-types#';
  for (const offset of [0, 999, 1001, 3000, 5000]) {
    const reply = await server.send('PATCH', url, { headers: append(offset, false), body: content.subarray(0, 10) });
    assert.equal(reply.status, 409);
    assert.equal(reply.headers['content-type'], 'application/problem+json');
    assert.deepEqual([reply.headers['upload-offset'], reply.headers['upload-complete']], ['1000', '?0']);
    const body = reply.json();
    assert.deepEqual([body.type, body['expected-offset'], body['provided-offset']], [`${type}mismatching-upload-offset`, 1000, offset]);
  }
  const refused: [number, Record<string, string>, Buffer?][] = [
    [400, { ...append(1000, false), 'upload-length': '4000' }],
    [400, append(1000, true), content.subarray(0, 10)],
    [415, { ...append(1000, false), 'content-type': 'application/octet-stream' }],
    [400, { 'content-type': 'application/partial-upload', 'upload-offset': '1000' }],
    [400, { 'content-type': 'application/partial-upload', 'upload-complete': '?0' }],
    [400, { ...append(1000, false), 'upload-offset': '1e3' }],
    [400, { ...append(1000, false), 'upload-complete': 'true' }],
    [400, { ...append(1000, false), 'content-digest': 'sha-256=:x:' }],
  ];
  for (const [status, headers, body] of refused) {
    const reply = await server.send('PATCH', url, { headers, ...(body && { body }) });
    assert.equal(reply.status, status, JSON.stringify(headers));
    assert.equal((await server.send('HEAD', url)).headers['upload-offset'], '1000');
  }
  const inconsistent = await server.send('PATCH', url, { headers: append(1000, true), body: content.subarray(0, 10) });
  assert.equal(inconsistent.json().type, `${type}inconsistent-upload-length`);
  assert.equal((await server.put('/home/b', 'x', { headers: { ...whole, 'upload-length': '2' } })).status, 400);
  for (const strange of [`${url}x`, `${uploads}x`, `${uploads}${'A'.repeat(43)}`, `${uploads}a/b`, `${uploads}%2e%2e%2fx`])
    assert.equal((await server.send('HEAD', strange)).status, 404, strange);
  const bob = { user: 'bob:bobs password' };
  for (const method of ['HEAD', 'DELETE', 'PATCH'])
    assert.equal(
      (await server.send(method, url, { ...bob, headers: append(1000, false) })).status,
      404,
      'for another account the upload does not exist',
    );
  assert.equal((await server.send('HEAD', url, { user: null })).status, 401);
  assert.equal((await server.send('PUT', url)).status, 405);
  assert.match(String((await server.send('OPTIONS', url, { user: null })).headers.allow), /PATCH/);
  assert.equal((await server.send('OPTIONS', '/home/new', { user: null })).headers['upload-limit'], 'min-size=0');
});

// MUSTs: content that exceeds the length makes the upload invalid (Append).
test('more content than announced ends an upload, and the old file stays', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), 'old');
  for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
    const url = await begin(server, 'a', content.subarray(0, 1000), { 'upload-length': '1005' });
    const reply = await server.send('PATCH', url, { headers: { ...append(1000, false), ...headers }, body: content.subarray(0, 10) });
    assert.deepEqual([reply.status, reply.headers['upload-complete']], [400, '?1']);
    assert.equal((await server.send('HEAD', url)).status, 410);
    assert.equal((await server.send('PATCH', url, { headers: append(1000, true) })).status, 410);
  }
  assert.deepEqual(hidden(server), []);
  assert.equal(String(stored(server, 'a')), 'old');
  assert.equal((await server.events()).filter(({ id }) => id === '40022').length, 2);
});

test('content with a digest counts as a whole or not at all; the digest of the file is checked at the end', async (t) => {
  const server = await startServer(t);
  const half = content.subarray(0, 150_000);
  const url = await begin(server, 'a', half, {
    'content-digest': sha256(half),
    'repr-digest': sha256(content),
    'want-repr-digest': 'sha-256=1',
  });
  const rest = content.subarray(150_000);
  const wrong = await server.send('PATCH', url, { headers: { ...append(150_000, true), 'content-digest': sha256(half) }, body: rest });
  assert.equal(wrong.status, 400);
  assert.equal(wrong.headers['upload-complete'], '?0');
  assert.equal((await server.send('HEAD', url)).headers['upload-offset'], '150000');
  const cut = new WatchedRequest(server, 'PATCH', url, {
    ...newest,
    ...append(150_000, true),
    'content-digest': sha256(rest),
    'content-length': '150000',
  });
  await cut.write(rest.subarray(0, 100_000));
  cut.cut();
  assert.equal((await server.send('HEAD', url)).headers['upload-offset'], '150000', 'a cut request with a digest does not count');
  const right = await server.send('PATCH', url, { headers: { ...append(150_000, true), 'content-digest': sha256(rest) }, body: rest });
  assert.equal(right.status, 201);
  assert.equal(right.headers['repr-digest'], sha256(content));

  const spoilt = await begin(server, 'b', half, { 'repr-digest': sha256(half) });
  const end = await server.send('PATCH', spoilt, { headers: append(150_000, true), body: rest });
  assert.deepEqual([end.status, end.headers['upload-complete']], [400, '?1']);
  assert.equal((await server.send('HEAD', spoilt)).status, 410);
  const atOnce = await server.put('/home/c', content, { headers: { ...whole, 'repr-digest': sha256(half) } });
  assert.equal(atOnce.status, 400);
  assert.deepEqual([existsSync(join(server.home, 'b')), existsSync(join(server.home, 'c'))], [false, false]);
  assert.deepEqual(hidden(server), []);
});

// MUSTs: no race, loss or corruption by concurrent requests (Concurrency); an offset that was sent is accepted (Concurrency).
test('a newer request for an upload cuts the older one', async (t) => {
  const server = await startServer(t);
  const url = await begin(server, 'a', content.subarray(0, 1000));
  const stuck = new WatchedRequest(server, 'PATCH', url, { ...append(1000, true), 'content-length': '299000' });
  await stuck.write(content.subarray(1000, 100_000));
  await until('the sent content has arrived', () =>
    hidden(server).some((name) => readFileSync(join(server.home, name)).length === 100_000),
  );
  const head = await server.send('HEAD', url);
  assert.equal(head.headers['upload-offset'], '100000');
  assert.equal((await stuck.done).status, 0, 'the older request was cut');
  const last = await server.send('PATCH', url, { headers: append(100_000, true), body: content.subarray(100_000) });
  assert.equal(last.status, 201);
  assert.deepEqual(stored(server, 'a'), content);
});

test('a cancelled upload no longer exists, and is reported; when a completed one is deleted, its file stays', async (t) => {
  const server = await startServer(t);
  const url = await begin(server, 'a', content);
  assert.equal((await server.send('DELETE', url)).status, 204);
  assert.deepEqual(hidden(server), []);
  for (const method of ['HEAD', 'DELETE']) assert.equal((await server.send(method, url)).status, 404);
  const events = (await server.events()).filter(({ id }) => ['40069', '40022'].includes(id));
  assert.deepEqual(
    events.map(({ id, data }) => [id, data.reason ?? data.total_write]),
    [
      ['40069', 'cancelled'],
      ['40022', content.length],
    ],
  );
  const done = await begin(server, 'b', content);
  await server.send('PATCH', done, { headers: append(content.length, true) });
  assert.equal((await server.send('DELETE', done)).status, 204);
  assert.equal((await server.send('HEAD', done)).status, 404);
  assert.deepEqual(stored(server, 'b'), content);
});
