import assert from 'node:assert/strict';
import { chmodSync, linkSync, lstatSync, mkdirSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Collection, Item } from '../../src/control/collection.ts';
import { openControlSocket } from '../../src/control/control-server.ts';
import { askService } from '../../src/control/control-socket.ts';
import { ServiceError } from '../../src/lib/errors.ts';
import { silentLog } from '../../src/lib/log.ts';
import { until } from '../support/receiver.ts';
import { temporaryFolder } from '../support/temp.ts';

/** A collection of removable things that records what was removed. */
function things(...items: Item['shown'][]): Collection & { removed: string[] } {
  const removed: string[] = [];
  const kept = new Map(items.map((shown) => [shown.id, shown]));
  return {
    removed,
    list: async () => [...kept.values()].map((shown) => ({ handle: `handle of ${shown.id}`, shown })),
    async remove(gone) {
      for (const { handle, shown } of gone) {
        kept.delete(shown.id);
        removed.push(handle);
      }
    },
  };
}

const three = () =>
  things(
    { id: 'a', account: 'alice', address: '192.0.2.1' },
    { id: 'b', account: 'bob', address: '192.0.2.200' },
    { id: 'c', account: 'alice', address: '2001:db8::/64' },
  );

async function open(t: TestContext, sessions: Collection, folder = temporaryFolder(t)): Promise<string> {
  const close = await openControlSocket(folder, { sessions, locks: things(), bans: things(), trash: things(), held: things() }, silentLog);
  t.after(close);
  return folder;
}

const ids = (items: readonly { id: string }[]) => items.map(({ id }) => id);

test('items are listed and removed by ID, account, address and range; all filters must match', async (t) => {
  const sessions = three();
  const folder = await open(t, sessions);
  const list = (selection: Parameters<typeof askService>[3]) => askService(folder, 'GET', 'sessions', selection);
  assert.deepEqual(await list({}), [
    { id: 'a', account: 'alice', address: '192.0.2.1' },
    { id: 'b', account: 'bob', address: '192.0.2.200' },
    { id: 'c', account: 'alice', address: '2001:db8::/64' },
  ]);
  assert.deepEqual(ids(await list({ account: 'alice' })), ['a', 'c']);
  assert.deepEqual(ids(await list({ address: '192.0.2.0/25' })), ['a']);
  assert.deepEqual(ids(await list({ address: '2001:db8::/32', account: 'alice' })), ['c']);
  assert.deepEqual(ids(await list({ address: '2001:db8::5' })), ['c'], 'an address within a range');
  assert.deepEqual(ids(await list({ address: '2001:db8:0:1::5' })), []);
  assert.deepEqual(ids(await list({ ids: ['b', 'none'] })), ['b']);
  assert.deepEqual(ids(await askService(folder, 'GET', 'locks', {})), []);
  assert.deepEqual(ids(await askService(folder, 'DELETE', 'sessions', { ids: ['a', 'none'] })), ['a']);
  assert.deepEqual(ids(await askService(folder, 'DELETE', 'sessions', { account: 'nobody' })), []);
  assert.deepEqual(sessions.removed, ['handle of a']);
  await assert.rejects(askService(folder, 'DELETE', 'sessions', {}), { code: 'bad-request' }, 'a removal without a selection is refused');
  assert.deepEqual(ids(await askService(folder, 'DELETE', 'sessions', { all: true })), ['b', 'c']);
  await assert.rejects(list({ address: 'nonsense' }), { code: 'bad-request', message: /"nonsense" is neither/ });
});

test('one request can remove a thousand items by ID, and a list can have 99,000 items', async (t) => {
  const many = Array.from({ length: 100_000 }, (_, index) => ({ id: `id-${index}`, account: 'ä\n"' }));
  const folder = await open(t, things(...many));
  const wanted = many.slice(0, 1000).map(({ id }) => id);
  assert.deepEqual(ids(await askService(folder, 'DELETE', 'sessions', { ids: wanted })), wanted);
  assert.equal((await askService(folder, 'GET', 'sessions', { account: 'ä\n"' })).length, 99_000);
});

test('the fault of a store is reported; an unexpected error is reported without its message', async (t) => {
  let fault: Error = new ServiceError('unavailable', 'Redis is away.');
  const folder = await open(t, { list: () => Promise.reject(fault), remove: async () => {} });
  await assert.rejects(askService(folder, 'GET', 'sessions', {}), { code: 'unavailable', message: 'Redis is away.' });
  fault = new Error('inner matters');
  await assert.rejects(askService(folder, 'GET', 'sessions', {}), { code: 'unavailable', message: /see its log/ });
});

test('only the account of the service may open the socket, with any umask', async (t) => {
  for (const umask of [0, 0o22, 0o77]) {
    const before = process.umask(umask);
    const folder = temporaryFolder(t);
    chmodSync(folder, 0o755);
    try {
      await open(t, three(), folder);
      assert.equal(process.umask(), umask, 'the umask of the process is not changed');
    } finally {
      process.umask(before);
    }
    const stats = lstatSync(join(folder, 'control.sock'));
    assert.deepEqual([stats.isSocket(), stats.mode & 0o777], [true, 0o600]);
  }
});

