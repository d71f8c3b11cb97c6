import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { type Grant, mergeGrants, newGrantId, whyOver } from '../../src/auth/grants/grant.ts';
import type { GrantStore } from '../../src/auth/grants/grant-store.ts';
import { isServiceError } from '../../src/lib/errors.ts';
import { makeSecret } from '../../src/lib/secrets.ts';
import type { VirtualPath } from '../../src/lib/virtual-path.ts';

/** A store for a test. The test closes the store. */
export interface GrantGround {
  store: GrantStore;
  /** Opens the same grants as the next process would, after this process has ended. */
  reopen(): Promise<GrantStore>;
}

/** Returns a token of an account that is valid for an hour. */
export function tokenOf(account: string, more: Partial<Grant> = {}): Grant {
  const nowMs = Math.floor(Date.now());
  return {
    id: newGrantId(),
    kind: 'token',
    hash: makeSecret('token').hash,
    name: 'nightly',
    account: { name: account, uuid: account },
    method: { uuid: 'application', type: 'application' },
    madeBy: account,
    createdMs: nowMs,
    expiresMs: nowMs + 3_600_000,
    ...more,
  };
}

/** The contract of `GrantStore`. @param open makes an empty store */
export function grantStoreContract(name: string, open: (t: TestContext) => Promise<GrantGround | undefined>): void {
  const contract = (what: string, body: (ground: GrantGround) => Promise<void>) =>
    test(`${name}: ${what}`, async (t) => {
      const ground = await open(t);
      if (ground) await body(ground);
    });

  contract('a grant is found by the hash of its secret and by its ID, also by the next process', async ({ store, reopen }) => {
    const grant = tokenOf('alice', {
      paths: ['/in', '/é ü'] as VirtualPath[],
      permissions: ['allow-read'],
      services: [],
      addresses: ['10.0.0.0/8'],
    });
    const link = tokenOf('alice', { kind: 'link', link: { kind: 'drop', passwordHash: '$scrypt$x', maximumDownloads: 3 } });
    await store.add(grant, 10);
    await store.add(link, 10);
    assert.deepEqual(await store.find(grant.hash), grant);
    assert.deepEqual(store.get(link.id), link);
    assert.equal(await store.find(makeSecret('token').hash), undefined);
    assert.deepEqual(new Set((await store.list('alice')).map(({ id }) => id)), new Set([grant.id, link.id]));
    assert.deepEqual(await store.list('bob'), []);
    const next = await reopen();
    assert.deepEqual(await next.find(grant.hash), grant);
    assert.deepEqual(await next.find(link.hash), link);
  });

  contract('an ended grant stays ended and shows who ended it', async ({ store, reopen }) => {
    const heard: string[] = [];
    store.onEnded((grants) => heard.push(...grants.map(({ id }) => id)));
    const grants = [tokenOf('alice'), tokenOf('alice'), tokenOf('bob')] as const;
    for (const grant of grants) await store.add(grant, 10);
    const ended = await store.end([grants[0].id, 'unknown'], 'revoked', 'root');
    assert.deepEqual(
      ended.map(({ id }) => id),
      [grants[0].id],
    );
    assert.deepEqual(await store.end([grants[0].id], 'expired', ''), [], 'an ended grant is not ended again');
    assert.deepEqual(heard, [grants[0].id]);
    const soonMs = grants[1].createdMs + 1000;
    await store.shorten(grants[1].id, soonMs);
    await store.shorten(grants[1].id, grants[1].expiresMs);
    assert.equal(heard.includes(grants[1].id), true);
    for (const current of [store, await reopen()]) {
      const found = await current.find(grants[0].hash);
      assert.deepEqual([found?.end?.reason, found?.end?.by], ['revoked', 'root']);
      assert.equal((await current.find(grants[1].hash))?.expiresMs, soonMs);
      assert.equal((await current.find(grants[2].hash))?.end, undefined);
    }
  });

  contract('an account has at most its maximum of valid grants, however many requests are concurrent', async ({ store }) => {
    const refused = (error: unknown) => isServiceError(error, 'too-many-requests');
    const made = Array.from({ length: 8 }, () => tokenOf('alice'));
    const outcomes = await Promise.allSettled(made.map((grant) => store.add(grant, 3)));
    const added = made.filter((_, index) => outcomes[index]?.status === 'fulfilled');
    assert.equal(added.length, 3);
    assert.ok(outcomes.every((outcome) => outcome.status === 'fulfilled' || refused(outcome.reason)));
    await store.add(tokenOf('alice', { kind: 'link' }), 3);
    await store.add(tokenOf('bob'), 3);
    await store.end([added[0]?.id ?? ''], 'revoked', 'alice');
    await store.add(tokenOf('alice'), 3);
    await assert.rejects(store.add(tokenOf('alice'), 3), refused);
  });

  contract('endless creation and revocation is refused', async ({ store }) => {
    for (let made = 0; made < 100; made++) {
      const grant = tokenOf('alice');
      await store.add(grant, 1);
      await store.end([grant.id], 'revoked', 'alice');
    }
    await assert.rejects(store.add(tokenOf('alice'), 1), (error) => isServiceError(error, 'too-many-requests'));
  });

  contract('downloads are counted up to their maximum over all processes', async ({ store, reopen }) => {
    const link = tokenOf('alice', { kind: 'link', link: { kind: 'download', maximumDownloads: 3 } });
    await store.add(link, 10);
    const counted = await Promise.all(Array.from({ length: 6 }, () => store.countDownload(link.id, 3)));
    assert.equal(counted.filter(Boolean).length, 3);
    assert.equal(await store.countDownload('unknown'), false);
    const next = await reopen();
    assert.equal(await next.countDownload(link.id, 3), false);
    const [listed] = await next.list('alice');
    assert.equal(listed?.downloads, 3);
  });

  contract('changes of a link are kept by the next process; of concurrent changes, none is lost', async ({ store, reopen }) => {
    const link = tokenOf('alice', { kind: 'link', link: { kind: 'download', passwordHash: '$scrypt$x', maximumDownloads: 1 } });
    await store.add(link, 10);
    const laterMs = link.expiresMs + 1_000_000;
    await store.countDownload(link.id);
    await Promise.all(
      Array.from({ length: 4 }, () =>
        store.revise(link.id, ({ name, link: before }) => ({
          name: `${name}!`,
          expiresMs: laterMs,
          link: { kind: 'download', maximumDownloads: (before?.maximumDownloads ?? 0) + 1 },
        })),
      ),
    );
    await store.end(['unknown'], 'revoked', 'alice');
    const next = await reopen();
    for (const current of [store, next]) {
      const [listed] = await current.list('alice');
      assert.deepEqual(
        [listed?.name, listed?.expiresMs, listed?.link, listed?.downloads],
        ['nightly!!!!', laterMs, { kind: 'download', maximumDownloads: 5 }, 1],
      );
    }
    assert.equal(await next.revise('unknown', () => ({})), undefined);
    await next.end([link.id], 'revoked', 'alice');
    assert.equal(await next.revise(link.id, () => ({ expiresMs: laterMs })), undefined);
    assert.equal((await next.find(link.hash))?.end?.reason, 'revoked');
  });

  contract('a visitor counts once an hour for each link, even with concurrent visits', async ({ store, reopen }) => {
    const [link, other] = [tokenOf('alice', { kind: 'link' }), tokenOf('alice', { kind: 'link' })];
    for (const grant of [link, other]) await store.add(grant, 10);
    const visitors = ['192.0.2.1', '192.0.2.2', '2001:db8:0:1::/64'];
    const visits = await Promise.all([...visitors, ...visitors].map((visitor) => store.countVisit(link.id, visitor)));
    assert.deepEqual(visits, [true, true, true, false, false, false]);
    assert.equal(await store.countVisit(other.id, '192.0.2.1'), true);
    assert.equal(await store.countVisit('unknown', '192.0.2.1'), false);
    const listed = await (await reopen()).list('alice');
    assert.deepEqual(
      [link, other].map(({ id }) => listed.find((grant) => grant.id === id)?.opened),
      [3, 1],
    );
  });

  contract('the last use is known to the minute', async ({ store }) => {
    const grant = tokenOf('alice');
    await store.add(grant, 10);
    store.use(grant, '192.0.2.1');
    store.use(grant, '192.0.2.2');
    const [listed] = await store.list('alice');
    assert.equal(listed?.used?.address, '192.0.2.1');
    assert.ok(Math.abs((listed?.used?.atMs ?? 0) - Date.now()) < 10_000);
  });
}

