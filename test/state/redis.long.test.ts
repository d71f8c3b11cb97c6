import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import { FileGrants } from '../../src/state/memory/grants.ts';
import { RedisBans } from '../../src/state/redis/bans.ts';
import { RedisAcceptedCredentials } from '../../src/state/redis/callout-cache.ts';
import { RedisCertificates } from '../../src/state/redis/certificates.ts';
import { RedisGrants } from '../../src/state/redis/grants.ts';
import { RedisLocks } from '../../src/state/redis/locks.ts';
import { RedisSessions } from '../../src/state/redis/sessions.ts';
import { RedisUrlHealth } from '../../src/state/redis/url-health.ts';
import { attempt, guess } from '../contracts/bans.ts';
import { tokenOf } from '../contracts/grant-store.ts';
import { stateContracts } from '../contracts/redis-state.ts';
import { selfSigned } from '../support/certificates.ts';
import { until } from '../support/receiver.ts';
import { freePort, linkTo, loginOf, longSessions, sessionsOn, startProxy, startRedis, type TestRedis } from '../support/redis.ts';
import { hasProgram } from '../support/requires.ts';
import { temporaryFolder } from '../support/temp.ts';

async function open(t: TestContext): Promise<{ redis: TestRedis; link: RedisLink } | undefined> {
  if (!hasProgram(t, 'redis-server')) return undefined;
  const redis = await startRedis(t);
  return { redis, link: await linkTo(t, redis.url) };
}

const policy = () => ({ ban_after_failures: 2, ban_seconds: 60, ban_window_seconds: 60 });
stateContracts('Redis', async (t) => (await open(t))?.link);

test('two nodes share locks: of many concurrent requests exactly one gets the lock', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const stores = [
    new RedisLocks(opened.link, systemClock, () => true),
    new RedisLocks(await linkTo(t, opened.redis.url), systemClock, () => true),
  ];
  const wanted = (index: number) => ({ path: '/a', isDeep: true, accountUuid: `u${index}`, owner: undefined, timeoutMs: 60_000 });
  const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => (stores[index % 2] as RedisLocks).take(wanted(index))));
  const taken = answers.flatMap((answer) => ('taken' in answer ? [answer.taken] : []));
  assert.equal(taken.length, 1);
  for (const store of stores) assert.deepEqual(await store.covering('/a/b'), taken);
  assert.equal(await stores[1]?.release(taken[0]?.token ?? ''), true);
  assert.deepEqual(await stores[0]?.within('/'), []);
});

test('a reader of Redis gets no private key, and a writer changes no certificate; one of two nodes is the leader', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, link } = opened;
  const [one, two] = [new RedisCertificates(link, 'shared'), new RedisCertificates(await linkTo(t, redis.url), 'shared')];
  assert.deepEqual([await one.isLeader(), await two.isLeader(), await one.isLeader()], [true, false, true]);
  await one.put('certificate web', 'PRIVATE KEY', 60_000);
  assert.equal(await two.get('certificate web'), 'PRIVATE KEY');
  const sealed = String(await link.call(['GET', link.key('certificates', 'certificate web')]));
  assert.equal(Buffer.from(sealed, 'base64').includes('PRIVATE'), false);
  await link.call(['SET', link.key('certificates', 'certificate console'), sealed]);
  assert.equal(await two.get('certificate console'), undefined, 'a sealed certificate is bound to its name');
  const bytes = Buffer.from(sealed, 'base64');
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1);
  for (const text of [bytes.toString('base64'), '', 'x', 'PRIVATE KEY']) {
    await link.call(['SET', link.key('certificates', 'certificate web'), text]);
    assert.equal(await two.get('certificate web'), undefined, text);
  }
  assert.equal(await new RedisCertificates(link, 'another').get('certificate console'), undefined);
  await assert.rejects(new RedisCertificates(link, '').put('x', 'y', 1000), /server\.state\.secret, but it is not set/);
});

