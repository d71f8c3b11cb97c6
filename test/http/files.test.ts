import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { testBasic, testUser } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

const awkwardNames = [
  'a b.txt',
  'ü ñ 漢字.txt',
  '😀.bin',
  '100%.txt',
  "it's;&=+$,@!.txt",
  '#hash?.txt',
  '"quoted".txt',
  '..hidden',
  '...',
  '-rf',
  'a\\b',
];

test('an uploaded file can be downloaded', async (t) => {
  const server = await startServer(t);
  const put = await server.put('/home/a.txt', 'hello');
  assert.equal(put.status, 201);
  assert.equal(put.headers['server-path'], '/a.txt');
  assert.equal(readFileSync(join(server.home, 'a.txt'), 'utf8'), 'hello');

  const got = await server.get('/home/a.txt');
  assert.equal(got.status, 200);
  assert.equal(got.text, 'hello');
  assert.equal(got.headers['server-path'], '/a.txt');
  assert.match(String(got.headers.server), /^svc\/\d+\.\d+\.\d+/);
  assert.equal(got.headers['content-length'], '5');
  assert.equal(got.headers['content-type'], 'text/plain; charset=utf-8');
  assert.equal(got.headers['x-content-type-options'], 'nosniff');
  assert.equal(got.headers['content-disposition'], 'attachment; filename="a.txt"');
  assert.equal(got.headers.etag, put.headers.etag);

  const head = await server.send('HEAD', '/home/a.txt');
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
  assert.equal(head.headers['content-length'], '5');
  assert.deepEqual(await server.eventIds(), [40021, 40017, 40004, 40039, 40005]);
});

test('overwriting answers 201 and keeps the mode of the file', async (t) => {
  const server = await startServer(t);
  writeFileSync(join(server.home, 'a'), 'old');
  chmodSync(join(server.home, 'a'), 0o640);
  assert.equal((await server.put('/home/a', 'new content')).status, 201);
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'new content');
  assert.equal(statSync(join(server.home, 'a')).mode & 0o777, 0o640);
});

test('awkward names stay unchanged in uploads, downloads, listings and deletions', async (t) => {
  const server = await startServer(t);
  for (const name of awkwardNames) {
    const url = `/home/${encodeURIComponent(name)}`;
    assert.equal((await server.put(url, name)).status, 201, name);
    const got = await server.get(url);
    assert.equal(got.text, name);
  }
  assert.deepEqual((await server.names('/home/')).toSorted(), awkwardNames.toSorted());
  for (const name of awkwardNames) assert.equal((await server.send('DELETE', `/home/${encodeURIComponent(name)}`)).status, 204, name);
  assert.deepEqual(readdirSync(server.home), []);
});

test('large, chunked and empty bodies are stored unchanged', async (t) => {
  const server = await startServer(t);
  const large = Buffer.alloc(5 * 1024 * 1024 + 17, 'abcdefg');
  assert.equal((await server.put('/home/large', large)).status, 201);
  assert.ok((await server.get('/home/large')).body.equals(large));
  assert.equal((await server.put('/home/chunked', large, { headers: { 'transfer-encoding': 'chunked' } })).status, 201);
  assert.ok(readFileSync(join(server.home, 'chunked')).equals(large));
  assert.equal((await server.put('/home/empty', '')).status, 201);
  assert.equal(statSync(join(server.home, 'empty')).size, 0);
  assert.equal((await server.get('/home/empty')).text, '');
});

