import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../../config/check.ts';
import { findConfigFile, type LoadedConfig } from '../../config/reading/load.ts';
import type { Source } from '../../config/reading/source.ts';
import type { Config } from '../../config/schema/schema.ts';
import { journalFolder } from '../../events/journal/file-event-log.ts';
import { JournalReader } from '../../events/journal/reader.ts';
import { SelectiveReader } from '../../events/journal/search/selective-reader.ts';
import { eventsSince } from '../../events/journal/segments.ts';
import { systemClock } from '../../lib/clock.ts';
import { peekDataFolder } from '../../lib/disk/data-folder.ts';
import { ServiceError } from '../../lib/errors.ts';
import { silentLog } from '../../lib/log.ts';
import { createRedisLink } from '../../server/state-redis.ts';
import { fileRecords } from '../../state/memory/delivery-records.ts';
import { readPauses, readPositions } from '../../state/memory/handler-positions.ts';
import { redisRecords, redisReplayLog } from '../../state/redis/delivery-records.ts';
import { HandlerOrders } from '../../state/redis/delivery-store.ts';
import { StreamReader, streamSince } from '../../state/redis/journal/reader.ts';
import { journalStream, readLosses } from '../../state/redis/journal/redis-event-log.ts';
import { readGroups } from '../../state/redis/journal/stream.ts';
import { DeliveryLog, deliveriesFolder } from '../../webhooks/records/delivery-log.ts';
import type { DeliveryRecord } from '../../webhooks/records/delivery-record.ts';
import { type ReplayedJournal, stoppedHandlers } from '../../webhooks/replay/undelivered-events.ts';
import { defaultDataFolder } from '../control/service-folder.ts';
import { complain, visible } from '../output.ts';

/** The journal of a service or of all its nodes, and the configuration if there is one. */
export interface Journal extends ReplayedJournal {
  config: Config | undefined;
  source: Source | undefined;
  /** Reason why there is no journal; undefined if there is one. */
  missing: string | undefined;
  serverUuid: string | undefined;
  /** Opens the log to which `svc webhook-replay` writes its deliveries. */
  openReplayLog(): { append(record: DeliveryRecord): void; close(): Promise<void> };
  close(): Promise<void>;
}

export interface JournalOptions {
  config?: string;
  dataFolder?: string;
}

/** Size in bytes at which a new file of delivery records is started. */
const recordFileBytes = 64 * 1024 * 1024;

/**
 * Opens the journal in `--data-folder`. Without that option, opens the journal of the configuration. Without a configuration, opens the
 * journal in `defaultDataFolder`. The caller must close the journal.
 *
 * @param needsHandlers whether the event handlers are needed, so that the configuration is read even with `--data-folder`
 * @throws ConfigError for an invalid configuration, ServiceError `unavailable` if its Redis cannot be reached
 */
export async function findJournal(options: JournalOptions, needsHandlers: boolean): Promise<Journal> {
  const { config, source } = (await findConfig(options, needsHandlers)) ?? {};
  if (options.dataFolder === undefined && config?.server.state.type === 'redis') return redisJournal(config, source);
  return fileJournal(config, source, resolve(options.dataFolder ?? config?.server.data_folder_path ?? defaultDataFolder));
}

/** Checks that there is a journal. @throws ServiceError `bad-request` if there is none */
export function assertJournal({ missing }: Journal): void {
  if (missing !== undefined) throw new ServiceError('bad-request', missing);
}

function fileJournal(config: Config | undefined, source: Source | undefined, folder: string): Journal {
  const eventsFolder = journalFolder(folder);
  const recordsFolder = deliveriesFolder(folder);
  const { ownerPid, serverUuid } = existsSync(folder) ? peekDataFolder(folder) : { ownerPid: undefined, serverUuid: undefined };
  const isThere = existsSync(eventsFolder);
  const journal: Journal = {
    config,
    source,
    missing: isThere ? undefined : `There is no journal in ${eventsFolder}; name its place with --config or --data-folder.`,
    serverUuid: config?.server.uuid ?? serverUuid,
    openReader: (onBadLine, wanted) =>
      wanted ? new SelectiveReader(eventsFolder, wanted, onBadLine) : new JournalReader(eventsFolder, onBadLine),
    since: (sinceMs) => eventsSince(eventsFolder, sinceMs),
    records: fileRecords(recordsFolder),
    openReplayLog: () =>
      DeliveryLog.create({ folder: recordsFolder, maximumFileSizeBytes: recordFileBytes, clock: systemClock, log: silentLog }),
    async waitingPositions() {
      if (ownerPid === undefined) return new Map();
      const positions = await readPositions(recordsFolder, () => {});
      const stopped = await stoppedHandlers(journal);
      const paused = readPauses(recordsFolder, () => {});
      return new Map([...positions].filter(([uuid]) => !stopped.has(uuid) || paused.has(uuid)));
    },
    close: async () => {},
  };
  return journal;
}

async function findConfig(options: JournalOptions, needsHandlers: boolean): Promise<LoadedConfig | undefined> {
  if (!needsHandlers && options.dataFolder !== undefined) return undefined;
  const where = { file: options.config, cwd: process.cwd(), env: process.env };
  if (!(await findConfigFile(where)) && options.config === undefined) return undefined;
  return loadConfig(where);
}

const dayMs = 86_400_000;

/** Opens the journal of all nodes that share a Redis. @throws ServiceError `unavailable` if Redis cannot be reached */
async function redisJournal(config: Config, source: Source | undefined): Promise<Journal> {
  const link = createRedisLink(config.server.state, systemClock, silentLog);
  await link.start();
  const state = link.check();
  if (state !== true) {
    await link.close();
    throw new ServiceError(
      'unavailable',
      `${state}. Events that this node has not forwarded yet are in its files; read them with --data-folder.`,
    );
  }
  const losses = await readLosses(link);
  for (const { at, host, data_folder } of losses)
    complain(
      visible(
        `svc: the journal in Redis was emptied (noticed at ${at}); the files of ${host} still have the events of that node: svc events --data-folder ${data_folder}`,
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
      // If no node has the lease of a handler, no node delivers the handler's events. So none of these events counts
      // as waiting, unless the handler is paused.
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
