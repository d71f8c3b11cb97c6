import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { AuthResult } from '../../src/auth/auth-method.ts';
import type { AcceptedCredentials } from '../../src/auth/callout-cache.ts';
import type { UrlHealth } from '../../src/lib/remote/url-health.ts';

/** The contract of `UrlHealth`. */
export function urlHealthContract(name: string, open: (t: TestContext) => Promise<UrlHealth | undefined>): void {
  test(`${name}: a suspended URL is skipped, the others keep their order`, async (t) => {
    const health = await open(t);
    if (!health) return;
    const urls = ['http://a/', 'http://b/?token=x', 'http://c/'];
    assert.deepEqual(await health.available(urls), urls);
    await health.suspend('http://b/?token=x');
    await health.suspend('http://b/?token=x');
    assert.deepEqual(await health.available(urls), ['http://a/', 'http://c/']);
    assert.equal(health.countSuspended(), 1);
    for (const url of urls) await health.suspend(url);
    assert.deepEqual(await health.available(urls), []);
  });
}

/** The contract of `AcceptedCredentials`. */
export function acceptedContract(
  name: string,
  open: (t: TestContext, lifetimeMs: number) => Promise<AcceptedCredentials | undefined>,
): void {
  test(`${name}: accepted credentials are remembered until their lifetime ends, under a key that reveals nothing about them`, async (t) => {
    const accepted = await open(t, 300);
    if (!accepted) return;
    const result: AuthResult = { outcome: 'authenticated', account: { home_folder_path: '/srv/a', group: null } };
    const key = accepted.keyFor('alice secret');
    assert.equal(accepted.keyFor('alice secret'), key);
    assert.notEqual(accepted.keyFor('alice Secret'), key);
    assert.equal(key.includes('secret'), false);
    assert.equal(await accepted.find(key), undefined);
    await accepted.keep(key, result);
    assert.deepEqual(await accepted.find(key), result);
    await new Promise((resolve) => setTimeout(resolve, 400));
    assert.equal(await accepted.find(key), undefined);
  });
}