test('two nodes share sessions, bans and suspensions; each time-out is reported by only one of them', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const links = [opened.link, await linkTo(t, opened.redis.url)] as const;
  const told: string[] = [];
  const lifetimes = { idleMs: 60_000, maximumAgeMs: 120_000 };
  const [here, there] = links.map((link) => {
    const sessions = new RedisSessions(link, 'web', {
      ...longSessions,
      lifetimes: () => lifetimes,
      onTimeout: ({ name }) => told.push(name),
    });
    t.after(() => sessions.close());
    return sessions;
  }) as [RedisSessions, RedisSessions];
  const id = await here.create(loginOf('alice'));
  const found = await there.find(id);
  assert.equal(found?.identity.name, 'alice');
  await here.end(found);
  assert.equal(await there.find(id), undefined, 'a logout holds everywhere');
  const second = await here.create(loginOf('alice'));
  assert.ok(await there.find(second));
  assert.equal(await there.endAll('alice'), 1);
  assert.equal(await here.find(second), undefined, 'endAll at one node ends the sessions of all nodes');
  lifetimes.idleMs = 100;
  for (let index = 0; index < 20; index++) await here.create(loginOf(`user${index}`));
  await until('all time-outs are reported', () => told.length >= 20);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  assert.equal(new Set(told).size, told.length, 'each time-out is reported once');
  const [bans, otherBans] = links.map((link) => new RedisBans(link, systemClock, policy)) as [RedisBans, RedisBans];
  await attempt(bans, guess(), 'failed');
  await attempt(otherBans, guess(), 'failed');
  assert.ok(await bans.isRefused('192.0.2.1'), 'failures add up across nodes');
  const [health, otherHealth] = links.map((link) => new RedisUrlHealth(link, systemClock, 'm')) as [RedisUrlHealth, RedisUrlHealth];
  await health.suspend('http://a/');
  assert.deepEqual(await otherHealth.available(['http://a/', 'http://b/']), ['http://b/']);
});

test('installations with different prefixes are separate; all keys but `marker`, `run` and `form` expire; none has a secret', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const other = await linkTo(t, opened.redis.url, { prefix: 'other' });
  const id = await sessionsOn(t, opened.link).create(loginOf('alice'));
  assert.equal(await sessionsOn(t, other).find(id), undefined);
  const bans = new RedisBans(opened.link, systemClock, policy);
  await attempt(bans, guess(), 'failed');
  await attempt(bans, guess(), 'succeeded');
  await bans.begin(guess(), 60_000, true);
  await new RedisUrlHealth(opened.link, systemClock, 'm').suspend('http://a/?token=hidden');
  await new RedisAcceptedCredentials(opened.link, 'shared', 'm', 60_000).keep('k', { outcome: 'authenticated', account: {} });
  const keys = (await opened.link.call(['KEYS', '*'])) as string[];
  assert.ok(keys.length >= 12);
  for (const key of keys) {
    assert.match(key, /^\{(svc|other)\}:/);
    assert.equal(key.includes(id) || key.includes('hidden'), false);
    if (!/:(marker|run|form)$/.test(key)) assert.ok(Number(await opened.link.call(['PTTL', key])) > 0, `${key} has no time to live`);
  }
});

test('while Redis is absent, sessions and bans are unavailable without delay; a session outlives the restart', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, link } = opened;
  const sessions = sessionsOn(t, link);
  const bans = new RedisBans(link, systemClock, policy);
  const id = await sessions.create(loginOf('alice'));
  await new Promise((resolve) => setTimeout(resolve, 1100));
  await redis.kill();
  await until('the loss is noticed', () => !link.isReady);
  const startedMs = performance.now();
  for (let index = 0; index < 100; index++) {
    await assert.rejects(Promise.resolve(sessions.find(id)), { code: 'unavailable' });
    await assert.rejects(bans.isRefused('192.0.2.1'), { code: 'unavailable' });
    await assert.rejects(bans.begin(guess(), 1000, true), { code: 'unavailable' });
  }
  assert.ok(performance.now() - startedMs < 2000, 'no request waits for the time-out, which is two seconds');
  assert.match(String(link.check()), /away/);
  await redis.restart();
  await until('Redis is back', () => link.isReady);
  assert.ok(await sessions.find(id), 'a session outlives the restart');
});

