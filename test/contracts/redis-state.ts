import type { TestContext } from 'node:test';
import { BackedUpUploads } from '../../src/files/uploads/backed-up-uploads.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLog } from '../../src/lib/log.ts';
import type { RedisLink } from '../../src/lib/redis/redis-link.ts';
import { FileGrants } from '../../src/state/memory/grants.ts';
import { RedisBans } from '../../src/state/redis/bans.ts';
import { RedisAcceptedCredentials } from '../../src/state/redis/callout-cache.ts';
import { RedisCertificates } from '../../src/state/redis/certificates.ts';
import { DeliveryLeases } from '../../src/state/redis/delivery-leases.ts';
import { redisRecords } from '../../src/state/redis/delivery-records.ts';
import { HandlerOrders, RedisDeliveryStore } from '../../src/state/redis/delivery-store.ts';
import { RedisGrants } from '../../src/state/redis/grants.ts';
import { RedisLocks } from '../../src/state/redis/locks.ts';
import { RedisSessions } from '../../src/state/redis/sessions.ts';
import { RedisUploadStore } from '../../src/state/redis/uploads.ts';
import { RedisUrlHealth } from '../../src/state/redis/url-health.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { openJournal } from '../support/redis.ts';
import { temporaryFolder } from '../support/temp.ts';
import { bansContract, inTurns } from './bans.ts';
import { certificateStoreContract } from './certificate-store.ts';
import { type DeliveryGround, deliveryStoreContract } from './delivery-store.ts';
import { grantStoreContract } from './grant-store.ts';
import { lockStoreContract } from './lock-store.ts';
import { sessionsContract } from './sessions.ts';
import { acceptedContract, urlHealthContract } from './shared-state.ts';
import { testLimits, uploadStoreContract } from './upload-store.ts';

/** The contracts of all shared state on one kind of Redis. @param open makes a link to an empty Redis */
export function stateContracts(kind: string, open: (t: TestContext) => Promise<RedisLink | undefined>): void {
  sessionsContract(`sessions in ${kind}`, async (t, dependencies) => {
    const link = await open(t);
    return link && new RedisSessions(link, 'web', { ...dependencies, clock: systemClock, log: silentLog });
  });
  bansContract(`bans in ${kind}`, async (t, policy) => {
    const link = await open(t);
    return link && inTurns([new RedisBans(link, systemClock, policy, 'shared'), new RedisBans(link, systemClock, policy, 'shared')]);
  });
  certificateStoreContract(`certificates in ${kind}`, async (t) => {
    const link = await open(t);
    return link && new RedisCertificates(link, 'shared');
  });
  urlHealthContract(`suspensions in ${kind}`, async (t) => {
    const link = await open(t);
    return link && new RedisUrlHealth(link, systemClock, 'method');
  });
  acceptedContract(`accepted credentials in ${kind}`, async (t, lifetimeMs) => {
    const link = await open(t);
    return link && new RedisAcceptedCredentials(link, 'shared', 'method', lifetimeMs);
  });
  uploadStoreContract(`uploads in ${kind}`, async (t) => {
    const link = await open(t);
    const clock = new ManualClock();
    // Leases use real time.
    const shared = { ...systemClock, nowMs: () => clock.nowMs() };
    const folder = temporaryFolder(t);
    const store = () =>
      new BackedUpUploads(new RedisUploadStore(link as RedisLink, shared, () => testLimits), folder, { clock: shared, log: silentLog });
    const lapse = (id: string) => link?.call(['HSET', link.key(`upload-hold:${id}`), 'ends', '0']) as Promise<unknown>;
    return link && { store: store(), reopen: async () => store(), advance: (ms) => clock.advance(ms), lapse };
  });
  deliveryStoreContract(`deliveries in ${kind}`, async (t) => {
    const link = await open(t);
    const folder = temporaryFolder(t);
    let processes = 0;
    const openStore = async (): Promise<DeliveryGround> => {
      const node = `n1.0000000${++processes}`;
      const journal = await openJournal(link as RedisLink, folder, node);
      const leases = new DeliveryLeases(link as RedisLink, node, { retentionDays: 1, clock: systemClock, log: silentLog });
      const orders = new HandlerOrders(link as RedisLink, systemClock);
      const store = new RedisDeliveryStore({ journal, leases, orders, clock: systemClock });
      return { store, journal, records: redisRecords(link as RedisLink) };
    };
    return link && { open: openStore };
  });
  grantStoreContract(`grants in ${kind}`, async (t) => {
    const link = await open(t);
    if (!link) return undefined;
    const node = () => {
      const local = new FileGrants(temporaryFolder(t), { clock: systemClock, log: silentLog });
      const store = new RedisGrants(link, local, { clock: systemClock, log: silentLog });
      t.after(() => store.close());
      return store;
    };
    // `reopen` opens the store of another node, whose folder is empty.
    return { store: node(), reopen: async () => node() };
  });
  lockStoreContract(`locks in ${kind}`, async (t) => {
    const link = await open(t);
    const clock = new ManualClock();
    let areTaken = true;
    const store = link && new RedisLocks(link, clock, () => areTaken);
    return store && { store, advance: (ms) => clock.advance(ms), setTaken: (value) => (areTaken = value) };
  });
}