test('folders are created or refused, listed in code point order, and deleted with their content; a URL without the slash redirects', async (t) => {
  const server = await startServer(t);
  assert.equal((await server.send('PUT', '/home/d/')).status, 201);
  assert.equal((await server.send('PUT', '/home/d/')).status, 409);
  assert.equal((await server.send('PUT', '/home/x/y/')).status, 409, 'the parent is missing');
  assert.equal((await server.put('/home/d', 'x')).status, 409, 'a folder has this name');
  assert.equal((await server.put('/home/x/y', 'x')).status, 409, 'the parent is missing');
  await server.put('/home/f', 'x');
  assert.equal((await server.send('PUT', '/home/f/')).status, 409, 'a file has this name');
  assert.equal((await server.get('/home/f/')).status, 404, 'a file is not a folder');

  const redirect = await server.get('/home/d?x=1');
  assert.equal(redirect.status, 302);
  assert.equal(redirect.headers.location, '/home/d/?x=1');
  assert.equal((await server.send('DELETE', '/home/d')).status, 307);

  for (const name of ['b', 'a', 'Z', '\ue000', '😀']) await server.put(`/home/d/${encodeURIComponent(name)}`, 'x');
  await server.send('PUT', '/home/d/aa/');
  const listing = await server.get('/home/d/', { headers: { accept: 'application/json' } });
  assert.equal(listing.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(listing.headers['server-path'], '/d');
  const { content } = listing.json<{ content: Record<string, unknown>[] }>();
  assert.deepEqual(
    content.map((entry) => entry.name),
    ['Z', 'a', 'aa', 'b', '\ue000', '😀'],
  );
  assert.deepEqual(Object.keys(content[0] ?? {}), ['name', 'is_directory', 'modified', 'size']);
  assert.deepEqual([content[2]?.is_directory, content[2]?.size, content[1]?.is_directory, content[1]?.size], [true, 0, false, 1]);
  const modified = statSync(join(server.home, 'd/a')).mtimeMs / 1000;
  assert.ok(Math.abs(Number(content[1]?.modified) - modified) < 0.002);

  assert.equal((await server.send('DELETE', '/home/d/')).status, 204);
  assert.equal(existsSync(join(server.home, 'd')), false);
  assert.equal((await server.send('DELETE', '/home/d/')).status, 404);
  assert.equal((await server.send('DELETE', '/home/nothing')).status, 404);
  assert.equal((await server.send('DELETE', '/home/')).status, 403, 'the home folder stays');
});

test('a folder with more entries than one batch is listed whole', async (t) => {
  const server = await startServer(t);
  for (let index = 0; index < 700; index++) writeFileSync(join(server.home, `f${index}`), '');
  assert.equal((await server.names('/home/')).length, 700);
});

test('symbolic links are followed only within the home folder', async (t) => {
  const server = await startServer(t);
  const outside = mkdtempSync(join(tmpdir(), 'svc-outside-'));
  writeFileSync(join(outside, 'secret'), 'secret');
  mkdirSync(join(server.home, 'real'));
  writeFileSync(join(server.home, 'real/inside'), 'inside');
  symlinkSync('real/inside', join(server.home, 'good'));
  symlinkSync('real', join(server.home, 'goodfolder'));
  symlinkSync(join(outside, 'secret'), join(server.home, 'bad'));
  symlinkSync(outside, join(server.home, 'badfolder'));
  symlinkSync('/nowhere/at/all', join(server.home, 'dangling'));
  symlinkSync('../data', join(server.home, 'data'));

  assert.equal((await server.get('/home/good')).text, 'inside');
  assert.equal((await server.get('/home/goodfolder/inside')).text, 'inside');
  for (const target of ['bad', 'badfolder/secret', 'badfolder/', 'dangling', 'data/', 'data/svc.pid']) {
    assert.equal((await server.get(`/home/${target}`, { headers: { accept: 'application/json' } })).status, 404, target);
  }
  assert.deepEqual(await server.names('/home/'), ['good', 'goodfolder', 'real']);
  assert.equal((await server.put('/home/badfolder/new', 'x')).status, 409, 'the parent counts as missing');
  assert.equal((await server.send('PUT', '/home/badfolder/new/')).status, 409);
  assert.equal((await server.send('DELETE', '/home/badfolder/secret')).status, 404);

  // A link that leads outside counts as absent: an upload creates a new file in its place, and the target stays.
  assert.equal((await server.put('/home/bad', 'mine')).status, 201);
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'secret');
  assert.equal(readFileSync(join(server.home, 'bad'), 'utf8'), 'mine');
  assert.equal((await server.put('/home/dangling', 'mine')).status, 201);

  assert.equal((await server.put('/home/good', 'changed')).status, 201);
  assert.equal(readFileSync(join(server.home, 'real/inside'), 'utf8'), 'changed');
  assert.equal((await server.send('DELETE', '/home/goodfolder/')).status, 204);
  assert.equal(readFileSync(join(server.home, 'real/inside'), 'utf8'), 'changed');

  symlinkSync(outside, join(server.home, 'real/out'));
  assert.equal((await server.send('DELETE', '/home/real/')).status, 204);
  assert.equal(readFileSync(join(outside, 'secret'), 'utf8'), 'secret', 'a recursive delete does not follow links');
});

