import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { RedisBans } from '../../src/state/redis/bans.ts';
import { attempt, guess } from '../contracts/bans.ts';
import { testEvent } from '../contracts/event-log.ts';
import { selfSigned } from '../support/certificates.ts';
import { until } from '../support/receiver.ts';
import { journalTexts, linkTo, loginOf, openJournal, row, sessionsOn, type TestRedis } from '../support/redis.ts';
import { type SentinelGroup, startSentinelGroup, untilReplicated } from '../support/redis-groups.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

async function begin(t: TestContext): Promise<SentinelGroup | undefined> {
  return hasProgram(t, 'redis-server') ? startSentinelGroup(t) : undefined;
}

const policy = () => ({ ban_after_failures: 1, ban_seconds: 60, ban_window_seconds: 60 });

test('if the primary is killed, the nodes send the replica the logouts, bans and events that it lacks', async (t) => {
  const group = await begin(t);
  if (!group) return;
  const { primary, replica } = group;
  const link = await linkTo(t, group.url, { settleMs: 2000 });
  const other = await linkTo(t, group.url, { settleMs: 2000 });
  const [sessions, there] = [sessionsOn(t, link), sessionsOn(t, other)];
  const bans = new RedisBans(link, systemClock, policy);
  const log = await openJournal(link, temporaryFolder(t));
  const [stays, ends] = [await sessions.create(loginOf('alice')), await sessions.create(loginOf('bob'))];
  for (const text of row(0, 5)) await log.appendDurable(testEvent(text));
  await untilReplicated(primary);
  // From now on, writes reach only the primary.
  replica.pause();
  const ending = await there.find(ends);
  assert.ok(ending);
  await there.end(ending);
  await attempt(bans, guess(), 'failed');
  for (const text of row(5, 10)) assert.ok(await log.appendDurable(testEvent(text)));
  await primary.kill();
  replica.resume();
  for (const text of row(10, 15)) await log.appendDurable(testEvent(text));
  await until('the replica serves', () => link.isReady && other.isReady);
  assert.match(await replica.command('INFO replication'), /role:master/);
  assert.ok(await sessions.find(stays));
  assert.equal(await sessions.find(ends), undefined, 'another node knows the logout');
  const fresh = await linkTo(t, group.url);
  assert.ok(await new RedisBans(fresh, systemClock, policy).isRefused('192.0.2.1'), 'a new node knows the ban');
  await until('all events are forwarded', async () => (await log.spooled()).events === 0);
  assert.deepEqual(await journalTexts(log), row(0, 15));
  await primary.restart();
  for (let look = 0; look < 20; look++) {
    assert.ok(await sessions.find(stays), 'the old primary is not used, even while it still acts as one');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  await log.close();
});

test('a manual failover is followed; Sentinels that are dead, silent, or do not know the name are skipped', {
  timeout: 90_000,
}, async (t) => {
  const group = await begin(t);
  if (!group) return;
  const { replica, sentinels } = group;
  const wrong = await linkTo(t, group.url.replace(/ours$/, 'theirs'));
  assert.match(String(wrong.check()), /no Sentinel says where theirs is: .*No such master/);
  const link = await linkTo(t, group.url);
  const sessions = sessionsOn(t, link);
  const id = await sessions.create(loginOf('alice'));
  const [first, second, third] = sentinels as [TestRedis, TestRedis, TestRedis];
  assert.match(await second.command('SENTINEL FAILOVER ours'), /OK/);
  await until('the failover is noticed', () => !link.isReady);
  await until('the replica serves', () => link.isReady);
  assert.match(await replica.command('INFO replication'), /role:master/);
  assert.ok(await sessions.find(id));
  await first.kill();
  third.pause();
  const late = await linkTo(t, group.url);
  assert.equal(late.check(), true, 'one Sentinel of three is enough to find the primary');
  assert.ok(await sessionsOn(t, late).find(id));
  third.resume();
  for (const sentinel of [second, third]) await sentinel.kill();
  // Nodes ask the Sentinels at an interval that is shorter than this pause.
  await new Promise((resolve) => setTimeout(resolve, 5500));
  assert.ok(await sessions.find(id), 'a primary that answers is kept although no Sentinel names it');
});

test('TLS, an ACL user for Redis and a password for Sentinel work', async (t) => {
  if (!hasProgram(t, 'redis-server') || !hasProgram(t, 'openssl')) return;
  const { cert, certPath, keyPath } = selfSigned(t);
  const tls = ['--tls-cert-file', certPath, '--tls-key-file', keyPath, '--tls-ca-cert-file', certPath, '--tls-auth-clients', 'no'];
  const group = await startSentinelGroup(t, {
    redis: [...tls, '--tls-replication', 'yes', '--requirepass', 'of-operators', '--masterauth', 'of-operators'],
    sentinel: [...tls, '--tls-replication', 'yes'],
    lines: ['sentinel auth-pass ours of-operators', 'requirepass of-operators', 'sentinel sentinel-pass of-operators'],
    how: { cli: ['--tls', '--cacert', certPath, '-a', 'of-operators'], listen: (port) => ['--port', '0', '--tls-port', String(port)] },
  });
  const rights = '~{svc}:* +@all -@admin -@dangerous +info';
  for (const server of [group.primary, group.replica]) await server.command(`ACL SETUSER node on >p%ss ${rights}`);
  for (const sentinel of group.sentinels) {
    assert.match(await sentinel.command('ACL SETUSER watcher on >w -@all +auth +sentinel|master'), /OK/);
  }
  const url = `rediss+sentinel://node:p%25ss@${group.address}`;
  const link = await linkTo(t, url, { caPem: cert, sentinel: { username: 'watcher', password: 'w' } });
  assert.equal(link.check(), true);
  const sessions = sessionsOn(t, link);
  const id = await sessions.create(loginOf('alice'));
  await group.primary.kill();
  await until('the replica serves', async () => link.isReady && (await sessions.find(id).catch(() => undefined)) !== undefined);
  const stranger = await linkTo(t, url, { caPem: cert });
  assert.match(String(stranger.check()), /NOAUTH/);
});
