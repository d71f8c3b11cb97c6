import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AddressBans, SecurityPolicy } from '../../src/auth/ban-list.ts';

const pause = (delayMs: number) => new Promise((resolve) => setTimeout(resolve, delayMs));

/** What every implementation of `AddressBans` promises. */
export function bansContract(name: string, open: (t: TestContext, policy: () => SecurityPolicy) => Promise<AddressBans | undefined>): void {
  test(`${name}: window, duration, reset by success, off`, async (t) => {
    const policy = { ban_after_failures: 3, ban_seconds: 1, ban_window_seconds: 0.4 };
    const bans = await open(t, () => policy);
    if (!bans) return;
    const fail = async (times: number, address = '192.0.2.1') => {
      for (let index = 0; index < times; index++) await bans.failed(address);
    };
    await fail(2);
    await pause(500);
    await fail(2);
    assert.equal(await bans.isRefused('192.0.2.1'), undefined, 'old failures do not count');
    await bans.succeeded('192.0.2.1');
    await fail(2);
    assert.equal(await bans.isRefused('192.0.2.1'), undefined, 'a success resets the count');
    await fail(1);
    assert.deepEqual(await bans.isRefused('192.0.2.1'), { retryAfterS: 1 });
    assert.equal(await bans.isRefused('192.0.2.2'), undefined);
    await pause(1100);
    assert.equal(await bans.isRefused('192.0.2.1'), undefined, 'it is over');
    policy.ban_after_failures = 0;
    await fail(50);
    assert.equal(await bans.isRefused('192.0.2.1'), undefined);
  });

  test(`${name}: attempts at one time are all counted; an IPv6 customer is one source`, async (t) => {
    const bans = await open(t, () => ({ ban_after_failures: 20, ban_seconds: 60, ban_window_seconds: 60 }));
    if (!bans) return;
    await Promise.all(Array.from({ length: 19 }, (_, index) => bans.failed(`2001:db8:1:2::${index}`)));
    assert.equal(await bans.isRefused('2001:db8:1:2::99'), undefined);
    await bans.failed('2001:db8:1:2:3::1');
    assert.deepEqual(await bans.isRefused('2001:db8:1:2::99'), { retryAfterS: 60 });
    assert.equal(await bans.isRefused('2001:db8:1:3::99'), undefined);
  });
}
