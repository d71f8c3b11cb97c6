import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Identity } from '../../src/auth/credentials.ts';
import {
  type ListedSession,
  maxSessionsPerAccount,
  type Session,
  type SessionLifetimes,
  type SessionStore,
} from '../../src/auth/sessions.ts';
import { until } from '../support/receiver.ts';
import { loginOf } from '../support/redis.ts';

/** Dependencies of the store under test. */
export interface SessionsDependencies {
  lifetimes: () => SessionLifetimes;
  onTimeout: (identity: Identity) => void;
}

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** The contract of `SessionStore`. @param open makes an empty store */
export function sessionsContract(
  name: string,
  open: (t: TestContext, dependencies: SessionsDependencies) => Promise<SessionStore | undefined>,
): void {
  const long = () => ({ idleMs: 60_000, maximumAgeMs: 120_000 });
  const contract = (what: string, body: (sessions: SessionStore, over: string[], lifetimes: SessionLifetimes) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const over: string[] = [];
      const lifetimes = long();
      const sessions = await open(t, { lifetimes: () => lifetimes, onTimeout: ({ name }) => over.push(name) });
      if (!sessions) return;
      await body(sessions, over, lifetimes);
      sessions.close();
    });

  contract('a session is found by its ID only, with all data of its login', async (sessions) => {
    const method = { uuid: 'm', type: 'http' };
    const permissions = { general: ['allow-read'], rules: [{ expression: '/in/*', permissions: ['allow-write'] }] };
    const configuration = { group: 'partners', permissions };
    const login: Identity = { name: 'alice', uuid: 'a-1', method, configuration };
    const before = Date.now();
    const id = await sessions.create(login);
    const other = await sessions.create(loginOf('bob', ['first', 'second']));
    assert.match(id, /^[\w-]{43}$/);
    assert.notEqual(id, other);
    const session = await sessions.find(id);
    assert.ok(session);
    assert.equal(await sessions.find(session.key), undefined, 'the stored hash is not accepted');
    assert.deepEqual(session.identity, login);
    assert.deepEqual((await sessions.find(other))?.identity, loginOf('bob', ['first', 'second']));
    assert.ok(session.createdMs >= before - 5 && session.createdMs <= Date.now() + 5);
    assert.equal(await sessions.count(), 2);
    assert.equal(await sessions.find('unknown'), undefined);
    assert.equal(await sessions.find(''), undefined);
  });

  contract('an ended session is not found any more; ending it twice does no harm', async (sessions, over) => {
    const ids = [await sessions.create(loginOf('alice')), await sessions.create(loginOf('alice'))] as const;
    const session = await sessions.find(ids[0]);
    assert.ok(session);
    assert.deepEqual([await sessions.end(session), await sessions.end(session)], [true, false], 'a session ends only once');
    assert.equal(await sessions.find(ids[0]), undefined);
    assert.ok(await sessions.find(ids[1]));
    assert.equal(await sessions.count(), 1);
    assert.deepEqual(over, []);
  });

  contract('sessions of connections are refused once an account has its maximum', async (sessions, over, lifetimes) => {
    const begin = (name: string) => sessions.createForConnection(loginOf(name), '192.0.2.1', 2);
    const first = await begin('alice');
    assert.ok(first !== undefined && (await begin('alice')) !== undefined);
    assert.equal(await begin('alice'), undefined);
    assert.ok((await begin('bob')) !== undefined, 'each account has its own maximum');
    assert.equal(await sessions.count(), 3);
    const session = await sessions.find(first);
    assert.ok(session);
    await sessions.end(session);
    assert.ok((await begin('alice')) !== undefined, 'an ended session no longer counts');
    assert.deepEqual(over, []);
    lifetimes.maximumAgeMs = 1;
    await Promise.all([begin('carol'), begin('carol')]);
    await until('sessions that are too old no longer count', async () => (await begin('carol')) !== undefined);
  });

  contract('all sessions of an account end except one', async (sessions) => {
    const ids: string[] = [];
    for (const account of ['a', 'a', 'a', 'b']) ids.push(await sessions.create(loginOf(account)));
    const kept = await sessions.find(ids[1] as string);
    assert.ok(kept);
    assert.equal(await sessions.endAll('a', kept), 2);
    const alive = await Promise.all(ids.map(async (id) => (await sessions.find(id)) !== undefined));
    assert.deepEqual(alive, [false, true, false, true]);
    assert.equal(await sessions.endAll('a'), 1);
    assert.equal(await sessions.endAll('nobody'), 0);
  });

  contract(
    'the list has account, address, client and times of each session; sessions are ended by the keys of the list',
    async (sessions, over) => {
      const before = Date.now();
      const ids = [
        await sessions.create(loginOf('alice'), '192.0.2.1', 'curl/8.5.0'),
        await sessions.createForConnection(loginOf('alice'), '2001:db8::1', 10, `${'x'.repeat(1000)}`),
        await sessions.create(loginOf('bob')),
      ];
      const first = await sessions.find(ids[0] as string);
      const order = (session: ListedSession) => `${session.identity.name}${session.address}`;
      const listed = (await sessions.list()).sort((a, b) => (order(a) < order(b) ? -1 : 1));
      assert.deepEqual(
        listed.map(({ identity, address, client }) => [identity.name, address, client]),
        [
          ['alice', '192.0.2.1', 'curl/8.5.0'],
          ['alice', '2001:db8::1', 'x'.repeat(200)],
          ['bob', '', ''],
        ],
      );
      assert.equal(listed[0]?.key, first?.key);
      assert.equal(JSON.stringify(listed).includes(ids[0] as string), false, 'the list contains no ID of a session');
      for (const { createdMs, lastUsedMs, expiresMs } of listed) {
        assert.ok(createdMs >= before - 5 && createdMs <= Date.now() + 5);
        assert.ok(lastUsedMs >= createdMs - 5 && lastUsedMs <= Date.now() + 5);
        assert.ok(Math.abs(expiresMs - createdMs - 60_000) < 1000, `${expiresMs - createdMs}`);
      }
      await sessions.endKeys(listed.slice(0, 2).map(({ key }) => key));
      await sessions.endKeys(['unknown']);
      await sessions.endKeys([]);
      const alive = await Promise.all(ids.map(async (id) => (await sessions.find(id ?? '')) !== undefined));
      assert.deepEqual(alive, [false, false, true]);
      assert.deepEqual(
        (await sessions.list()).map(({ identity }) => identity.name),
        ['bob'],
      );
      assert.equal(await sessions.count(), 1);
      assert.deepEqual(over, [], 'ended sessions are not reported as timed out');
    },
  );

  contract('idle sessions time out and are reported once; requests and transfers keep them alive', async (sessions, over, lifetimes) => {
    lifetimes.idleMs = 1500;
    const idle = await sessions.create(loginOf('idle'));
    const used = await sessions.create(loginOf('used'));
    const busy = await sessions.create(loginOf('busy'));
    const session = await sessions.find(busy);
    assert.ok(session);
    const hold = sessions.hold(session);
    for (let round = 0; round < 5; round++) {
      await pause(400);
      assert.ok(await sessions.find(used), 'each request counts as activity');
    }
    assert.equal(await sessions.find(idle), undefined);
    assert.ok(await sessions.find(busy), 'a running transfer counts as activity');
    hold.done();
    hold.done();
    await pause(1800);
    assert.equal(await sessions.find(busy), undefined);
    await until('all three timeouts are reported', () => over.length === 3);
    await pause(1200);
    assert.deepEqual(over.sort(), ['busy', 'idle', 'used']);
    assert.equal(await sessions.count(), 0);
  });

  contract('the absolute lifetime ends even a busy session', async (sessions, over, lifetimes) => {
    lifetimes.maximumAgeMs = 700;
    const id = await sessions.create(loginOf('alice'));
    const session = await sessions.find(id);
    assert.ok(session);
    const hold = sessions.hold(session);
    const startedMs = performance.now();
    while (await sessions.find(id)) {
      assert.ok(performance.now() - startedMs < 3000, 'the session does not end');
      await pause(50);
    }
    assert.ok(performance.now() - startedMs >= 600);
    hold.done();
    await until('the timeout is reported', () => over.length === 1);
  });

  contract('shorter lifetimes after a reload also apply to existing sessions', async (sessions, _, lifetimes) => {
    const id = await sessions.create(loginOf('alice'));
    await pause(100);
    lifetimes.maximumAgeMs = 50;
    assert.equal(await sessions.find(id), undefined);
  });

  contract(
    'a shorter idle time applies to existing sessions; a session with a running transfer is not idle',
    async (sessions, over, lifetimes) => {
      const ids = [await sessions.create(loginOf('idle')), await sessions.create(loginOf('busy'))] as const;
      const busy = await sessions.find(ids[1]);
      assert.ok(busy);
      lifetimes.idleMs = 900;
      const hold = sessions.hold(busy);
      await pause(1000);
      assert.equal(await sessions.find(ids[0]), undefined);
      assert.ok(await sessions.find(ids[1]));
      hold.done();
      lifetimes.idleMs = 60_000;
      assert.ok(await sessions.find(ids[1]));
      await until('the timeout is reported', () => over.length > 0);
      assert.deepEqual(over, ['idle']);
    },
  );

  contract('sessions with valid credentials stay; the others end, which is not reported as a timeout', async (sessions, over) => {
    const ids: string[] = [];
    for (const login of [loginOf('a'), loginOf('b'), loginOf('a', ['other']), loginOf('b')]) ids.push(await sessions.create(login));
    const seen = await Promise.all(ids.map((id) => sessions.find(id)));
    const isFirst = ({ proof }: Identity) => proof?.fingerprints.includes('first') === true;
    assert.equal(await sessions.keepOnly((identity) => identity.name === 'b' || isFirst(identity)), 1);
    assert.equal(await sessions.keepOnly(isFirst), 0);
    const alive = () => Promise.all(ids.map(async (id) => (await sessions.find(id)) !== undefined));
    assert.deepEqual(await alive(), [true, true, false, true]);
    await sessions.refuse(seen[1] as Session);
    await sessions.refuse(seen[2] as Session);
    assert.deepEqual(await alive(), [true, false, false, true]);
    assert.equal(await sessions.keepOnly(() => false), 2);
    assert.equal(await sessions.count(), 0);
    await pause(1200);
    assert.deepEqual(over, []);
  });

  contract('a renewed session has all new credentials, also for requests that found it before the renewal', async (sessions) => {
    const ids = [await sessions.create(loginOf('a')), await sessions.create(loginOf('a'))] as const;
    const [own, other] = [await sessions.find(ids[0]), await sessions.find(ids[1])];
    assert.ok(own && other);
    await sessions.renew(own, ['first', 'second']);
    assert.deepEqual(own.identity.proof?.fingerprints, ['first', 'second']);
    assert.deepEqual((await sessions.find(ids[0]))?.identity.proof?.fingerprints, ['first', 'second']);
    assert.deepEqual(other.identity.proof?.fingerprints, ['first']);
    assert.equal(await sessions.keepOnly(({ proof }) => proof?.fingerprints.includes('second') === true), 1);
    assert.ok(await sessions.find(ids[0]));
    await sessions.renew(other, ['second']);
    assert.equal(await sessions.find(ids[1]), undefined, 'an ended session cannot be renewed');
    assert.equal(await sessions.count(), 1);
  });

  contract('an account has at most a thousand sessions: one more ends the session that was unused for longest', async (sessions, over) => {
    const ids: string[] = [];
    const other = await sessions.create(loginOf('bob'));
    for (let index = 0; index < 2; index++) {
      ids.push(await sessions.create(loginOf('alice')));
      // Redis rounds times to whole milliseconds.
      await pause(5);
    }
    for (let left = maxSessionsPerAccount - 2; left > 0; left -= 50)
      await Promise.all(Array.from({ length: Math.min(left, 50) }, () => sessions.create(loginOf('alice'))));
    const [first, second] = ids as [string, string];
    await pause(5);
    assert.ok(await sessions.find(first), 'the session that was used again stays');
    const more = await sessions.create(loginOf('alice'));
    assert.equal(await sessions.find(second), undefined);
    for (const id of [first, more, other]) assert.ok(await sessions.find(id));
    assert.equal(await sessions.count(), maxSessionsPerAccount + 1);
    assert.deepEqual(over, ['alice']);
    assert.equal(await sessions.endAll('alice'), maxSessionsPerAccount);
  });
}