test('a paused Redis delays only the first request, and is used again when it continues', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, link } = opened;
  const sessions = sessionsOn(t, link);
  const id = await sessions.create(loginOf('alice'));
  redis.pause();
  const startedMs = performance.now();
  await assert.rejects(Promise.resolve(sessions.find(id)), { code: 'unavailable' });
  const firstMs = performance.now() - startedMs;
  assert.ok(firstMs < 5000);
  await assert.rejects(Promise.resolve(sessions.find(id)), { code: 'unavailable' });
  assert.ok(performance.now() - startedMs - firstMs < firstMs / 2, 'the second request is refused sooner');
  redis.resume();
  await until('Redis is back', () => link.isReady);
  assert.ok(await sessions.find(id));
});

test('after Redis was emptied, no session returns, and a ban that a node knows is repeated', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, link } = opened;
  const sessions = sessionsOn(t, link);
  const bans = new RedisBans(link, systemClock, policy);
  const id = await sessions.create(loginOf('alice'));
  for (let index = 0; index < 2; index++) await attempt(bans, guess(), 'failed');
  await redis.command('FLUSHALL');
  await until('the loss of the data is noticed', () => !link.isReady);
  await until('Redis is back', () => link.isReady);
  assert.equal(await sessions.find(id), undefined);
  const other = new RedisBans(await linkTo(t, redis.url), systemClock, policy);
  assert.ok(await other.isRefused('192.0.2.1'), 'another node knows the ban');
  const [ban] = await other.list();
  assert.equal(ban?.failures, 2, 'the number of failures is repeated, too');
});

test('after Redis was emptied, no banned address is admitted, even before a node has noticed', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, link } = opened;
  const bans = new RedisBans(link, systemClock, policy);
  const otherLink = await linkTo(t, redis.url);
  const other = new RedisBans(otherLink, systemClock, policy);
  for (let index = 0; index < 2; index++) await attempt(bans, guess(), 'failed');
  await redis.command('FLUSHALL');
  const asked = performance.now();
  let answers = 0;
  for (let banned = false; !banned && performance.now() - asked < 10_000; answers++) {
    const admission = await other.begin(guess(), 1000, true).catch(({ code }: { code: string }) => ({ kind: code }));
    const refusal = await other.isRefused('192.0.2.1').catch(({ code }: { code: string }) => code);
    assert.match(admission.kind, /unavailable|refused/, `answer ${answers}`);
    assert.ok(refusal, `answer ${answers}`);
    banned = admission.kind === 'refused';
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  assert.deepEqual((await other.begin(guess(), 1000, true)).kind, 'refused', 'the ban was repeated');
  assert.ok(answers > 5);
});

test('a logout that a killed Redis lost is repeated before any login is accepted', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, link } = opened;
  const sessions = sessionsOn(t, link);
  const other = await linkTo(t, redis.url);
  const there = sessionsOn(t, other);
  const id = await sessions.create(loginOf('alice'));
  const session = await sessions.find(id);
  assert.ok(session);
  // From now on Redis syncs its file only once a second, so a crash can lose the last writes.
  await redis.command('CONFIG SET appendfsync everysec');
  await new Promise((resolve) => setTimeout(resolve, 1200));
  const dump = (await redis.command(`DUMP ${`{svc}:logins:web:session:${session.key}`}`)).length;
  assert.ok(dump > 10);
  const before = await link.call(['HGETALL', `{svc}:logins:web:session:${session.key}`]);
  const score = String(await link.call(['ZSCORE', '{svc}:logins:web:sessions', session.key]));
  await sessions.end(session);
  await redis.kill();
  await redis.restart();
  // As if the last write had been lost: the session is there again before any node has reconnected.
  await redis.command(`ZADD {svc}:logins:web:sessions ${score} ${session.key}`);
  const fields = (before as string[]).map((text) => (text === '' ? '""' : `'${text}'`)).join(' ');
  await redis.command(`HSET {svc}:logins:web:session:${session.key} ${fields}`);
  await until('both nodes are back', () => link.isReady && other.isReady);
  assert.equal(await there.find(id), undefined, 'the session has ended at the other node, too');
  assert.equal(await sessions.find(id), undefined);
});

