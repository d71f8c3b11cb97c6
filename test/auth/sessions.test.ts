import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loginSource } from '../../src/auth/ban-list.ts';
import { MemorySessions } from '../../src/state/memory/sessions.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { loginOf } from '../support/redis.ts';

test('a session ends after its idle time or its maximum age, and is no longer found; a running transfer keeps it active', async () => {
  const clock = new ManualClock();
  const ended: string[] = [];
  const sessions = new MemorySessions(
    clock,
    () => ({ idleMs: 10_000, maximumAgeMs: 60_000 }),
    (session) => ended.push(session.identity.uuid),
  );
  const id = await sessions.create(loginOf('a'));
  for (let round = 0; round < 4; round++) {
    clock.advance(9_000);
    assert.ok(sessions.find(id));
  }
  const session = sessions.find(id);
  assert.ok(session);
  const hold = sessions.hold(session);
  clock.advance(20_000);
  assert.ok(sessions.find(id), 'a running transfer counts as activity');
  hold.done();
  hold.done();
  clock.advance(4_001);
  assert.equal(sessions.find(id), undefined, 'the maximum age has passed');
  await sessions.create(loginOf('b'));
  clock.advance(12_000);
  assert.deepEqual(ended, ['a', 'b']);
  assert.equal(sessions.find('unknown'), undefined);
});

test('all sessions of an account end except the given one; sessions of other accounts continue', async () => {
  const sessions = new MemorySessions(
    new ManualClock(),
    () => ({ idleMs: 1e6, maximumAgeMs: 1e6 }),
    () => {},
  );
  const ids = await Promise.all(['a', 'a', 'a', 'b'].map((uuid) => sessions.create(loginOf(uuid))));
  const [first = ''] = ids;
  assert.equal(await sessions.endAll('a', sessions.find(first)), 2);
  assert.deepEqual(
    ids.map((id) => sessions.find(id) !== undefined),
    [true, false, false, true],
  );
});

test('an ended session cannot be found even in the same turn of the event loop', async () => {
  const sessions = new MemorySessions(
    new ManualClock(),
    () => ({ idleMs: 1000, maximumAgeMs: 5000 }),
    () => {},
  );
  const id = await sessions.create(loginOf('a'));
  const session = sessions.find(id);
  assert.ok(session);
  const ended = sessions.end(session);
  assert.equal(sessions.find(id), undefined);
  await ended;
  sessions.close();
});

test('all addresses of an IPv6 /64 count as one source of logins; an IPv4 address is a source of its own', () => {
  assert.equal(loginSource('2001:db8:1:2::1'), loginSource('2001:db8:1:2:ffff::9'));
  assert.notEqual(loginSource('2001:db8:1:2::1'), loginSource('2001:db8:1:3::1'));
  assert.equal(loginSource('2001:db8:1:2:3:4:5:6'), '2001:db8:1:2::/64');
  assert.equal(loginSource('10.0.0.1'), '10.0.0.1');
});
