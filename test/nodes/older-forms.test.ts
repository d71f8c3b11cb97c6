import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from '../support/child.ts';
import { startNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { linkTo, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { learnSecret } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { ShiftedClock } from '../support/shifted-clock.ts';
import { temporaryFolder } from '../support/temp.ts';
import { trashOf } from '../support/trash.ts';

/**
 * Data folders as killed processes of svc 0.1.0 left them: of an early build, and (`last`) of the last build before 1.0.0. `stream.json`
 * and `groups.json` are the data of the node in Redis.
 */
const fixtures = join(process.env.SVC_ROOT ?? '.', 'test/fixtures/0.1.0');

interface OldConfig {
  accounts: Record<string, { password: string }>;
}

function copyOf(t: TestContext, name: string): string {
  const folder = join(temporaryFolder(t), name);
  cpSync(join(fixtures, name), folder, { recursive: true });
  return folder;
}

const accountsOf = (name: string) => (JSON.parse(readFileSync(join(fixtures, `${name}.json`), 'utf8')) as OldConfig).accounts;
const oldPassword = 'correct-horse';
const changedPassword = 'correct-horse-2';

test('a data folder of 0.1.0 can be used: journal, positions and a changed password', async (t) => {
  const dataFolder = copyOf(t, 'single');
  for (const secret of [oldPassword, changedPassword]) learnSecret(secret, 'a data folder of 0.1.0');
  const receivers = { done: await startReceiver(t), waiting: await startReceiver(t) };
  const handler = (url: string) => ({ type: 'http', target: '40017', url });
  const server = await startServer(t, {
    server: { data_folder_path: dataFolder },
    accounts: accountsOf('single'),
    event_handlers: { done: handler(receivers.done.url), waiting: handler(receivers.waiting.url) },
  });
  const client = server;
  assert.equal((await client.get('/home/', { user: `alice:${oldPassword}` })).status, 401);
  assert.equal((await client.put('/home/new.txt', 'x', { user: `alice:${changedPassword}` })).status, 201);
  const paths = (receiver: { events(): { data: Record<string, unknown> }[] }) => receiver.events().map(({ data }) => data.path);
  await until('undelivered events are delivered', () => paths(receivers.waiting).includes('/new.txt'));
  assert.deepEqual(paths(receivers.waiting), ['/3.txt', '/4.txt', '/new.txt'], 'svc 0.1.0 had given up the two earlier events');
  await until('the other handler gets the new event', () => paths(receivers.done).includes('/new.txt'));
  assert.deepEqual(paths(receivers.done), ['/new.txt']);
  assert.equal(readFileSync(join(dataFolder, 'form'), 'utf8'), '2\n');
});

test('a data folder of the last 0.1.0 can be used: events, deliveries, an upload, the trash and the evidence of the journal', async (t) => {
  learnSecret(oldPassword, 'a data folder of 0.1.0');
  const folder = copyOf(t, 'last');
  // Records contain paths of folders, and expire. So the test replaces the paths, and shifts the clock to the time of the records.
  for (const entry of readdirSync(join(folder, 'data'), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !path.includes('/journal')) writeFileSync(path, readFileSync(path, 'utf8').replaceAll('/tmp/svc-0.1.0', folder));
  }
  const clock = new ShiftedClock();
  clock.shift(Date.parse('2026-11-27T22:00:00Z') - Date.now());
  const receivers = { done: await startReceiver(t), waiting: await startReceiver(t) };
  const handler = (url: string) => ({ type: 'http', target: '40017', url });
  const server = await startServer(
    t,
    {
      server: { data_folder_path: join(folder, 'data') },
      group: { home_folder_path: join(folder, 'home'), trash: { days: 30 } },
      accounts: accountsOf('last'),
      event_handlers: { done: handler(receivers.done.url), waiting: handler(receivers.waiting.url) },
    },
    clock,
  );
  const user = `alice:${oldPassword}`;
  assert.equal((await server.get('/home/1.txt', { user })).text, 'content 1\n');
  const [upload = ''] = readdirSync(join(folder, 'data/uploads'));
  const draft = { 'upload-draft-interop-version': '8', 'content-type': 'application/partial-upload' };
  const target = `/home/__svc__/uploads/${upload}`;
  const head = await server.send('HEAD', target, { user, headers: draft });
  assert.equal(head.headers['upload-offset'], '11');
  const rest = { ...draft, 'upload-offset': '11', 'upload-complete': '?1' };
  assert.ok((await server.send('PATCH', target, { user, headers: rest, body: 'second half' })).status < 300);
  assert.equal(readFileSync(join(folder, 'home/large.txt'), 'utf8'), 'first half,second half');
  const [trashed] = await trashOf(server, user);
  assert.equal(trashed?.path, '/3.txt');
  const paths = (receiver: { events(): { data: Record<string, unknown> }[] }) => receiver.events().map(({ data }) => data.path);
  await until('undelivered events are delivered', () => paths(receivers.waiting).includes('/large.txt'));
  assert.deepEqual(paths(receivers.waiting), ['/2.txt', '/3.txt', '/large.txt'], 'svc 0.1.0 had given up the earlier event');
  await until('the other handler gets the new event', () => paths(receivers.done).includes('/large.txt'));
  assert.deepEqual(paths(receivers.done), ['/large.txt']);
  await server.stop();
  const verified = await run(t, ['journal', 'verify', '--data-folder', join(folder, 'data')], { cwd: folder });
  assert.equal(verified.code, 0, verified.stdout + verified.stderr);
});

test('a node of 0.1.0 is updated: each event gets into the stream once, and handlers continue at their positions', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  learnSecret(oldPassword, 'a data folder of 0.1.0');
  const link = await linkTo(t, redis.url);
  const entries = JSON.parse(readFileSync(join(fixtures, 'stream.json'), 'utf8')) as [string, string[]][];
  for (const [id, fields] of entries) await link.call(['XADD', '{svc}:journal', id, ...fields]);
  await link.call(['SET', '{svc}:journal-count', String(entries.length)]);
  const groups = JSON.parse(readFileSync(join(fixtures, 'groups.json'), 'utf8')) as { name: string; 'last-delivered-id': string }[];
  for (const { name, 'last-delivered-id': id } of groups) await link.call(['XGROUP', 'CREATE', '{svc}:journal', name, id]);
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'home'));
  cpSync(join(fixtures, 'node'), join(folder, 'node'), { recursive: true });
  const receiver = await startReceiver(t);
  const node = await startNode(t, folder, 'node', redis.url, {
    accounts: accountsOf('node'),
    event_handlers: { done: { type: 'http', target: '40017', url: receiver.url } },
  });
  assert.equal((await node.put('/home/new.txt', 'x', { user: `alice:${oldPassword}` })).status, 201);
  await until('all events are delivered', () => receiver.events().some(({ data }) => data.path === '/new.txt'));
  assert.deepEqual(
    receiver.events().map(({ data }) => data.path),
    ['/3.txt', '/4.txt', '/new.txt'],
    'the events that 0.1.0 could not pass on to Redis; what was delivered does not arrive again',
  );
  const all = (await link.call(['XRANGE', '{svc}:journal', '-', '+'])) as [string, string[]][];
  const uuids = all.map(([, fields]) => /"uuid":"([^"]+)"/.exec(fields[fields.indexOf('event') + 1] ?? '')?.[1]);
  assert.equal(new Set(uuids).size, uuids.length, 'no event is in the stream twice');
});