test('the socket of a dead process is replaced and removed at the end; another kind of file stays', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'control.sock');
  const dead = createServer();
  await new Promise<void>((resolve) => dead.listen(path, resolve));
  // The socket file is left over, as after SIGKILL, and nobody answers on it.
  const names = () => readdirSync(folder);
  const left = join(folder, 'left');
  linkSync(path, left);
  await new Promise((resolve) => dead.close(resolve));
  renameSync(left, path);
  assert.ok(lstatSync(path).isSocket());
  await assert.rejects(askService(folder, 'GET', 'sessions', {}), { code: 'unavailable', message: /ECONNREFUSED/ });
  const close = await openControlSocket(
    folder,
    { sessions: three(), locks: things(), bans: things(), trash: things(), held: things() },
    silentLog,
  );
  assert.equal((await askService(folder, 'GET', 'sessions', {})).length, 3);
  await close();
  assert.deepEqual(names(), []);
  await assert.rejects(askService(folder, 'GET', 'sessions', {}), { code: 'unavailable' });
  writeFileSync(path, 'mine');
  await assert.rejects(
    openControlSocket(folder, { sessions: three(), locks: things(), bans: things(), trash: things(), held: things() }, silentLog),
    {
      code: 'unavailable',
    },
  );
  assert.deepEqual(names(), ['control.sock']);
});

test('a data folder works even if its path is longer than the path of a socket may be', async (t) => {
  const folder = join(temporaryFolder(t), 'x'.repeat(100), 'y'.repeat(200));
  mkdirSync(folder, { recursive: true });
  const before = readdirSync('/proc/self/fd').length;
  const close = await openControlSocket(
    folder,
    { sessions: three(), locks: things(), bans: things(), trash: things(), held: things() },
    silentLog,
  );
  assert.ok(lstatSync(join(folder, 'control.sock')).isSocket());
  assert.equal((await askService(folder, 'GET', 'sessions', {})).length, 3);
  await close();
  assert.deepEqual(readdirSync(folder), []);
  await until('no descriptor is left open', () => readdirSync('/proc/self/fd').length === before);
  await assert.rejects(askService(join(folder, 'missing'), 'GET', 'sessions', {}), { code: 'unavailable', message: /No service answers/ });
});

function say(t: TestContext, folder: string, text: string | Buffer): { socket: Socket; heard: () => string; isOver: () => boolean } {
  let heard = '';
  let isOver = false;
  const socket = connect(join(folder, 'control.sock'));
  socket.on('data', (bytes) => {
    heard += bytes;
  });
  socket.on('error', () => {});
  socket.on('close', () => {
    isOver = true;
  });
  socket.write(text);
  t.after(() => socket.destroy());
  return { socket, heard: () => heard, isOver: () => isOver };
}

test('connections with incomplete requests, garbage or endless headers are ended soon and do no harm', { timeout: 60_000 }, async (t) => {
  const folder = await open(t, three());
  const hostile = [
    '',
    'G',
    'GET /sessions HTTP/1.1\r\nhost: x\r\nx-half',
    'DELETE /sessions?all=1 HTTP/1.1\r\nhost: x\r\n',
    '\u0000\u0001\u0002\r\n\r\n',
    'GET\r\n\r\n',
    `GET /${'a'.repeat(200_000)} HTTP/1.1\r\n\r\n`,
    `GET /sessions HTTP/1.1\r\n${'x: y\r\n'.repeat(100_000)}`,
    'POST /sessions HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\nabc',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'CONNECT / HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET http://[ HTTP/1.1\r\nhost: x\r\n\r\n',
    'GET /sessions HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n',
    Buffer.from('16030100ff', 'hex'),
  ].map((text) => say(t, folder, text));
  assert.equal((await askService(folder, 'GET', 'sessions', {})).length, 3, 'other requests are answered meanwhile');
  await until('all connections have ended', () => hostile.every(({ isOver }) => isOver()));
  assert.equal((await askService(folder, 'GET', 'sessions', {})).length, 3, 'a request that was not finished removed nothing');
});

test('surplus clients are rejected, and later clients are accepted again', { timeout: 60_000 }, async (t) => {
  const folder = await open(t, three());
  const idle = Array.from({ length: 100 }, () => say(t, folder, 'GET /sess'));
  await until('most connections are closed immediately', () => idle.filter(({ isOver }) => isOver()).length >= 68);
  assert.ok(idle.some(({ isOver }) => !isOver()));
  await until('the other connections are closed, too', () => idle.every(({ isOver }) => isOver()));
  assert.equal((await askService(folder, 'GET', 'sessions', {})).length, 3);
});

test('unknown methods and paths are refused', async (t) => {
  const folder = await open(t, three());
  const status = (method: string, path: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      request({ socketPath: join(folder, 'control.sock'), method, path }, (reply) => {
        reply.resume();
        resolve(reply.statusCode);
      })
        .on('error', reject)
        .end();
    });
  assert.deepEqual(
    [
      await status('GET', '/'),
      await status('GET', '/secrets'),
      await status('POST', '/sessions'),
      await status('DELETE', '/sessions'),
      await status('DELETE', '/sessions?all=1&id=a'),
      await status('GET', '/sessions?user=alice'),
      await status('GET', '/locks'),
    ],
    [404, 404, 405, 400, 400, 400, 200],
  );
});

test('the server ends without waiting for clients', async (t) => {
  const folder = temporaryFolder(t);
  const close = await openControlSocket(
    folder,
    { sessions: three(), locks: things(), bans: things(), trash: things(), held: things() },
    silentLog,
  );
  const slow = say(t, folder, 'GET /sess');
  await until('the client is connected', () => !slow.socket.connecting);
  const startedMs = performance.now();
  await close();
  assert.ok(performance.now() - startedMs < 5000, 'the end does not wait for the timeout of a request');
});
