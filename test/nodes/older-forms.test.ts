import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { run } from '../support/child.ts';
import { startNode } from '../support/nodes.ts';
import { startReceiver, until } from '../support/receiver.ts';
import { linkTo, startRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { learnSecret } from '../support/secrets.ts';
import { startServer } from '../support/server.ts';
import { temporaryFolder } from '../support/temp.ts';

/** Data folders as svc 0.1.0 left them when it was killed; `stream.json` and `groups.json` are what Redis had of the node. */
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

test('a data folder of 0.1.0: journal, positions and a changed password go on', async (t) => {
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
  await until('what was not delivered is', () => paths(receivers.waiting).includes('/new.txt'));
  assert.deepEqual(paths(receivers.waiting), ['/3.txt', '/4.txt', '/new.txt'], 'the handler had given two up');
  await until('the other gets what is new', () => paths(receivers.done).includes('/new.txt'));
  assert.deepEqual(paths(receivers.done), ['/new.txt']);
  assert.equal(readFileSync(join(dataFolder, 'form'), 'utf8'), '2\n');
});

test('a node of 0.1.0 goes on with a newer svc: each event comes into the stream once, handlers go on where they stood', async (t) => {
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
  await until('all is delivered', () => receiver.events().some(({ data }) => data.path === '/new.txt'));
  assert.deepEqual(
    receiver.events().map(({ data }) => data.path),
    ['/3.txt', '/4.txt', '/new.txt'],
    'what 0.1.0 could not forward, and not what it had delivered',
  );
  const all = (await link.call(['XRANGE', '{svc}:journal', '-', '+'])) as [string, string[]][];
  const uuids = all.map(([, fields]) => /"uuid":"([^"]+)"/.exec(fields[fields.indexOf('event') + 1] ?? '')?.[1]);
  assert.equal(new Set(uuids).size, uuids.length, 'nothing twice');
});

test('a data folder that a newer svc wrote is refused, with the reason and nothing changed', async (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'svc-data'));
  writeFileSync(join(folder, 'svc-data', 'form'), '99\n');
  const config = { server: { data_folder_path: './svc-data' }, services: { web: { type: 'http', port: 0 } } };
  writeFileSync(join(folder, 'svc.config.json'), JSON.stringify({ ...config, groups: { DEFAULT_GROUP: { home_folder_path: './home' } } }));
  const { code, stderr } = await run(t, ['serve'], { cwd: folder });
  assert.equal(code, 3);
  assert.match(stderr, /written by a newer svc \(form 99; this one knows up to \d+\)/);
  assert.equal(readFileSync(join(folder, 'svc-data', 'form'), 'utf8'), '99\n');
});

test('a Redis that newer nodes use: an older one stops using it at once, and says why', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const link = await linkTo(t, redis.url);
  assert.equal(link.check(), true);
  await redis.command('SET {svc}:form 99');
  await until('it is noticed', () => !link.isReady);
  assert.match(String(link.check()), /a newer svc uses it \(form 99; this one knows up to \d+\)/);
  const late = await linkTo(t, redis.url);
  assert.match(String(late.check()), /a newer svc uses it/);
  assert.match(await redis.command('GET {svc}:form'), /99/, 'it is not lowered');
});
