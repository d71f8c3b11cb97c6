import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { clockAhead } from '../support/kept-files.ts';
import { swapForLink } from '../support/link-swapper.ts';
import { until } from '../support/receiver.ts';
import { testUser } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';

test('a folder that is replaced by a symbolic link while requests run never leads outside', async (t) => {
  // With this clock, files are kept in memory immediately.
  const server = await startServer(t, {}, clockAhead);
  const outside = mkdtempSync(join(tmpdir(), 'svc-outside-'));
  t.after(() => rmSync(outside, { recursive: true, force: true }));
  writeFileSync(join(outside, 'f'), 'OUTSIDE');
  const folder = join(server.home, 'd');
  mkdirSync(folder);
  writeFileSync(join(folder, 'f'), 'inside');
  const isSwapping = swapForLink({ folder, aside: join(server.home, 'aside'), outside, durationMs: 2500 });
  const seen = new Map<number, number>();
  while (isSwapping()) {
    const replies = await Promise.all([
      server.get('/home/d/f'),
      server.get('/home/d/', { headers: { accept: 'application/json' } }),
      server.put('/home/d/new', 'x'),
      server.send('DELETE', '/home/d/new'),
      server.send('PUT', '/home/d/made/'),
    ]);
    for (const reply of replies) {
      seen.set(reply.status, (seen.get(reply.status) ?? 0) + 1);
      assert.equal(reply.text.includes('OUTSIDE'), false);
    }
  }
  assert.equal((await server.get('/home/d/f')).text, 'inside', 'the folder is there again');
  assert.deepEqual(readdirSync(outside), ['f'], 'nothing was created outside');
  assert.equal(readFileSync(join(outside, 'f'), 'utf8'), 'OUTSIDE', 'nothing was changed outside');
  const successes = [200, 201, 204].reduce((sum, status) => sum + (seen.get(status) ?? 0), 0);
  assert.ok(successes > 0 && (seen.get(404) ?? 0) > 0, `both states were met: ${JSON.stringify([...seen])}`);
});

test('a symbolic link into the data folder shows nothing; an item that was moved out of it can be read', async (t) => {
  const server = await startServer(t);
  symlinkSync(join(server.folder, 'data'), join(server.home, 'link'));
  assert.equal((await server.get('/home/link/svc.pid')).status, 404);
  unlinkSync(join(server.home, 'link'));
  renameSync(join(server.folder, 'data', 'uploads-under-way'), join(server.home, 'moved-out'));
  assert.equal((await server.get('/home/moved-out')).status, 200, 'only items in the data folder cannot be reached');
});

test('connections above maximum_concurrent_connections are closed; when others end, new ones are accepted', async (t) => {
  const server = await startServer(t, { service: { maximum_concurrent_connections: 5 } });
  const sockets: Socket[] = [];
  let closed = 0;
  for (let index = 0; index < 12; index++) {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.on('close', () => closed++);
    socket.resume();
    sockets.push(socket);
  }
  await until('connections above the limit are closed', () => closed >= 7);
  assert.equal(closed, 7);
  for (const socket of sockets) socket.destroy();
  const isTaken = async () => (await server.put('/home/a', 'x').catch(() => undefined))?.status === 201;
  await until('there is a free slot again', isTaken);
});

test('the client address is read from a header only if client_forwarded_header names it', async (t) => {
  const headers = { 'x-forwarded-for': '203.0.113.9:4711, 10.0.0.1', forwarded: 'for=198.51.100.7' };
  const peerOf = async (service: Record<string, unknown>) => {
    const server = await startServer(t, { service });
    await server.put('/home/a', 'x', { headers });
    const event = (await server.events()).findLast((candidate) => candidate.id === '40017');
    await server.stop();
    return event?.account.peer;
  };
  const plain = await peerOf({});
  assert.equal(plain?.address, '127.0.0.1');
  assert.deepEqual(await peerOf({ client_forwarded_header: 'X-Forwarded-For' }), {
    address: '203.0.113.9',
    port: 4711,
    protocol: 'TCP',
    family: 'IPv4',
  });
  assert.deepEqual(await peerOf({ client_forwarded_header: 'Forwarded' }), {
    address: '198.51.100.7',
    port: 0,
    protocol: 'TCP',
    family: 'IPv4',
  });
});

test('a ban concerns the forwarded client, not the proxy', async (t) => {
  const server = await startServer(t, {
    service: { client_forwarded_header: 'X-Forwarded-For' },
    server: { security_policy: { ban_after_failures: 2 } },
  });
  const get = (address: string, user: string) =>
    server.get('/home/', { user, headers: { 'x-forwarded-for': address, accept: 'application/json' } });
  for (let round = 0; round < 2; round++) assert.equal((await get('203.0.113.1', `alice:wrong ${round}`)).status, 401);
  assert.equal((await get('203.0.113.1', testUser)).status, 429);
  assert.equal((await get('203.0.113.2', testUser)).status, 200);
});