test('if a password change could not end sessions while Redis was absent, they end before any login is accepted', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const { redis, link } = opened;
  const [sessions, there] = [sessionsOn(t, link), sessionsOn(t, await linkTo(t, redis.url))];
  const [stays, ends] = [await sessions.create(loginOf('alice')), await there.create(loginOf('alice'))];
  const session = await sessions.find(stays);
  await redis.kill();
  await assert.rejects(sessions.endAll('alice', session), { code: 'unavailable' });
  await redis.restart();
  await until('both nodes are back', async () => {
    const answer = await there.find(ends).catch(() => 'away');
    if (answer !== 'away') assert.equal(answer, undefined, 'the session has ended at the other node');
    return answer === undefined && link.isReady;
  });
  assert.ok(await sessions.find(stays));
});

test('the first node on an unused Redis waits for nodes that know more, the second one does not', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t, [], { isFresh: true });
  const startedMs = performance.now();
  const first = await linkTo(t, redis.url, { settleMs: 2000 });
  assert.equal(first.check(), true, 'the wait is not an error');
  assert.ok(performance.now() - startedMs >= 2000);
  const second = performance.now();
  await linkTo(t, redis.url, { settleMs: 60_000 });
  assert.ok(performance.now() - second < 30_000, 'a Redis in use needs no wait');
});

test('a cut network is noticed although the other side sends nothing, and used again after its repair', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  const proxy = await startProxy(t, redis.port);
  const link = await linkTo(t, `redis://127.0.0.1:${proxy.port}`);
  const sessions = sessionsOn(t, link);
  const id = await sessions.create(loginOf('alice'));
  proxy.cut();
  await assert.rejects(Promise.resolve(sessions.find(id)), { code: 'unavailable' });
  proxy.mend();
  await until('Redis is back', () => link.isReady);
  assert.ok(await sessions.find(id));
});

test('TLS: a private certificate authority is trusted only if it is configured', async (t) => {
  if (!hasProgram(t, 'redis-server') || !hasProgram(t, 'openssl')) return;
  const { cert, certPath, keyPath } = selfSigned(t);
  const tlsPort = await freePort();
  await startRedis(t, [
    ...['--tls-port', String(tlsPort), '--tls-cert-file', certPath, '--tls-key-file', keyPath],
    ...['--tls-ca-cert-file', certPath, '--tls-auth-clients', 'no'],
  ]);
  const url = `rediss://127.0.0.1:${tlsPort}`;
  const trusted = await linkTo(t, url, { caPem: cert });
  assert.equal(trusted.check(), true);
  const stranger = await linkTo(t, url);
  assert.match(String(stranger.check()), /away/);
});

test('ACL users and passwords are used; a wrong password is refused', async (t) => {
  if (!hasProgram(t, 'redis-server')) return;
  const redis = await startRedis(t);
  assert.match(await redis.command('ACL SETUSER node on >marker%pw ~{svc}:* +@all'), /OK/);
  const right = await linkTo(t, `redis://node:marker%25pw@127.0.0.1:${redis.port}`);
  assert.equal(right.check(), true);
  const sessions = sessionsOn(t, right);
  assert.ok(await sessions.find(await sessions.create(loginOf('alice'))));
  const wrong = await linkTo(t, `redis://node:wrong@127.0.0.1:${redis.port}`);
  assert.match(String(wrong.check()), /away/);
  assert.equal(String(wrong.check()).includes('wrong@'), false);
  await assert.rejects(sessionsOn(t, wrong).create(loginOf('alice')), { code: 'unavailable' });
});

