import assert from 'node:assert/strict';
import { existsSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { startServer } from '../support/server.ts';

/** Returns a path below `home` that leaves only a few hundred bytes of the system's longest path (4,095 bytes). */
function deepPath(home: string): string {
  const levels = Math.floor((3900 - home.length) / 201);
  return Array.from({ length: levels }, (_, level) => `${level}`.padEnd(200, 'd')).join('/');
}

test('nothing is created at a path that is too long for the system', async (t) => {
  const server = await startServer(t);
  const deep = deepPath(server.home);
  mkdirSync(join(server.home, deep), { recursive: true });
  const name = 'n'.repeat(250);
  assert.equal((await server.put(`/home/${deep}/file`, 'x')).status, 201);
  assert.equal((await server.put(`/home/${deep}/${name}`, 'x')).status, 400);
  assert.equal((await server.send('PUT', `/home/${deep}/${name}/`)).status, 400);
  const moved = await server.send('MOVE', `/home/${deep}/file`, { headers: { destination: `/home/${deep}/${name}` } });
  assert.equal(moved.status, 400);
  assert.equal((await server.get(`/home/${deep}/file`)).text, 'x');
});

test('a tree too deep for the system does not prevent uploads under a quota, and does not end a search', async (t) => {
  const server = await startServer(t, { group: { quota_size: 10_000 } });
  const deep = deepPath(server.home);
  for (const top of ['a', 'b', 'c']) mkdirSync(join(server.home, top, deep), { recursive: true });
  writeFileSync(join(server.home, 'a', deep, 'hidden'), 'x'.repeat(100));
  mkdirSync(join(server.home, 'later'));
  writeFileSync(join(server.home, 'later/wanted'), 'x');
  const tooDeep = join(server.home, 'b', deep, 'a');
  renameSync(join(server.home, 'a'), tooDeep);
  try {
    assert.equal((await server.put('/home/new', 'y'.repeat(5000))).status, 201);
    assert.equal((await server.put('/home/more', 'y'.repeat(5000))).status, 507);
    const found = await server.get('/home/?search=wanted', { headers: { accept: 'application/x-ndjson' } });
    assert.match(found.text, /"path":"\/later\/wanted"/);
    const nested = await server.send('MOVE', '/home/c/', { headers: { destination: `/home/b/${deep}/c/` } });
    assert.equal(nested.status, 400, 'a move cannot hide a tree from the quota');
    assert.ok(existsSync(join(server.home, 'c', deep)));
  } finally {
    // A tree that is too deep must be moved before it can be removed.
    renameSync(tooDeep, join(server.home, 'a'));
  }
});
