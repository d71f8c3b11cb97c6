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

test('those that wait for a slot get it in the order they came, and whoever comes later stands behind them', async () => {
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

test('a failure that bans refuses all that wait; another address waits for none of them', async () => {
  const { begin } = open(1);
  const first = await admitted(begin('a'));
  const waiting = Array.from({ length: 20 }, (_, index) => begin(`guess ${index}`));
  await (await admitted(begin('b', '192.0.2.2'))).end('succeeded');
  await first.end('failed');
  for (const attempt of await Promise.all(waiting)) assert.equal(attempt.kind, 'refused');
  assert.equal((await begin('c')).kind, 'refused');
});

test('what was accepted from there stands in no line; the same at the same time shares one slot', async () => {
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

test('who waits is bounded in number and time', async () => {
  const { begin, clock } = open(1);
  await admitted(begin('a'));
  const waiting = Array.from({ length: 256 }, (_, index) => begin(`b${index}`));
  const refused = assert.rejects(begin('one more'), { code: 'unavailable' });
  await settled();
  await refused;
  const outcomes = Promise.allSettled(waiting);
  // The slot's lease ends after five seconds; the next one is not given back either.
  for (let step = 0; step < 300; step++) {
    clock.advance(50);
    await settled();
  }
  const kinds = (await outcomes).map(({ status }) => status);
  assert.ok(kinds.filter((status) => status === 'fulfilled').length >= 1);
  assert.ok(kinds.filter((status) => status === 'rejected').length >= 254);
});