async function grantNode(t: TestContext, redis: TestRedis) {
  const link = await linkTo(t, redis.url);
  const local = new FileGrants(temporaryFolder(t), { clock: systemClock, log: silentLog });
  const store = new RedisGrants(link, local, { clock: systemClock, log: silentLog });
  t.after(() => store.close());
  return { link, store };
}

test('a grant that one node revokes has ended at all nodes, and the other nodes are informed within a second', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const [here, there] = [await grantNode(t, opened.redis), await grantNode(t, opened.redis)];
  const grant = tokenOf('alice');
  await here.store.add(grant, 10);
  assert.deepEqual(await there.store.find(grant.hash), grant);
  let toldMs = Number.NaN;
  there.store.onEnded(() => (toldMs = Date.now()));
  const endedMs = Date.now();
  await here.store.end([grant.id], 'revoked', 'alice');
  assert.equal((await there.store.find(grant.hash))?.end?.reason, 'revoked');
  await until('the other node is informed', () => !Number.isNaN(toldMs));
  assert.ok(toldMs - endedMs < 1000);
});

test('after Redis was emptied, no grant is lost and none that was revoked is valid, even without the node that revoked it', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const [maker, revoker, third] = [await grantNode(t, opened.redis), await grantNode(t, opened.redis), await grantNode(t, opened.redis)];
  const [kept, revoked, used] = [tokenOf('alice'), tokenOf('alice'), tokenOf('alice', { kind: 'link', link: { kind: 'download' } })];
  for (const grant of [kept, revoked, used]) await maker.store.add(grant, 10);
  await revoker.store.end([revoked.id], 'revoked', 'root');
  assert.equal(await revoker.store.countDownload(used.id, 1), true);
  await third.store.find(kept.hash);
  await revoker.link.close();
  await opened.redis.command('FLUSHALL');
  await assert.rejects(
    maker.store.find(revoked.hash) as Promise<unknown>,
    { code: 'unavailable' },
    'the emptied Redis is not taken as complete',
  );
  await until('both nodes are back', () => maker.link.isReady && third.link.isReady);
  for (const { store } of [maker, third, await grantNode(t, opened.redis)]) {
    assert.equal((await store.find(revoked.hash))?.end?.by, 'root');
    assert.equal((await store.find(kept.hash))?.end, undefined);
  }
});

test('while Redis is absent no grant is found; revocations made meanwhile are in force when it is back', async (t) => {
  const opened = await open(t);
  if (!opened) return;
  const [here, there] = [await grantNode(t, opened.redis), await grantNode(t, opened.redis)];
  const [grant, other] = [tokenOf('alice'), tokenOf('alice')];
  await here.store.add(grant, 10);
  await here.store.add(other, 10);
  await there.store.find(grant.hash);
  await opened.redis.kill();
  await until('both nodes notice the loss', () => !here.link.isReady && !there.link.isReady);
  const away = { code: 'unavailable' };
  await assert.rejects(there.store.find(grant.hash) as Promise<unknown>, away);
  await assert.rejects(here.store.add(tokenOf('alice'), 10), away);
  await assert.rejects(here.store.end([grant.id], 'revoked', 'alice'), away);
  assert.equal(here.store.get(grant.id)?.end?.reason, 'revoked', 'at the node that revoked it, the grant has ended');
  await opened.redis.restart();
  await until('both nodes are back', () => here.link.isReady && there.link.isReady);
  await until('the other node knows the end', async () => (await there.store.find(grant.hash))?.end !== undefined);
  assert.equal((await there.store.find(other.hash))?.end, undefined);
});
