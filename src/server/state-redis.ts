import { randomBytes } from 'node:crypto';
import type { SecurityPolicy } from '../auth/ban-list.ts';
import type { Config } from '../config/schema/schema.ts';
import type { UploadLimits } from '../files/uploads/upload-store.ts';
import type { Clock } from '../lib/clock.ts';
import { Slots } from '../lib/concurrency/slots.ts';
import { readCaCertificates } from '../lib/disk/named-file.ts';
import type { Log } from '../lib/log.ts';
import { RedisLink } from '../lib/redis/redis-link.ts';
import { MemoryAcceptedCredentials } from '../state/memory/callout-cache.ts';
import { RedisBans } from '../state/redis/bans.ts';
import { RedisAcceptedCredentials } from '../state/redis/callout-cache.ts';
import { RedisCertificates } from '../state/redis/certificates.ts';
import { DeliveryLeases } from '../state/redis/delivery-leases.ts';
import { redisRecords, redisReplayLog } from '../state/redis/delivery-records.ts';
import { HandlerOrders, RedisDeliveryStore } from '../state/redis/delivery-store.ts';
import { redisExpectations } from '../state/redis/expectations.ts';
import { RedisGrants } from '../state/redis/grants.ts';
import { keptSpool, RedisEventLog } from '../state/redis/journal/redis-event-log.ts';
import { RedisLocks } from '../state/redis/locks.ts';
import { RedisNodeTexts } from '../state/redis/node-texts.ts';
import { RedisSessions } from '../state/redis/sessions.ts';
import { RedisUploadStore } from '../state/redis/uploads.ts';
import { RedisUrlHealth } from '../state/redis/url-health.ts';
import { NodeBoard } from './nodes/node-board.ts';
import { NodeQuestions } from './nodes/node-questions.ts';
import type { State } from './state.ts';

const dayMs = 86_400_000;

type StateOptions = Config['server']['state'];

/**
 * Creates the link to the Redis of a configuration. It does not connect yet.
 *
 * @throws ServiceError `unavailable` if the file of certificate authorities cannot be read, `bad-request` for an unusable URL
 */
export function createRedisLink(options: StateOptions, clock: Clock, log: Log): RedisLink {
  const caPem = readCaCertificates(options.ca_certificates_path, 'server.state.ca_certificates_path');
  const sentinel = { username: options.sentinel_username, password: options.sentinel_password };
  return new RedisLink({ url: options.url, prefix: options.prefix, caPem, sentinel, clock, log });
}

/** Opens the state that all nodes share through Redis. It waits a short time for Redis. @throws the errors of `createRedisLink` */
export async function openRedisState(
  options: StateOptions,
  dependencies: {
    clock: Clock;
    log: Log;
    policy: () => SecurityPolicy;
    areLocksTaken: () => boolean;
    uploadLimits: () => UploadLimits;
    heldLimits: () => UploadLimits;
  },
): Promise<State> {
  const { clock, log, policy } = dependencies;
  const link = createRedisLink(options, clock, log);
  const texts = new RedisNodeTexts(link);
  const state: State = {
    bans: new RedisBans(link, clock, policy, options.secret),
    locks: new RedisLocks(link, clock, dependencies.areLocksTaken),
    certificates: new RedisCertificates(link, options.secret),
    places: new Slots(),
    uploads: new RedisUploadStore(link, clock, dependencies.uploadLimits),
    held: new RedisUploadStore(link, clock, dependencies.heldLimits, 'held'),
    grants: (local) => new RedisGrants(link, local, { clock, log }),
    sessions: (service, lifetimes, onTimeout) => new RedisSessions(link, service, { clock, log, lifetimes, onTimeout }),
    urlHealth: (scope) => new RedisUrlHealth(link, clock, scope),
    accepted: (method, lifetimeMs) =>
      options.secret === ''
        ? new MemoryAcceptedCredentials(clock, lifetimeMs)
        : new RedisAcceptedCredentials(link, options.secret, method, lifetimeMs),
    openShared: async (makeLocal, { node: server, dataFolderPath, retentionDays }) => {
      let journal: RedisEventLog | undefined;
      const local = makeLocal(() => journal?.neededFrom() ?? keptSpool(dataFolderPath));
      // Redis can still list the node's previous process as running. A random part of the name distinguishes the two processes.
      const node = `${server}.${randomBytes(4).toString('hex')}`;
      const opened = await RedisEventLog.open({ link, local, node, dataFolderPath, retentionDays, clock, log });
      journal = opened;
      const leases = new DeliveryLeases(link, node, { retentionDays, clock, log });
      const orders = new HandlerOrders(link, clock);
      await orders.refresh().catch(() => log.debug('Redis cannot be reached; once it can, the node learns which handlers are paused'));
      return {
        journal: opened,
        figures: async () => ({
          isUp: link.isReady,
          eventsNotForwarded: (await opened.spooled()).events,
          streamBytes: await opened.streamBytes().catch(() => undefined),
          unreadableValues: link.values.unreadable,
        }),
        records: redisRecords(link),
        openReplayLog: () => redisReplayLog(link, clock.nowMs() - retentionDays * dayMs),
        expectationStore: redisExpectations(link, node),
        deliveryStore: new RedisDeliveryStore({ journal: opened, leases, orders, clock }),
      };
    },
    nodes: { board: new NodeBoard(texts, log), questions: new NodeQuestions(texts, { clock, log }) },
    check: () => link.check(),
    close: () => link.close(),
  };
  await link.start();
  return state;
}
