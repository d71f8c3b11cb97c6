import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { cheapHash } from '../support/passwords.ts';
import { testPassword } from '../support/secrets.ts';
import { startFleet, within } from '../support/workers.ts';

const lanes = 12;

function all<T>(make: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: lanes }, (_, index) => make(index)));
}

function countOf(replies: { status: number }[], status: number): number {
  return replies.filter((reply) => reply.status === status).length;
}

test('two workers and one disk', async (t) => {
  const home = join('limited', '${USER}');
  const fleet = await startFleet(t, 2, {
    service: { webdav_compatibility: true },
    groups: { LIMITED: { home_folder_path: home, create_home_folder: true, quota_size: 1_000_000 } },
    accounts: { bob: { group: 'LIMITED', password: await cheapHash(testPassword) } },
  });
  const session = await fleet.login();
  const limited = { session: await fleet.login('bob'), home: join(fleet.folder, 'limited/bob') };
  // Both workers have met both sessions.
  for (const one of [session, limited.session]) await fleet.everywhere(2, () => fleet.get('/home/', within(one)));

  await t.test('of many who create a name, or replace one state of a file, one succeeds, whichever workers they meet', async () => {
    for (let round = 0; round < 5; round++) {
      const path = `/home/f${round}`;
      const created = await all((index) => fleet.put(path, `created ${index}`, within(session, { headers: { 'if-none-match': '*' } })));
      assert.deepEqual([countOf(created, 201), countOf(created, 412)], [1, lanes - 1]);
      const { headers } = await fleet.get(path, within(session));
      const condition = { 'if-match': String(headers.etag) };
      const replaced = await all((index) => fleet.put(path, `replaced ${index}`, within(session, { headers: condition })));
      assert.deepEqual([countOf(replaced, 201), countOf(replaced, 412)], [1, lanes - 1]);
      const winner = replaced.findIndex(({ status }) => status === 201);
      assert.equal(readFileSync(join(fleet.home, `f${round}`), 'utf8'), `replaced ${winner}`);
      const etag = String(replaced[winner]?.headers.etag);
      const deleted = await all(() => fleet.send('DELETE', path, within(session, { headers: { 'if-match': etag } })));
      assert.equal(deleted.filter(({ status }) => status < 300).length, 1);
    }
    assert.deepEqual(readdirSync(fleet.home), []);
  });

  await t.test('of many who move one file, or move onto one free name, one succeeds', async () => {
    for (let round = 0; round < 5; round++) {
      await fleet.put('/home/one', 'one', within(session));
      const moved = await all((index) =>
        fleet.send('MOVE', '/home/one', within(session, { headers: { destination: `/home/to-${round}-${index}` } })),
      );
      assert.deepEqual([countOf(moved, 201), countOf(moved, 404)], [1, lanes - 1]);
      await all((index) => fleet.put(`/home/from-${index}`, String(index), within(session)));
      const onto = await all((index) =>
        fleet.send('MOVE', `/home/from-${index}`, within(session, { headers: { destination: `/home/onto-${round}`, overwrite: 'F' } })),
      );
      assert.deepEqual([countOf(onto, 201), countOf(onto, 412)], [1, lanes - 1]);
      const winner = onto.findIndex(({ status }) => status === 201);
      assert.equal(readFileSync(join(fleet.home, `onto-${round}`), 'utf8'), String(winner));
      // Two that would wait for each other if they took their turns in another order.
      await fleet.put('/home/a', 'a', within(session));
      await fleet.put('/home/b', 'b', within(session));
      const crossed = await Promise.all([
        fleet.send('MOVE', '/home/a', within(session, { headers: { destination: '/home/b' } })),
        fleet.send('MOVE', '/home/b', within(session, { headers: { destination: '/home/a' } })),
      ]);
      assert.ok(crossed.some(({ status }) => status < 300));
    }
  });

  await t.test('many who write one file leave one of theirs, whole, and all their events', async () => {
    for (const name of readdirSync(fleet.home)) rmSync(join(fleet.home, name));
    const before = await fleet.count(40017);
    const replies = await all((index) => fleet.put('/home/f', Buffer.alloc(200_000, index), within(session)));
    assert.equal(countOf(replies, 201), lanes);
    const stored = readFileSync(join(fleet.home, 'f'));
    assert.deepEqual(stored, Buffer.alloc(200_000, stored[0]));
    assert.deepEqual(readdirSync(fleet.home), ['f']);
    assert.equal((await fleet.count(40017)) - before, lanes);
  });

  await t.test('overwrites of one file through several workers free its size once', async () => {
    for (let round = 0; round < 5; round++) {
      assert.equal((await fleet.put('/home/f', Buffer.alloc(900_000), within(limited.session))).status, 201);
      const replies = await all((index) => fleet.put('/home/f', Buffer.alloc(10_000 + index), within(limited.session)));
      assert.equal(countOf(replies, 201), lanes);
      const { size } = statSync(join(limited.home, 'f'));
      assert.equal((await fleet.put('/home/g', Buffer.alloc(1_000_001 - size), within(limited.session))).status, 507);
      assert.equal((await fleet.put('/home/g', Buffer.alloc(1_000_000 - size), within(limited.session))).status, 201);
      assert.equal((await fleet.send('DELETE', '/home/g', within(limited.session))).status, 204);
    }
    assert.equal((await fleet.send('DELETE', '/home/f', within(limited.session))).status, 204);
  });

  await t.test('uploads through several workers together stay within a quota, and use all of it', async () => {
    for (const headers of [{}, { 'transfer-encoding': 'chunked' }]) {
      const replies = await all((index) => fleet.put(`/home/q${index}`, Buffer.alloc(150_000, 1), within(limited.session, { headers })));
      const stored = countOf(replies, 201);
      assert.equal(stored + countOf(replies, 507), lanes);
      const bytes = readdirSync(limited.home).reduce((sum, name) => sum + statSync(join(limited.home, name)).size, 0);
      assert.ok(bytes <= 1_000_000, `${bytes} bytes`);
      assert.equal(bytes, stored * 150_000);
      assert.ok(stored >= 1);
      // One after the other all that fits does.
      for (let index = 0; index < lanes; index++)
        await fleet.put(`/home/r${index}`, Buffer.alloc(150_000, 1), within(limited.session, { headers }));
      assert.equal(readdirSync(limited.home).length, 6);
      for (const name of readdirSync(limited.home))
        assert.ok((await fleet.send('DELETE', `/home/${name}`, within(limited.session))).status < 300);
    }
    const body = '<propfind xmlns="DAV:"><prop><quota-used-bytes/></prop></propfind>';
    assert.equal((await fleet.put('/home/last', Buffer.alloc(123_456), within(limited.session))).status, 201);
    const asked = await fleet.everywhere(2, () =>
      fleet.send('PROPFIND', '/home/', within(limited.session, { body, headers: { depth: '0' } })),
    );
    for (const { text } of asked) assert.match(text, /quota-used-bytes>123456</);
  });

  await t.test('a write lock of one worker holds in all of them', async () => {
    const agent = { 'user-agent': 'Microsoft-WebDAV-MiniRedir/10.0.19045' };
    const body = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>';
    const locks = await all(() => fleet.send('LOCK', '/home/f', within(session, { body, headers: agent })));
    assert.deepEqual([countOf(locks, 201) + countOf(locks, 200), countOf(locks, 423)], [1, lanes - 1]);
    const token = String(locks.find(({ status }) => status < 300)?.headers['lock-token']);
    const refused = await fleet.everywhere(2, () => fleet.put('/home/f', 'x', within(session)));
    assert.equal(countOf(refused, 423), refused.length);
    const taken = await fleet.everywhere(2, () => fleet.put('/home/f', 'x', within(session, { headers: { ...agent, if: `(${token})` } })));
    assert.equal(countOf(taken, 201), taken.length);
    // A lock outlives the worker that took it.
    await fleet.kill(fleet.workers());
    await fleet.ready(2);
    assert.equal((await fleet.put('/home/f', 'x', within(session))).status, 423);
    assert.equal((await fleet.send('UNLOCK', '/home/f', within(session, { headers: { ...agent, 'lock-token': token } }))).status, 204);
    const free = await fleet.everywhere(2, () => fleet.put('/home/f', 'x', within(session)));
    assert.equal(countOf(free, 201), free.length);
  });
});

test('a home folder that several workers find missing at once is made once, and everybody gets in', async (t) => {
  const password = await cheapHash('secret');
  const group = { create_home_folder: true, home_folder_structure: ['in', 'out/sub'] };
  const names = ['n1', 'n2', 'n3'];
  const fleet = await startFleet(t, 3, {
    groups: { new: { ...group, home_folder_path: join('homes', '${USER}') } },
    accounts: Object.fromEntries(names.map((name) => [name, { password, group: 'new' }])),
  });
  for (const name of names) {
    const replies = await all(() => fleet.get('/home/', { user: `${name}:secret`, headers: { accept: 'application/json' } }));
    assert.equal(countOf(replies, 200), lanes, replies.map(({ text }) => text).join('\n'));
  }
  const made = (await fleet.events()).filter(({ id }) => id === '20042').flatMap(({ data }) => data.created as string[]);
  assert.equal(new Set(made).size, made.length, 'each folder by one of them');
});
