import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type LockStore, maxLocksPerAccount } from '../../src/files/locks/lock-store.ts';

/** A store under test, with its clock. */
export interface LockStoreFixture {
  store: LockStore;
  advance(ms: number): void;
  /** Sets whether any service of the configuration supports locks; true at first. */
  setTaken(areTaken: boolean): void;
}

/** The contract of lock stores. */
export function lockStoreContract(
  name: string,
  make: (t: TestContext) => LockStoreFixture | undefined | Promise<LockStoreFixture | undefined>,
): void {
  const request = (path: string, isDeep = false, accountUuid = 'alice', timeoutMs = 60_000) => ({
    path,
    isDeep,
    accountUuid,
    takenBy: { account: 'Alice', address: '192.0.2.1' },
    owner: { text: 'Alice <&>', isLink: false },
    timeoutMs,
  });
  const contract = (what: string, run: (fixture: LockStoreFixture) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const fixture = await make(t);
      if (fixture) await run(fixture);
    });
  const paths = (locks: { path: string }[]) => locks.map((lock) => lock.path).toSorted();

  contract('a lock has the requested properties and a new URI each time', async ({ store }) => {
    const first = await store.take(request('/a', true));
    const second = await store.take(request('/b'));
    assert.ok('taken' in first && 'taken' in second);
    assert.match(first.taken.token, /^[a-z]+:[\w:-]+$/);
    assert.notEqual(first.taken.token, second.taken.token);
    const { token: _, expiresMs: __, ...rest } = first.taken;
    const { timeoutMs: ___, ...asked } = request('/a', true);
    assert.deepEqual(rest, asked);
    assert.deepEqual(await store.covering('/a'), [first.taken]);
  });

  contract('a lock covers its item; a deep lock also covers all items below', async ({ store }) => {
    await store.take(request('/deep', true));
    await store.take(request('/flat'));
    assert.deepEqual(paths(await store.covering('/deep/x/y')), ['/deep']);
    assert.deepEqual(paths(await store.covering('/flat')), ['/flat']);
    assert.deepEqual(paths(await store.covering('/flat/x')), []);
    assert.deepEqual(paths(await store.covering('/deeper')), [], 'a longer name is another path');
    assert.deepEqual(paths(await store.within('/')), ['/deep', '/flat']);
    assert.deepEqual(paths(await store.within('/dee')), []);
  });

  contract('locks exclude each other, even those of the same account', async ({ store }) => {
    const isTaken = async (path: string, isDeep = false) => 'taken' in (await store.take(request(path, isDeep)));
    assert.equal(await isTaken('/a/b'), true);
    assert.equal(await isTaken('/a/b'), false, 'a second lock of the same path is refused');
    assert.equal(await isTaken('/a', true), false, 'a deep lock above a lock is refused');
    assert.equal(await isTaken('/a'), true, 'a flat lock above a lock is granted');
    assert.equal(await isTaken('/c', true), true);
    assert.equal(await isTaken('/c/d/e'), false, 'a lock below a deep lock is refused');
    const result = await store.take(request('/c/d'));
    assert.equal('conflict' in result && result.conflict.path, '/c');
  });

  contract('of several concurrent attempts one succeeds', async ({ store }) => {
    const results = await Promise.all(Array.from({ length: 20 }, (_, index) => store.take(request('/a', index % 2 === 0))));
    assert.equal(results.filter((result) => 'taken' in result).length, 1);
  });

  contract('locks expire, and a refresh restarts their time', async ({ store, advance }) => {
    const result = await store.take(request('/a', false, 'alice', 1000));
    assert.ok('taken' in result);
    const { token, expiresMs } = result.taken;
    advance(900);
    const refreshed = await store.refresh(token, 1000);
    assert.equal(refreshed?.expiresMs, expiresMs + 900);
    advance(900);
    assert.equal((await store.covering('/a')).length, 1);
    advance(101);
    assert.deepEqual(await store.covering('/a'), []);
    assert.equal(await store.refresh(token, 1000), undefined);
    assert.equal(await store.release(token), false);
    assert.ok('taken' in (await store.take(request('/a'))));
  });

  contract('a lock can be released only once', async ({ store }) => {
    const result = await store.take(request('/a', true));
    assert.ok('taken' in result);
    assert.equal(await store.release('opaquelocktoken:unknown'), false);
    assert.equal(await store.release(result.taken.token), true);
    assert.equal(await store.release(result.taken.token), false);
    assert.deepEqual(await store.within('/'), []);
  });

  contract('the store is empty before the first lock, and after all locks were released or expired', async ({ store, advance }) => {
    assert.equal(await store.isEmpty(), true);
    const result = await store.take(request('/a', true));
    assert.ok('taken' in result);
    assert.equal(await store.isEmpty(), false);
    await store.release(result.taken.token);
    assert.equal(await store.isEmpty(), true);
    await store.take(request('/b', false, 'alice', 1000));
    advance(1001);
    assert.deepEqual(await store.covering('/b'), []);
    assert.equal(await store.isEmpty(), true);
  });

  contract('while no service supports locks, a lock has no effect but still exists', async ({ store, setTaken }) => {
    await store.take(request('/a'));
    setTaken(false);
    assert.equal(await store.isEmpty(), true);
    assert.deepEqual(paths(await store.within('/')), ['/a']);
    setTaken(true);
    assert.equal(await store.isEmpty(), false);
  });

  contract('an account holds a limited number of locks', async ({ store }) => {
    for (let index = 0; index < maxLocksPerAccount; index++) await store.take(request(`/${index}`));
    await assert.rejects(store.take(request('/more')), { code: 'too-many-requests' });
    assert.ok('taken' in (await store.take(request('/more', false, 'bob'))));
  });
}