test('a data folder of a newer svc is refused with the reason, and nothing is changed', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'svc-data'));
  writeFileSync(join(folder, 'svc-data', 'form'), '99\n');
  const config = { server: { data_folder_path: './svc-data' }, services: { web: { type: 'http', port: 0 } } };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify({ ...config, groups: { DEFAULT_GROUP: { home_folder_path: './home' } } }));
  const { code, stderr } = await run(t, ['serve'], { cwd: folder });
  assert.equal(code, 3);
  assert.match(stderr, /written by a newer svc \(format 99; this one knows up to \d+\); run the newer svc, or restore a backup/);
  assert.equal(readFileSync(join(folder, 'svc-data', 'form'), 'utf8'), '99\n');
});

test('an older node immediately stops using a Redis that newer nodes use, and says why', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const link = await linkTo(t, redis.url);
  assert.equal(link.check(), true);
  await redis.command('SET {svc}:form 99');
  await until('the node notices the newer format', () => !link.isReady);
  assert.match(String(link.check()), /a newer svc uses it \(format 99; this one knows up to \d+\)/);
  const late = await linkTo(t, redis.url);
  assert.match(String(late.check()), /a newer svc uses it/);
  assert.match(await redis.command('GET {svc}:form'), /99/, 'the format is not lowered');
});
