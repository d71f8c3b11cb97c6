import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../../config/check.ts';
import type { Config } from '../../config/schema/schema.ts';
import { FileEventLog, journalFolder } from '../../events/journal/file-event-log.ts';
import { systemClock } from '../../lib/clock.ts';
import { type DataFolder, openDataFolder } from '../../lib/disk/data-folder.ts';
import { ServiceError } from '../../lib/errors.ts';
import { silentLog } from '../../lib/log.ts';
import type { RedisLink } from '../../lib/redis/redis-link.ts';
import { createRedisLink } from '../../server/state-redis.ts';
import { keptSpool, RedisEventLog } from '../../state/redis/journal/redis-event-log.ts';
import { exitCode, interruptible } from '../exit-codes.ts';
import { count, print, visible } from '../output.ts';

export interface ForwardOptions {
  config?: string;
  dataFolder?: string;
  json?: boolean;
}

/** Interval, in milliseconds, at which the progress is checked. */
const checkEveryMs = 100;

/**
 * Reads the events in the data folder of a node that no longer runs, and forwards them to Redis (docs/spec/command-line.md#events).
 *
 * @throws ServiceError `bad-request` if the folder has no journal, or if the configuration has no Redis; `unavailable` if a service uses the
 * folder, or if Redis cannot be reached
 */
export async function forwardEvents(options: ForwardOptions): Promise<number> {
  if (options.dataFolder === undefined)
    throw new ServiceError('bad-request', '--data-folder is missing; name the data folder of the dead node.');
  const { config } = await loadConfig({ file: options.config, cwd: process.cwd(), env: process.env });
  if (config.server.state.type !== 'redis') throw new ServiceError('bad-request', 'server.state.type of the configuration is not redis.');
  const folder = resolve(options.dataFolder);
  if (!existsSync(journalFolder(folder))) throw new ServiceError('bad-request', `There is no journal in ${journalFolder(folder)}.`);
  const dataFolder = openDataFolder(folder);
  const link = createRedisLink(config.server.state, systemClock, silentLog);
  try {
    await link.start();
    return await interruptible(async (signal) => {
      const forwarded = await forward(config, dataFolder, link, signal);
      if (options.json) print(JSON.stringify({ data_folder: folder, forwarded }));
      else print(visible(`forwarded ${count(forwarded, 'event')} from ${folder}`));
      return exitCode.done;
    });
  } finally {
    await link.close();
    dataFolder.release();
  }
}

async function forward(config: Config, dataFolder: DataFolder, link: RedisLink, signal: AbortSignal): Promise<number> {
  const { state, events } = config.server;
  const shared = { dataFolderPath: dataFolder.path, clock: systemClock, log: silentLog };
  let journal: RedisEventLog | undefined;
  const local = new FileEventLog({
    ...shared,
    folder: journalFolder(dataFolder.path),
    maximumFileSizeBytes: events.maximum_file_size,
    retentionDays: events.retention_days,
    neededFrom: () => journal?.neededFrom() ?? keptSpool(dataFolder.path),
  });
  const node = `${dataFolder.serverUuid()}.${randomBytes(4).toString('hex')}`;
  const opened = await RedisEventLog.open({ ...shared, link, local, node, retentionDays: state.retention_days || events.retention_days });
  journal = opened;
  try {
    for (;;) {
      const answer = link.check();
      if (answer !== true) throw new ServiceError('unavailable', `${answer}. The remaining events stay in ${dataFolder.path}.`);
      if (signal.aborted || (await opened.spooled()).events === 0) return opened.forwardedEvents;
      await systemClock.sleep(checkEveryMs, signal).catch(() => {});
    }
  } finally {
    await opened.close();
  }
}
