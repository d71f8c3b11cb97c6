import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { TestReply } from '../support/client.ts';
import { completeDraft, type DoorTarget, fillTus, form, httpDoors } from '../support/doors.ts';
import { startServer, type TestConfig, type TestServer } from '../support/server.ts';

const adding = ['allow-create-file', 'allow-read', 'allow-list'];

/** Starts a server whose account may only add files in `/in`, and may do everything elsewhere. */
function startAdding(t: TestContext, account: TestConfig['account'] = {}, keywords = adding): Promise<TestServer> {
  return startServer(t, { account: { permissions: [['allow-full-control'], ['/in/*', ...keywords]], ...account } });
}

function plant(home: string, taken = true): void {
  for (const name of ['in', 'spare']) rmSync(join(home, name), { recursive: true, force: true });
  mkdirSync(join(home, 'in'), { recursive: true });
  writeFileSync(join(home, 'spare'), 'new');
  if (taken) writeFileSync(join(home, 'in/a.csv'), 'old');
}

const at: DoorTarget = { folder: '/in', name: 'a.csv' };

/** Sends the requests of one way to create the file. @returns the first refusal, or the last reply */
async function pass(server: TestServer, door: string): Promise<TestReply> {
  const begun = await (httpDoors[door] as (typeof httpDoors)[string])(server, at);
  const location = String(begun.headers.location ?? '');
  if (begun.status >= 300 || !location.startsWith('/home/__svc__/uploads/')) return begun;
  if (door === 'draft, PUT') return completeDraft(server, location);
  return door.startsWith('tus') ? fillTus(server, location) : begun;
}

const contents = (home: string) =>
  Object.fromEntries(readdirSync(join(home, 'in')).map((name) => [name, readFileSync(join(home, 'in', name), 'utf8')]));

test('allow-create-file: every interface creates a new file, and none changes an existing one', async (t) => {
  // MOVE needs allow-rename instead.
  const server = await startAdding(t, {}, [...adding, 'allow-rename']);
  for (const door of Object.keys(httpDoors)) {
    plant(server.home, false);
    const free = await pass(server, door);
    assert.ok(free.status === 201 || free.status === 204, `${door}: ${free.status} ${free.text}`);
    assert.deepEqual(contents(server.home), { 'a.csv': 'new' }, door);
    plant(server.home);
    const taken = await pass(server, door);
    assert.equal(taken.status, 403, `${door}: ${taken.text}`);
    assert.deepEqual(contents(server.home), { 'a.csv': 'old' }, door);
  }
});

test('allow-create-file: a file that appears during a resumable upload stays, with both protocols', async (t) => {
  const server = await startAdding(t);
  const doors = ['draft, PUT', 'tus, path'] as const;
  for (const door of doors) {
    plant(server.home, false);
    const begun = await (httpDoors[door] as (typeof httpDoors)[string])(server, at);
    writeFileSync(join(server.home, 'in/a.csv'), 'old');
    const location = String(begun.headers.location);
    const ended = door === 'tus, path' ? await fillTus(server, location) : await completeDraft(server, location);
    assert.equal(ended.status, 403, `${door}: ${ended.text}`);
    assert.deepEqual(contents(server.home), { 'a.csv': 'old' }, door);
  }
});

test('allow-create-file: a symbolic link, even a broken one, occupies its name', async (t) => {
  const server = await startAdding(t);
  for (const target of ['nowhere', '../spare', '/etc/hostname']) {
    plant(server.home, false);
    symlinkSync(target, join(server.home, 'in/a.csv'));
    for (const door of ['PUT', 'form, file', 'COPY', 'tus, path']) {
      assert.equal((await pass(server, door)).status, 403, `${door} onto a link to ${target}`);
      assert.deepEqual(readdirSync(join(server.home, 'in')), ['a.csv']);
      assert.equal(readFileSync(join(server.home, 'spare'), 'utf8'), 'new');
    }
  }
});

test('allow-create-file: the refusal comes before the body, and its event says why', async (t) => {
  const server = await startAdding(t);
  plant(server.home);
  const headers = { 'content-length': '1000000', expect: '100-continue' };
  const reply = await server.send('PUT', '/home/in/a.csv', { headers });
  assert.equal(reply.status, 403);
  const failed = (await server.events()).filter(({ id }) => id === '40022');
  assert.match(String(failed[0]?.data.details), /taken/);
  assert.equal(failed[0]?.data.path, '/in/a.csv');
});

test('allow-create-file grants nothing else: no reading, deletion, renaming, new folder, or change of an existing file', async (t) => {
  const server = await startServer(t, {
    account: { permissions: [['allow-create-file']] },
    service: { webdav_compatibility: true },
  });
  writeFileSync(join(server.home, 'a.csv'), 'old');
  const destination = '/home/b.csv';
  const outcomes = {
    GET: (await server.get('/home/a.csv')).status,
    DELETE: (await server.send('DELETE', '/home/a.csv')).status,
    MOVE: (await server.send('MOVE', '/home/a.csv', { headers: { destination } })).status,
    COPY: (await server.send('COPY', '/home/a.csv', { headers: { destination } })).status,
    MKCOL: (await server.send('MKCOL', '/home/d/')).status,
    PROPFIND: (await server.send('PROPFIND', '/home/a.csv', { headers: { depth: '0' } })).status,
    PUT: (await server.put('/home/a.csv', 'new')).status,
    'PUT of a free name': (await server.put('/home/c.csv', 'new')).status,
  };
  const refused = Object.fromEntries(Object.keys(outcomes).map((name) => [name, 403]));
  assert.deepEqual(outcomes, { ...refused, 'PUT of a free name': 201 });
  assert.deepEqual(readdirSync(server.home).sort(), ['a.csv', 'c.csv']);
});