test('a FIFO counts as absent, but cannot be replaced', async (t) => {
  const server = await startServer(t);
  const { execFileSync } = await import('node:child_process');
  execFileSync('mkfifo', [join(server.home, 'fifo')]);
  assert.equal((await server.get('/home/fifo')).status, 404);
  assert.deepEqual(await server.names('/home/'), []);
  assert.equal((await server.put('/home/fifo', 'x')).status, 403);
});

test('the data folder is out of reach even inside a home folder', async (t) => {
  const server = await startServer(t, { group: { home_folder_path: '/' } });
  const inside = `/home${server.folder}/data`;
  assert.equal((await server.get(`${inside}/svc.pid`)).status, 404);
  assert.equal((await server.get(`${inside}/`, { headers: { accept: 'application/json' } })).status, 404);
  assert.deepEqual(await server.names(`/home${server.folder}/`), ['home']);
  assert.equal((await server.put(`${inside}/x`, 'x')).status, 409);
});

test('X-OC-Mtime with milliseconds is stored and listed unchanged', async (t) => {
  const server = await startServer(t);
  const random = Array.from({ length: 100 }, () => (1_000_000_000_000 + Math.floor(Math.random() * 1_000_000_000_000)) / 1000);
  const times = [1_700_000_000.123, 0, 0.001, 0.999, 1_500_000_000.999, 4_102_444_800.007, ...random];
  for (const time of times) {
    assert.equal((await server.put('/home/a', 'x', { headers: { 'x-oc-mtime': String(time) } })).status, 201);
    const listing = await server.get('/home/', { headers: { accept: 'application/json' } });
    assert.equal(listing.json<{ content: { modified: number }[] }>().content[0]?.modified, time);
    assert.equal(Math.trunc(statSync(join(server.home, 'a')).mtimeMs * 1000), Math.round(time * 1_000_000));
  }
  assert.equal((await server.put('/home/b', 'x', { headers: { 'x-oc-mtime': '1700000000.1239996' } })).status, 201);
  assert.equal(Math.round(statSync(join(server.home, 'b')).mtimeMs), 1_700_000_000_124);
});

test('X-OC-Mtime sets the modification time', async (t) => {
  const server = await startServer(t);
  const put = await server.put('/home/a', 'x', { headers: { 'x-oc-mtime': '1500000000' } });
  assert.equal(put.headers['x-oc-mtime'], 'accepted');
  assert.equal(Math.round(statSync(join(server.home, 'a')).mtimeMs), 1_500_000_000_000);
  assert.equal((await server.put('/home/a', 'y', { headers: { 'x-oc-mtime': 'yesterday' } })).status, 400);
  assert.equal(readFileSync(join(server.home, 'a'), 'utf8'), 'x');
});

test('if a file shrinks while it is sent, the connection is cut, because the length would be wrong', async (t) => {
  const server = await startServer(t);
  const size = 64 * 1024 * 1024;
  writeFileSync(join(server.home, 'a'), '');
  truncateSync(join(server.home, 'a'), size);
  const { connect } = await import('node:net');
  const socket = connect(server.port, '127.0.0.1');
  socket.write(`GET /home/a HTTP/1.1\r\nHost: x\r\nAuthorization: ${testBasic}\r\n\r\n`);
  let received = 0;
  await new Promise<void>((resolve) =>
    socket.once('data', () => {
      socket.pause();
      truncateSync(join(server.home, 'a'), 1024 * 1024);
      socket.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      socket.resume();
      socket.on('error', () => {});
      socket.on('close', () => resolve());
    }),
  );
  assert.ok(received < size, 'the whole length was not sent');
  assert.ok((await server.eventIds()).includes(40040));
});

test('if a file shrinks while it is sent, the download is reported as cut, and not as an internal error', async (t) => {
  const server = await startServer(t);
  const path = join(server.home, 'log');
  writeFileSync(path, Buffer.alloc(64 * 1024 * 1024));
  const incoming = await new Promise<IncomingMessage>((resolve) => {
    request(new URL('/home/log', server.url), { auth: testUser }, resolve).end();
  });
  truncateSync(path, 1000);
  const failure = await new Promise<Error | undefined>((resolve) => {
    incoming.on('end', () => resolve(undefined));
    incoming.on('error', resolve);
    incoming.resume();
  });
  assert.match(String(failure), /aborted/);
  const ids = await server.eventIds();
  assert.deepEqual(
    [40004, 40040, 40039, 40003].map((id) => ids.filter((one) => one === id).length),
    [1, 1, 0, 0],
  );
  assert.equal((await server.get('/home/log')).body.length, 1000);
});
