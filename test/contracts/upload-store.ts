import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  isLost,
  keptWhenOverMs,
  type UploadChange,
  type UploadHold,
  type UploadLimits,
  type UploadOrder,
  type UploadRecord,
  type UploadStore,
} from '../../src/files/uploads/upload-store.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';
import { randomFrom } from '../support/random.ts';

export interface UploadStoreFixture {
  store: UploadStore;
  advance(ms: number): void;
  /** Ends the lease of the holder of an upload, as after a long sleep; undefined if holds have no lease. */
  lapse?(id: string): Promise<unknown>;
  /** Opens the same uploads as another process would, after this process was killed or while it still runs. */
  reopen(): Promise<UploadStore>;
}

/** The limits of the stores under test. */
export const testLimits: UploadLimits = { expireAfterMs: 60_000, maxPerAccount: 3 };

const peer = { address: '192.0.2.1', port: 1, protocol: 'TCP', family: 'IPv4' } as const;

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

async function whileHeld<T>(store: UploadStore, id: string, action: (hold: UploadHold) => Promise<T>): Promise<T> {
  const hold = await store.hold(id, () => {});
  try {
    return await action(hold);
  } finally {
    hold.release();
    await store.quiet(id);
  }
}

export function changeUpload(store: UploadStore, id: string, change: UploadChange): Promise<UploadRecord> {
  return whileHeld(store, id, (hold) => hold.change(change));
}

export function removeUpload(store: UploadStore, id: string): Promise<void> {
  return whileHeld(store, id, (hold) => hold.remove());
}