test('allow-create-file: of many concurrent uploads to one name exactly one succeeds, and the others leave nothing', async (t) => {
  const server = await startAdding(t);
  for (let round = 0; round < 10; round++) {
    plant(server.home, false);
    const writers = Array.from({ length: 6 }, (_, index) => String(index));
    const replies = await Promise.all(writers.map((text) => server.put('/home/in/a.csv', text)));
    const winners = writers.filter((_, index) => replies[index]?.status === 201);
    assert.equal(winners.length, 1);
    assert.ok(replies.every(({ status }) => status === 201 || status === 403));
    assert.deepEqual(contents(server.home), { 'a.csv': winners[0] });
  }
});

test('with on_name_taken: number, uploads get a free name, which the reply and the event contain; COPY and MOVE do not', async (t) => {
  const server = await startAdding(t, { on_name_taken: 'number' }, [...adding, 'allow-rename']);
  for (const door of Object.keys(httpDoors)) {
    plant(server.home);
    const reply = await pass(server, door);
    if (door === 'COPY' || door === 'MOVE') {
      assert.equal(reply.status, 403, door);
      continue;
    }
    assert.ok(reply.status === 201 || reply.status === 204, `${door}: ${reply.status} ${reply.text}`);
    assert.deepEqual(contents(server.home), { 'a.csv': 'old', 'a (2).csv': 'new' }, door);
    assert.equal(reply.headers['server-path'], '/in/a (2).csv', door);
    const [event] = (await server.events()).filter(({ id }) => id === '40017').slice(-1);
    assert.deepEqual([event?.data.path, event?.data.requested_path], ['/in/a (2).csv', '/in/a.csv'], door);
    assert.equal(event?.data.real_path, join(server.home, 'in/a (2).csv'), door);
  }
  plant(server.home);
  const put = await pass(server, 'PUT');
  assert.equal(put.headers.location, '/home/in/a%20(2).csv');
});

test('with on_name_taken: number, the results of a form contain the new name', async (t) => {
  const server = await startAdding(t, { on_name_taken: 'number' });
  plant(server.home);
  const reply = await form(server, at, { action: 'upload-file' }, 'a.csv');
  assert.deepEqual([reply.status, JSON.parse(reply.text)], [201, { results: [{ target: 'a (2).csv' }] }]);
});

test('with on_name_taken: number, many concurrent uploads get different names; long names stay short enough', async (t) => {
  const server = await startAdding(t, { on_name_taken: 'number' });
  plant(server.home);
  const texts = Array.from({ length: 12 }, (_, index) => `from ${index}`);
  const replies = await Promise.all(texts.map((text) => server.put('/home/in/a.csv', text)));
  assert.ok(replies.every(({ status }) => status === 201));
  assert.equal(new Set(replies.map(({ headers }) => headers['server-path'])).size, texts.length);
  assert.deepEqual(Object.values(contents(server.home)).sort(), ['old', ...texts].sort());
  const long = `${'ü'.repeat(125)}.csv`;
  for (const status of [201, 201]) assert.equal((await server.put(`/home/in/${encodeURIComponent(long)}`, 'x')).status, status);
  const names = readdirSync(join(server.home, 'in')).filter((name) => name.startsWith('ü'));
  assert.equal(names.length, 2);
  assert.ok(names.every((name) => Buffer.byteLength(name) <= 255 && name.endsWith('.csv')));
});

test('on_name_taken: number respects the rules for new names, and a condition is checked first', async (t) => {
  const permissions = [['allow-list'], ['/in/a.csv', 'allow-create-file', 'allow-list']];
  const server = await startServer(t, { account: { permissions, on_name_taken: 'number' } });
  plant(server.home);
  assert.equal((await server.put('/home/in/a.csv', 'new')).status, 403);
  const wide = await startAdding(t, { on_name_taken: 'number' });
  plant(wide.home);
  assert.equal((await wide.put('/home/in/a.csv', 'new', { headers: { 'if-none-match': '*' } })).status, 412);
  for (const { home } of [server, wide]) assert.deepEqual(contents(home), { 'a.csv': 'old' });
});

test('the page says that files can only be added and how long they stay, and tells its script which actions are permitted', async (t) => {
  const html = { headers: { accept: 'text/html' } };
  const pageOf = async (account: TestConfig['account']) => {
    const server = await startAdding(t, account);
    plant(server.home, false);
    return (await server.get('/home/in/', html)).text;
  };
  const wordsOf = (page: string) => /data-may="([^"]*)" data-taken="([^"]*)"/.exec(page)?.slice(1);
  const permissions = [['allow-full-control'], ['/in*', ...adding]];
  const page = await pageOf({ permissions, on_name_taken: 'number', retain: { days: 1 } });
  assert.deepEqual(wordsOf(page), ['look read write', 'number']);
  assert.match(page, /Files can be added here, not replaced\. New files cannot be changed for 1 day\./);
  const all = await pageOf({ permissions: [['allow-full-control']] });
  assert.match(wordsOf(all)?.[0] ?? '', /\bwrite overwrite\b/);
  assert.doesNotMatch(all, /can be added here|stay as they are/);
});
