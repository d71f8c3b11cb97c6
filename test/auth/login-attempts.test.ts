import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AdmittedAttempt, LoginAttempts } from '../../src/auth/login-attempts.ts';
import { silentLog } from '../../src/lib/log.ts';
import { MemoryBans } from '../../src/state/memory/bans.ts';
import { ManualClock } from '../support/manual-clock.ts';

function open(limit: number) {
  const clock = new ManualClock();
  const bans = new MemoryBans(clock, () => ({ ban_after_failures: limit, ban_seconds: 60, ban_window_seconds: 60 }));
  const attempts = new LoginAttempts(bans, clock, silentLog);
  const begin = (content: string, address = '192.0.2.1', username = content) =>
    attempts.begin({ type: 'password', username, content, address }, 5000);
  return { clock, begin };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

async function admitted(begun: ReturnType<LoginAttempts['begin']>): Promise<AdmittedAttempt> {
  const attempt = await begun;
  assert.ok(attempt.kind === 'admitted');
  return attempt;
}

test('attempts get slots in the order of their arrival, and later ones queue behind them', async () => {
  const { begin } = open(1);
  const first = await admitted(begin('a'));
  const order: string[] = [];
  const follow = async (name: string) => {
    const attempt = await admitted(begin(name));
    order.push(name);
    await settled();
    await attempt.end('succeeded');
  };
  const waiting = ['b', 'c', 'd'].map(follow);
  await settled();
  await first.end('unknown');
  waiting.push(follow('e'));
  await Promise.all(waiting);
  assert.deepEqual(order, ['b', 'c', 'd', 'e']);
  await follow('b');
});

test('a failure that causes a ban refuses all waiting attempts of the address; other addresses do not wait for them', async () => {
  const { begin } = open(1);
  const first = await admitted(begin('a'));
  const waiting = Array.from({ length: 20 }, (_, index) => begin(`guess ${index}`));
  await (await admitted(begin('b', '192.0.2.2'))).end('succeeded');
  await first.end('failed');
  for (const attempt of await Promise.all(waiting)) assert.equal(attempt.kind, 'refused');
  assert.equal((await begin('c')).kind, 'refused');
});

test('a login that was accepted from an address before does not queue; identical concurrent attempts share a slot', async () => {
  const { begin } = open(1);
  await (await admitted(begin('known'))).end('succeeded');
  const first = await admitted(begin('a'));
  const waiting = begin('b');
  assert.equal((await admitted(begin('known'))).isKnown, true);
  const same = await admitted(begin('a'));
  await first.end('unknown');
  let isAdmitted = false;
  void waiting.then(() => {
    isAdmitted = true;
  });
  await settled();
  assert.equal(isAdmitted, false, 'the slot is still used');
  await same.end('unknown');
  await admitted(waiting);
});

test('the number of waiting attempts and their waiting time are limited', async () => {
  const { begin, clock } = open(1);
  await admitted(begin('a'));
  const waiting = Array.from({ length: 256 }, (_, index) => begin(`b${index}`));
  const refused = assert.rejects(begin('one more'), { code: 'unavailable' });
  await settled();
  await refused;
  const outcomes = Promise.allSettled(waiting);
  // No attempt ends, so each keeps its slot until its lease ends after five seconds.
  for (let step = 0; step < 300; step++) {
    clock.advance(50);
    await settled();
  }
  const kinds = (await outcomes).map(({ status }) => status);
  assert.ok(kinds.filter((status) => status === 'fulfilled').length >= 1);
  assert.ok(kinds.filter((status) => status === 'rejected').length >= 254);
});
