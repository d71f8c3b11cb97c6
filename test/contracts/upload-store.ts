import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { keptWhenOverMs, type UploadLimits, type UploadOrder, type UploadStore } from '../../src/files/uploads/upload-store.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';

/** A store of unfinished uploads under test, with the clock that it goes by. */
export interface UploadStoreFixture {
  store: UploadStore;
  advance(ms: number): void;
  /** The same uploads as another process finds them, after this one was killed, or beside it. */
  reopen(): Promise<UploadStore>;
}

/** The limits that the stores under test go by. */
export const testLimits: UploadLimits = { expireAfterMs: 60_000, mostOfAccount: 3 };

const peer = { address: '192.0.2.1', port: 1, protocol: 'TCP', family: 'IPv4' } as const;

/** An order with every member set. */
export function orderOf(contentPath: string, accountUuid = 'alice'): UploadOrder {
  return {
    accountUuid,
    path: '/inbox/ä b.bin' as VirtualPath,
    contentPath,
    origin: {
      account: { uuid: accountUuid, name: accountUuid, peer },
      component: { uuid: 'web', type: 'http', name: 'Web' },
      group: 'staff',
    },
    metadata: { project: ['a', 'b'], empty: [] },
    backendUuid: 'crm',
    modifiedMs: 1_600_000_000_000,
    notes: { 'if-none-match': '*' },
  };
}

