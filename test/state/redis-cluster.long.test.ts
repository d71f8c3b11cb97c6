import assert from 'node:assert/strict';
import { after, type TestContext, test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import { RedisBans } from '../../src/state/redis/bans.ts';
import { attempt, guess } from '../contracts/bans.ts';
import { eventLogContract, testEvent } from '../contracts/event-log.ts';
import { stateContracts } from '../contracts/redis-state.ts';
import { selfSigned } from '../support/certificates.ts';
import { until } from '../support/receiver.ts';
import { journalTexts, linkTo, loginOf, markAsUsed, openJournal, row, sessionsOn } from '../support/redis.ts';
import { type Cluster, startCluster, untilReplicated } from '../support/redis-groups.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

let shared: Promise<Cluster> | undefined;
let installations = 0;
const endings: (() => unknown)[] = [];
after(async () => {
  for (const end of endings) await end();
});

/** Opens a link to one cluster for all contracts. Each contract has its own keys, which are spread over the slots. */
async function open(t: TestContext): Promise<RedisLink | undefined> {
  if (!hasProgram(t, 'redis-server')) return undefined;
  shared ??= startCluster({ after: (end) => endings.push(end) });
  return linkTo(t, (await shared).url, { prefix: `p${installations++}`, settleMs: 10 });
}

stateContracts('a cluster', open);
eventLogContract('journal in a cluster', async (t) => {
  const link = await open(t);
  return link && openJournal(link, temporaryFolder(t));
});

async function begin(t: TestContext): Promise<{ cluster: Cluster; link: RedisLink } | undefined> {
  if (!hasProgram(t, 'redis-server')) return undefined;
  const cluster = await startCluster(t);
  await markAsUsed((await cluster.owner()).command);
  return { cluster, link: await linkTo(t, cluster.url) };
}

test('a server of a cluster dies without a replica: sessions are unavailable, events wait on disk, and nothing is lost', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { cluster, link } = begun;
  const owner = await cluster.owner();
  const sessions = sessionsOn(t, link);
  const log = await openJournal(link, temporaryFolder(t));
  const id = await sessions.create(loginOf('alice'));
  for (const text of row(0, 5)) await log.appendDurable(testEvent(text));
  await owner.kill();
  await until('the loss is noticed', () => !link.isReady);
  await assert.rejects(Promise.resolve(sessions.find(id)), { code: 'unavailable' });
  for (const text of row(5, 10)) await log.appendDurable(testEvent(text));
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(link.isReady, false, 'the other servers of the cluster do not take over');
  await owner.restart();
  await until('the server is back', () => link.isReady);
  assert.ok(await sessions.find(id));
  await until('all events are forwarded', async () => (await log.spooled()).events === 0);
  assert.deepEqual(await journalTexts(log), row(0, 10));
  await log.close();
});

test('a replica of a cluster takes over: sessions, bans and events are kept', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { cluster, link } = begun;
  const owner = await cluster.owner();
  const replica = await cluster.addReplica(owner);
  const sessions = sessionsOn(t, link);
  const bans = new RedisBans(link, systemClock, () => ({ ban_after_failures: 1, ban_seconds: 60, ban_window_seconds: 60 }));
  const log = await openJournal(link, temporaryFolder(t));
  const id = await sessions.create(loginOf('alice'));
  await attempt(bans, guess(), 'failed');
  for (const text of row(0, 5)) await log.appendDurable(testEvent(text));
  await untilReplicated(owner);
  await owner.kill();
  for (const text of row(5, 10)) await log.appendDurable(testEvent(text));
  await until('another server serves', () => link.isReady);
  assert.equal((await cluster.owner()).port, replica.port);
  assert.ok(await sessions.find(id));
  assert.ok(await bans.isRefused('192.0.2.1'));
  await until('all events are forwarded', async () => (await log.spooled()).events === 0);
  assert.deepEqual(await journalTexts(log), row(0, 10));
  await owner.restart();
  await until('the old server is a replica', async () => /role:slave/.test(await owner.command('INFO replication')));
  assert.ok(await sessions.find(id), 'the session is kept when the old server returns');
  await log.close();
});

test('while a slot moves to another server, no session and no event is lost', async (t) => {
  const begun = await begin(t);
  if (!begun) return;
  const { cluster, link } = begun;
  const sessions = sessionsOn(t, link);
  const log = await openJournal(link, temporaryFolder(t));
  const ids: string[] = [];
  for (let index = 0; index < 5; index++) ids.push(await sessions.create(loginOf(`user${index}`)));
  for (const text of row(0, 5)) await log.appendDurable(testEvent(text));
  const source = await cluster.owner();
  const target = cluster.nodes.find((node) => node !== source);
  assert.ok(target);
  const idOf = async (node: typeof source) => (await node.command('CLUSTER MYID')).trim();
  const slot = (await source.command('CLUSTER KEYSLOT {svc}:')).trim();
  await target.command(`CLUSTER SETSLOT ${slot} IMPORTING ${await idOf(source)}`);
  await source.command(`CLUSTER SETSLOT ${slot} MIGRATING ${await idOf(target)}`);
  let isFirst = true;
  for (;;) {
    const keys = (await source.command(`CLUSTER GETKEYSINSLOT ${slot} 1`)).trim();
    if (keys === '') break;
    await source.command(`MIGRATE 127.0.0.1 ${target.port} ${keys} 0 5000`);
    if (isFirst) await log.appendDurable(testEvent('5'));
    isFirst = false;
  }
  for (const node of [target, source]) await node.command(`CLUSTER SETSLOT ${slot} NODE ${await idOf(target)}`);
  await until('the slot is found', async () => link.isReady && (await log.spooled()).events === 0);
  for (const id of ids) assert.ok(await sessions.find(id));
  assert.deepEqual(await journalTexts(log), row(0, 6));
  await log.close();
});

test('a cluster over TLS accepts the ACL user of the URL, with only the rights that it needs', async (t) => {
  if (!hasProgram(t, 'redis-server') || !hasProgram(t, 'openssl')) return;
  const { cert, certPath, keyPath } = selfSigned(t);
  const tls = ['--tls-cert-file', certPath, '--tls-key-file', keyPath, '--tls-ca-cert-file', certPath, '--tls-auth-clients', 'no'];
  const cluster = await startCluster(t, {
    redis: [...tls, '--tls-cluster', 'yes', '--tls-replication', 'yes', '--requirepass', 'of-operators', '--masterauth', 'of-operators'],
    how: { cli: ['--tls', '--cacert', certPath, '-a', 'of-operators'], listen: (port) => ['--port', '0', '--tls-port', String(port)] },
  });
  const rights = '~{svc}:* +@all -@admin -@dangerous +info +cluster|slots +cluster|keyslot';
  for (const node of cluster.nodes) assert.match(await node.command(`ACL SETUSER node on >p%ss ${rights}`), /OK/);
  const link = await linkTo(t, `rediss+cluster://node:p%25ss@${cluster.address}`, { caPem: cert });
  assert.equal(link.check(), true);
  const sessions = sessionsOn(t, link);
  const id = await sessions.create(loginOf('alice'));
  assert.ok(await sessions.find(id));
  assert.equal(await sessions.endAll('alice'), 1);
  const log = await openJournal(link, temporaryFolder(t));
  await log.appendDurable(testEvent('0'));
  assert.deepEqual(await journalTexts(log), ['0']);
  await log.close();
  const wrong = await linkTo(t, `rediss+cluster://node:wrong@${cluster.address}`, { caPem: cert });
  assert.match(String(wrong.check()), /away.*WRONGPASS/);
});
