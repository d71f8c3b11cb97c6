import type { Source } from '../../config/reading/source.ts';
import type { Config } from '../../config/schema/schema.ts';
import { systemClock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { silentLog } from '../../lib/log.ts';
import { redisLinkOf } from '../../server/state-redis.ts';
import { redisRecords, redisReplayLog } from '../../state/redis/delivery-records.ts';
import { HandlerOrders } from '../../state/redis/handler-orders.ts';
import { readLosses } from '../../state/redis/journal/losses.ts';
import { StreamReader, streamSince } from '../../state/redis/journal/reader.ts';
import { journalStream } from '../../state/redis/journal/redis-event-log.ts';
import { readGroups } from '../../state/redis/journal/retention.ts';
import { stoppedHandlers } from '../../webhooks/replay/undelivered-events.ts';
import { complain, visible } from '../output.ts';
import type { Journal } from './journal-shape.ts';

const dayMs = 86_400_000;

/**
 * The journal of all nodes that share a Redis.
 *
 * @throws ServiceError `unavailable` when it cannot be reached
 */
export async function redisJournal(config: Config, source: Source | undefined): Promise<Journal> {
  const link = redisLinkOf(config.server.state, systemClock, silentLog);
  await link.start();
  const state = link.check();
  if (state !== true) {
    await link.close();
    throw new ServiceError('unavailable', `${state}. What this node has not forwarded yet stands in its files: --data-folder.`);
  }
  const losses = await readLosses(link);
  for (const { at, host, data_folder } of losses)
    complain(
      visible(
        `svc: the journal in Redis was emptied before ${at}; the files of ${host} have what it had of its own: svc events --data-folder ${data_folder}`,
      ),
    );
  const stream = journalStream(link);
  const retentionDays = config.server.state.retention_days || config.server.events.retention_days;
  const journal: Journal = {
    config,
    source,
    missing: undefined,
    serverUuid: config.server.uuid,
    openReader: (onBadLine) => new StreamReader(link, stream, onBadLine),
    since: streamSince,
    records: redisRecords(link),
    openReplayLog: () => redisReplayLog(link, systemClock.nowMs() - retentionDays * dayMs),
    async waitingPositions() {
      const positions = await readGroups(link, stream);
      if (positions.size === 0) return positions;
      const orders = new HandlerOrders(link, systemClock);
      await orders.refresh();
      const isPaused = (uuid: string) => orders.known(uuid)?.state === 'paused';
      // A handler that no node has the lease of is not going to deliver.
      const owners = (await link.call(['MGET', ...[...positions.keys()].map((uuid) => link.key('lease', uuid))])) as (string | null)[];
      const running = [...positions].filter(([uuid], index) => owners[index] !== null || isPaused(uuid));
      if (running.length === 0) return new Map();
      const stopped = await stoppedHandlers(journal);
      return new Map(running.filter(([uuid]) => !stopped.has(uuid) || isPaused(uuid)));
    },
    close: () => link.close(),
  };
  return journal;
}