/** What every store of unfinished uploads must do; run by the tests of each implementation. */
export function uploadStoreContract(name: string, open: (t: TestContext) => Promise<UploadStoreFixture | undefined>): void {
  const contract = (what: string, run: (fixture: UploadStoreFixture) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const fixture = await open(t);
      if (fixture) await run(fixture);
    });
  const completion = { inode: '1-2', target: '/srv/a.bin', eventUuid: 'u', atMs: 5, data: { total_write: 7 } };
  const ids = (records: { id: string }[]) => records.map(({ id }) => id).toSorted();

  contract('an upload is what was asked for, under an ID that nobody guesses, for whoever opens the store later', async (fixture) => {
    const { store, reopen } = fixture;
    const first = await store.add(orderOf('/srv/.svc-1.kept'), 10);
    const second = await store.add(orderOf('/srv/.svc-2.kept'), undefined);
    assert.match(first.id, /^[A-Za-z0-9_-]{43}$/);
    assert.notEqual(first.id, second.id);
    const { id: _, expiresMs: __, ...rest } = first;
    const fresh = { offsetBytes: 0, requests: 0, activeMs: 0, completion: undefined, outcome: undefined };
    assert.deepEqual(rest, { ...orderOf('/srv/.svc-1.kept'), ...fresh, lengthBytes: 10 });
    const later = await reopen();
    assert.deepEqual(await later.find(first.id), first);
    assert.deepEqual(await later.find(second.id), second);
    for (const strange of ['', 'x', '../../etc/passwd', `${first.id}/../${second.id}`, first.id.toLowerCase(), 'A'.repeat(43)])
      assert.equal(strange === first.id ? undefined : await store.find(strange), undefined, strange);
  });

  contract('what was noted is there for whoever opens the store later; its time starts anew', async ({ store, reopen, advance }) => {
    const { id, expiresMs } = await store.add(orderOf('/srv/.svc-1.kept'), undefined);
    advance(1000);
    const noted = await store.change(id, { offsetBytes: 4096, requests: 2, activeMs: 1500 });
    assert.equal(noted.expiresMs, expiresMs + 1000);
    assert.deepEqual(await (await reopen()).find(id), noted);
    const whole = await store.change(id, { lengthBytes: 9000, completion });
    assert.deepEqual(whole, { ...noted, lengthBytes: 9000, completion });
    assert.deepEqual(await (await reopen()).find(id), whole);
    const open = await store.change(id, { completion: undefined });
    assert.deepEqual(await (await reopen()).find(id), { ...noted, lengthBytes: 9000 });
    assert.equal(open.completion, undefined);
  });

  contract('an account has a limited number of uploads; what is over or forgotten does not count', async ({ store }) => {
    const added = [];
    for (let index = 0; index < testLimits.mostOfAccount; index++) added.push(await store.add(orderOf(`/srv/${index}`), 1));
    await assert.rejects(store.add(orderOf('/srv/more'), 1), { code: 'too-many-requests' });
    await store.add(orderOf('/srv/bob', 'bob'), 1);
    await store.change(added[0]?.id ?? '', { outcome: { kind: 'stored', headers: [['etag', '"x"']] } });
    await store.add(orderOf('/srv/next'), 1);
    await store.remove(added[1]?.id ?? '');
    await store.add(orderOf('/srv/last'), 1);
    await assert.rejects(store.add(orderOf('/srv/more'), 1), { code: 'too-many-requests' });
  });

  contract('uploads that end with their connection count as well, and are told that their folder is gone', async ({ store }) => {
    const told: string[] = [];
    const enter = (folder: string) => store.enter({ accountUuid: 'alice', folder, onGone: () => told.push(folder) });
    const leave = await enter('/srv/a');
    await enter('/srv/a/b');
    await store.add(orderOf('/srv/a/.svc-1.kept'), 1);
    await assert.rejects(enter('/srv/c'), { code: 'too-many-requests' });
    await assert.rejects(store.add(orderOf('/srv/more'), 1), { code: 'too-many-requests' });
    leave();
    leave();
    const last = await enter('/srv/ab');
    await store.dismiss('/srv/a');
    assert.deepEqual(told, ['/srv/a/b']);
    last();
    await store.add(orderOf('/srv/2'), 1);
  });

  contract('what is removed is gone, for everybody', async ({ store, reopen }) => {
    const { id } = await store.add(orderOf('/srv/a'), 1);
    await store.remove(id);
    await store.remove(id);
    assert.equal(await store.find(id), undefined);
    assert.equal(await (await reopen()).find(id), undefined);
    await assert.rejects(store.change(id, { offsetBytes: 1 }), { code: 'not-found' });
    assert.deepEqual(await store.within('/srv'), []);
  });

  contract('the uploads below a folder, not those beside it or those that are over', async ({ store }) => {
    const inside = await store.add(orderOf('/srv/a/.svc-1.kept'), 1);
    const deeper = await store.add(orderOf('/srv/a/b/.svc-2.kept'), 1);
    await store.add(orderOf('/srv/ab/.svc-3.kept'), 1);
    assert.deepEqual(ids(await store.within('/srv/a')), ids([inside, deeper]));
    await store.change(deeper.id, { outcome: { kind: 'failed', code: 'forbidden', message: 'no' } });
    assert.deepEqual(ids(await store.within('/srv/a')), [inside.id]);
    assert.equal((await store.within('/')).length, 2);
  });

  contract('what nobody goes on with expires, and what is over is forgotten sooner; not while a request has it', async (fixture) => {
    const { store, advance } = fixture;
    const idle = await store.add(orderOf('/srv/1'), 1);
    const held = await store.add(orderOf('/srv/2'), 1);
    const hold = await store.hold(held.id, () => {});
    assert.deepEqual(await store.expired(), []);
    advance(testLimits.expireAfterMs);
    assert.deepEqual(ids(await store.expired()), [idle.id]);
    await store.change(idle.id, { outcome: { kind: 'stored', headers: [] } });
    assert.deepEqual(await store.expired(), []);
    advance(keptWhenOverMs);
    assert.deepEqual(ids(await store.expired()), [idle.id]);
    hold.release();
  });

  contract('those whose end was begun, and that nobody has', async ({ store }) => {
    const { id } = await store.add(orderOf('/srv/1'), 1);
    await store.add(orderOf('/srv/2'), 1);
    const hold = await store.hold(id, () => {});
    await store.change(id, { completion });
    assert.deepEqual(await store.completing(), []);
    hold.release();
    for (let tries = 0; (await store.completing()).length === 0 && tries < 100; tries++) await new Promise(setImmediate);
    assert.deepEqual(ids(await store.completing()), [id]);
    await store.change(id, { outcome: { kind: 'stored', headers: [] } });
    assert.deepEqual(await store.completing(), []);
  });

  contract('one request has an upload at a time, in order; the older are told, the newest is not', async ({ store }) => {
    const { id } = await store.add(orderOf('/srv/1'), 1);
    const told: number[] = [];
    const order: number[] = [];
    const first = await store.hold(id, () => told.push(1));
    const waiting = [2, 3].map(async (number) => {
      const hold = await store.hold(id, () => told.push(number));
      order.push(number);
      const { isWanted } = hold;
      hold.release();
      return isWanted;
    });
    while (told.length < 2) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual(told.toSorted(), [1, 2]);
    assert.deepEqual(order, [], 'nobody has it before it is released');
    assert.equal(first.isWanted, true);
    first.release();
    assert.deepEqual(await Promise.all(waiting), [true, false]);
    assert.deepEqual(order, [2, 3]);
    assert.equal((await store.hold(id, () => {})).isWanted, false);
  });

  contract('queries end one another not, and whoever has an upload only if they came later', async ({ store, reopen }) => {
    const { id } = await store.add(orderOf('/srv/1'), 1);
    const stores = [store, await reopen()];
    // Nobody has it: any number at once.
    await Promise.all(Array.from({ length: 40 }, (_, index) => stores[index % 2]?.quiet(id)));
    let isTold = false;
    const hold = await store.hold(id, () => {
      isTold = true;
    });
    let answered = 0;
    const queries = Array.from({ length: 10 }, async () => {
      await store.quiet(id);
      answered++;
    });
    while (!isTold) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.deepEqual([hold.isWanted, answered], [true, 0]);
    hold.release();
    await Promise.all(queries);
    const next = await store.hold(id, () => {});
    assert.equal(next.isWanted, false, 'queries that came before');
    next.release();
  });
}