/** The contract of stores of unfinished uploads. */
export function uploadStoreContract(name: string, open: (t: TestContext) => Promise<UploadStoreFixture | undefined>): void {
  const contract = (what: string, run: (fixture: UploadStoreFixture) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const fixture = await open(t);
      if (fixture) await run(fixture);
    });
  const completion = {
    inode: '1-2',
    target: '/srv/a.bin',
    eventUuid: 'u',
    atMs: 5,
    data: { total_write: 7 },
    asidePath: '/srv/.svc-3.kept',
  };
  const ids = (records: { id: string }[]) => records.map(({ id }) => id).toSorted();

  contract('an upload has the ordered properties and an unguessable ID, also after the store was opened again', async (fixture) => {
    const { store, reopen } = fixture;
    const first = await store.add(orderOf('/srv/.svc-1.kept'), 10);
    const second = await store.add(orderOf('/srv/.svc-2.kept'), undefined);
    assert.match(first.id, /^[A-Za-z0-9_-]{43}$/);
    assert.notEqual(first.id, second.id);
    const { id: _, expiresMs: __, ...rest } = first;
    const fresh = { offsetBytes: 0, requests: 0, activeMs: 0, completion: undefined, ending: undefined, outcome: undefined };
    assert.deepEqual(rest, { ...orderOf('/srv/.svc-1.kept'), ...fresh, lengthBytes: 10 });
    const later = await reopen();
    assert.deepEqual(await later.find(first.id), first);
    assert.deepEqual(await later.find(second.id), second);
    for (const strange of ['', 'x', '../../etc/passwd', `${first.id}/../${second.id}`, first.id.toLowerCase(), 'A'.repeat(43)])
      assert.equal(strange === first.id ? undefined : await store.find(strange), undefined, strange);
  });

  contract(
    'changes are kept when the store is opened again; each change restarts the time until the upload expires',
    async ({ store, reopen, advance }) => {
      const { id, expiresMs } = await store.add(orderOf('/srv/.svc-1.kept'), undefined);
      advance(1000);
      const noted = await changeUpload(store, id, { offsetBytes: 4096, requests: 2, activeMs: 1500 });
      assert.equal(noted.expiresMs, expiresMs + 1000);
      assert.deepEqual(await (await reopen()).find(id), noted);
      const whole = await changeUpload(store, id, { lengthBytes: 9000, completion });
      assert.deepEqual(whole, { ...noted, lengthBytes: 9000, completion });
      assert.deepEqual(await (await reopen()).find(id), whole);
      const open = await changeUpload(store, id, { completion: undefined });
      assert.deepEqual(await (await reopen()).find(id), { ...noted, lengthBytes: 9000 });
      assert.equal(open.completion, undefined);
    },
  );

  contract('an account has a limited number of uploads; ended and removed ones do not count', async ({ store }) => {
    const added = [];
    for (let index = 0; index < testLimits.maxPerAccount; index++) added.push(await store.add(orderOf(`/srv/${index}`), 1));
    await assert.rejects(store.add(orderOf('/srv/more'), 1), { code: 'too-many-requests' });
    await store.add(orderOf('/srv/bob', 'bob'), 1);
    await changeUpload(store, added[0]?.id ?? '', { outcome: { kind: 'stored', headers: [['etag', '"x"']] } });
    await store.add(orderOf('/srv/next'), 1);
    await removeUpload(store, added[1]?.id ?? '');
    await store.add(orderOf('/srv/last'), 1);
    await assert.rejects(store.add(orderOf('/srv/more'), 1), { code: 'too-many-requests' });
  });

  contract('the visitors of all links of an account together have a separate limit', async ({ store, reopen }) => {
    const byLink = (path: string, link: string) => ({ ...orderOf(path), origin: { ...orderOf(path).origin, link } });
    const added = [];
    for (let index = 0; index < testLimits.maxPerAccount; index++) added.push(await store.add(byLink(`/srv/${index}`, `l${index}`), 1));
    await assert.rejects(store.add(byLink('/srv/more', 'other'), 1), { code: 'too-many-requests' });
    await store.add(orderOf('/srv/own'), 1);
    const later = await reopen();
    await assert.rejects(later.add(byLink('/srv/more', 'other'), 1), { code: 'too-many-requests' });
    await removeUpload(later, added[0]?.id ?? '');
    await later.add(byLink('/srv/next', 'other'), 1);
  });

  contract(
    'uploads that end with their connection count for the limit, and their `onGone` is called when their folder is removed',
    async ({ store }) => {
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
    },
  );

  contract('a removed upload no longer exists for any process', async ({ store, reopen }) => {
    const { id } = await store.add(orderOf('/srv/a'), 1);
    await removeUpload(store, id);
    await removeUpload(store, id);
    assert.equal(await store.find(id), undefined);
    assert.equal(await (await reopen()).find(id), undefined);
    await assert.rejects(changeUpload(store, id, { offsetBytes: 1 }), { code: 'not-found' });
    assert.deepEqual(await store.within('/srv'), []);
  });

  contract('uploads below a folder are found, but not those beside it or those that have ended', async ({ store }) => {
    const inside = await store.add(orderOf('/srv/a/.svc-1.kept'), 1);
    const deeper = await store.add(orderOf('/srv/a/b/.svc-2.kept'), 1);
    await store.add(orderOf('/srv/ab/.svc-3.kept'), 1);
    assert.deepEqual(ids(await store.within('/srv/a')), ids([inside, deeper]));
    await changeUpload(store, deeper.id, { outcome: { kind: 'failed', code: 'forbidden', message: 'no' } });
    assert.deepEqual(ids(await store.within('/srv/a')), [inside.id]);
    assert.equal((await store.within('/')).length, 2);
  });

  contract('uploads that will get a given name are found, also after their content was moved', async ({ store }) => {
    const order = (contentPath: string, path: string, account = 'alice') => ({
      ...orderOf(contentPath, account),
      path: path as VirtualPath,
    });
    const first = await store.add(order('/srv/a/.svc-1.kept', '/x/name'), 1);
    const second = await store.add(order('/srv/a/.svc-2.kept', '/y/name'), 1);
    await store.add(order('/srv/a/.svc-3.kept', '/x/other'), 1);
    await store.add(order('/srv/a/b/.svc-4.kept', '/x/b/name', 'bob'), 1);
    assert.deepEqual(ids(await store.named('/srv/a/name')), ids([first, second]));
    await changeUpload(store, first.id, { contentPath: '/srv/c/.svc-1.kept' });
    assert.deepEqual(ids(await store.named('/srv/a/name')), [second.id]);
    assert.deepEqual(ids(await store.named('/srv/c/name')), [first.id]);
    await changeUpload(store, second.id, { outcome: { kind: 'stored', headers: [] } });
    assert.deepEqual(await store.named('/srv/a/name'), []);
  });

  contract('an abandoned upload expires, and an ended upload is removed sooner; an upload that a request holds stays', async (fixture) => {
    const { store, advance } = fixture;
    const idle = await store.add(orderOf('/srv/1'), 1);
    const held = await store.add(orderOf('/srv/2'), 1);
    const hold = await store.hold(held.id, () => {});
    assert.deepEqual(await store.expired(), []);
    advance(testLimits.expireAfterMs);
    assert.deepEqual(ids(await store.expired()), [idle.id]);
    await changeUpload(store, idle.id, { outcome: { kind: 'stored', headers: [] } });
    assert.deepEqual(await store.expired(), []);
    advance(keptWhenOverMs);
    assert.deepEqual(ids(await store.expired()), [idle.id]);
    hold.release();
  });

  contract('uploads whose completion was begun are found, unless a request holds them', async ({ store }) => {
    const { id } = await store.add(orderOf('/srv/1'), 1);
    await store.add(orderOf('/srv/2'), 1);
    const hold = await store.hold(id, () => {});
    await hold.change({ completion });
    assert.deepEqual(await store.completing(), []);
    hold.release();
    for (let tries = 0; (await store.completing()).length === 0 && tries < 100; tries++) await new Promise(setImmediate);
    assert.deepEqual(ids(await store.completing()), [id]);
    await changeUpload(store, id, { outcome: { kind: 'stored', headers: [] } });
    assert.deepEqual(await store.completing(), []);
  });

  contract('requests hold an upload one at a time, in order; all holders but the newest are told to stop', async ({ store }) => {
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
    assert.deepEqual(order, [], 'no other request holds the upload before it is released');
    assert.equal(first.isWanted, true);
    first.release();
    assert.deepEqual(await Promise.all(waiting), [true, false]);
    assert.deepEqual(order, [2, 3]);
    assert.equal((await store.hold(id, () => {})).isWanted, false);
  });

  contract('queries do not interrupt one another, and they interrupt a holder only if they came later', async ({ store, reopen }) => {
    const { id } = await store.add(orderOf('/srv/1'), 1);
    const stores = [store, await reopen()];
    // Nobody holds the upload, so any number of concurrent calls is accepted.
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
    assert.equal(next.isWanted, false, 'queries that came earlier do not interrupt');
    next.release();
  });

  contract('a request that released an upload can no longer change it', async ({ store }) => {
    const { id } = await store.add(orderOf('/srv/1'), 1);
    const first = await store.hold(id, () => {});
    first.release();
    const next = await store.hold(id, () => {});
    assert.deepEqual([next.isTakeover, next.record?.offsetBytes], [false, 0]);
    await next.change({ offsetBytes: 1 });
    await assertLost(first);
    assert.equal((await store.find(id))?.offsetBytes, 1);
    next.release();
  });

  contract('a holder that slept too long loses the upload; holders see the takeover until one has renewed the content', async (fixture) => {
    const { store, reopen, lapse } = fixture;
    if (!lapse) return;
    const { id } = await store.add(orderOf('/srv/.svc-1.kept'), 9);
    const other = await reopen();
    const sleeper = await store.hold(id, () => {});
    await sleeper.change({ offsetBytes: 2 });
    await lapse(id);
    const second = await other.hold(id, () => {});
    assert.deepEqual([second.isTakeover, second.record?.offsetBytes], [true, 2]);
    await assertLost(sleeper);
    sleeper.release();
    await second.change({ offsetBytes: 3 });
    second.release();
    const third = await other.hold(id, () => {});
    assert.deepEqual([third.isTakeover, third.record?.offsetBytes], [true, 3]);
    await third.renewContent('/srv/.svc-2.kept');
    assert.equal(third.isTakeover, false);
    third.release();
    const fourth = await other.hold(id, () => {});
    assert.deepEqual([fourth.isTakeover, fourth.record?.contentPath], [false, '/srv/.svc-2.kept']);
    assert.deepEqual(ids(await store.within('/srv')), [id]);
    await fourth.change({ outcome: { kind: 'stored', headers: [] } });
    fourth.release();
    assert.deepEqual(await store.within('/srv'), []);
  });

  contract('a holder that slept too long keeps the upload, unless a query in another process came meanwhile', async (fixture) => {
    const { store, reopen, lapse } = fixture;
    if (!lapse) return;
    const { id } = await store.add(orderOf('/srv/.svc-1.kept'), 9);
    const sleeper = await store.hold(id, () => {});
    await lapse(id);
    await sleeper.change({ offsetBytes: 2 });
    await sleeper.confirm();
    await lapse(id);
    await (await reopen()).quiet(id);
    await assertLost(sleeper);
    sleeper.release();
    const next = await store.hold(id, () => {});
    assert.equal(next.isTakeover, true);
    next.release();
  });

  contract('in any order of actions, only the last holder can change an upload', async (fixture) => {
    const { store, reopen, lapse } = fixture;
    const seed = Number(process.env.SVC_FUZZ_SEED ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`seed ${seed}: ${name}`);
    const random = randomFrom(seed);
    const { id } = await store.add(orderOf('/srv/.svc-0.kept'), undefined);
    // The requests of one node wait for each other. So only a request of another node can take an upload from a sleeping holder.
    const anyNode = () => (lapse ? reopen() : Promise.resolve(store));
    const holds: UploadHold[] = [];
    let model = { holder: undefined as UploadHold | undefined, isAbandoned: false, offsetBytes: 0, contentPath: '/srv/.svc-0.kept' };
    const steps = {
      async take() {
        if (model.holder && !lapse) return;
        if (model.holder) await lapse?.(id);
        const hold = await (await anyNode()).hold(id, () => {});
        model = { ...model, isAbandoned: model.isAbandoned || model.holder !== undefined, holder: hold };
        assert.equal(hold.isTakeover, model.isAbandoned);
        holds.push(hold);
      },
      async change() {
        const hold = holds[Math.floor(random() * holds.length)];
        const offsetBytes = Math.floor(random() * 1000);
        if (!hold) return;
        if (hold !== model.holder) return assertLost(hold);
        await hold.change({ offsetBytes });
        model = { ...model, offsetBytes };
      },
      async renew() {
        const contentPath = `/srv/.svc-${Math.floor(random() * 1000)}.kept`;
        await model.holder?.renewContent(contentPath);
        if (model.holder) model = { ...model, contentPath, isAbandoned: false };
      },
      async release() {
        model.holder?.release();
        model = { ...model, holder: undefined };
      },
      async query() {
        if (model.holder && !lapse) return;
        if (model.holder) await lapse?.(id);
        await (await anyNode()).quiet(id);
        model = { ...model, isAbandoned: model.isAbandoned || model.holder !== undefined, holder: undefined };
      },
    };
    for (let step = 0; step < 150; step++) {
      const names = Object.keys(steps) as (keyof typeof steps)[];
      await steps[names[Math.floor(random() * names.length)] as keyof typeof steps]();
      const record = await store.find(id);
      assert.deepEqual([record?.offsetBytes, record?.contentPath], [model.offsetBytes, model.contentPath], `step ${step}`);
    }
    for (const hold of holds) hold.release();
  });
}

async function assertLost(hold: UploadHold): Promise<void> {
  for (const action of [
    () => hold.change({ offsetBytes: 7 }),
    () => hold.renewContent('/srv/x'),
    () => hold.confirm(),
    () => hold.remove(),
  ])
    await assert.rejects(action, isLost);
}
