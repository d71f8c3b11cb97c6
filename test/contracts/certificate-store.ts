import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { CertificateStore } from '../../src/certificates/certificate-store.ts';

/** The contract of `CertificateStore`. */
export function certificateStoreContract(name: string, open: (t: TestContext) => Promise<CertificateStore | undefined>): void {
  test(`${name}: texts are found by name until they expire, and the only process is the leader`, async (t) => {
    const store = await open(t);
    if (!store) return;
    assert.equal(await store.isLeader(), true);
    assert.equal(await store.isLeader(), true, 'it stays the leader');
    assert.equal(await store.get('certificate web'), undefined);
    await store.put('certificate web', 'first', 60_000);
    await store.put('certificate web', 'second ü', 60_000);
    await store.put('http-01 x', 'short', 200);
    assert.equal(await store.get('certificate web'), 'second ü');
    assert.equal(await store.get('http-01 x'), 'short');
    assert.equal(await store.get('http-01 '), undefined);
    await store.remove('certificate web');
    assert.equal(await store.get('certificate web'), undefined);
    await new Promise((resolve) => setTimeout(resolve, 300));
    assert.equal(await store.get('http-01 x'), undefined);
  });
}