test('the later revision of a link wins, in whichever order copies are merged, but an ended link stays ended', () => {
  const first = tokenOf('alice', { kind: 'link', downloads: 2 });
  const later = { ...first, name: 'later', expiresMs: first.expiresMs + 5, revision: 1, downloads: 1 };
  const ended = { ...first, end: { reason: 'revoked', atMs: 1, by: 'alice' } } as const;
  for (const merged of [mergeGrants(first, later), mergeGrants(later, first)])
    assert.deepEqual([merged.name, merged.expiresMs, merged.revision, merged.downloads], ['later', later.expiresMs, 1, 2]);
  for (const merged of [mergeGrants(ended, later), mergeGrants(later, ended)])
    assert.deepEqual([merged.name, merged.end?.reason], ['later', 'revoked']);
});

test('a grant ends by its expiry, its revocation, or the end of the grant that created it', () => {
  const root = tokenOf('alice');
  const child = tokenOf('alice', { parent: root.id });
  const known = new Map([root, child].map((grant) => [grant.id, grant]));
  const why = (grant: Grant, nowMs = Date.now()) => whyOver(grant, nowMs, (id) => known.get(id));
  assert.equal(why(child), undefined);
  assert.equal(why(child, child.expiresMs), 'expired');
  assert.equal(why(tokenOf('alice', { notBeforeMs: Date.now() + 1000 })), 'not-yet');
  const early = tokenOf('alice', { notBeforeMs: Date.now() + 1000 });
  known.set(early.id, early);
  assert.equal(
    why(tokenOf('alice', { parent: early.id })),
    'not-yet',
    'a token that another one created is not valid earlier than that one',
  );
  known.set(root.id, { ...root, end: { reason: 'revoked', atMs: 1, by: 'alice' } });
  assert.equal(why(child), 'revoked');
  known.delete(root.id);
  assert.equal(why(child), 'revoked', 'a token whose maker is unknown is refused');
  known.set(child.id, { ...child, parent: child.id });
  assert.equal(why(known.get(child.id) as Grant), 'revoked', 'a token that is its own maker is refused');
});
