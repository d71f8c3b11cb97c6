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
import { fileRecords } from '../../state/memory/delivery-records.ts';
import { readPositions } from '../../state/memory/handler-positions.ts';
import { readPauses } from '../../state/memory/pauses.ts';
import { DeliveryLog, deliveriesFolder } from '../../webhooks/records/delivery-log.ts';
import { stoppedHandlers } from '../../webhooks/replay/undelivered-events.ts';
import { defaultDataFolder } from '../control/service-folder.ts';
import type { Journal } from './journal-shape.ts';

/** Where a command finds journal and records. */
export interface JournalOptions {
  config?: string;
  dataFolder?: string;
}

/** Size at which a file of records is followed by another. */
const recordFileBytes = 64 * 1024 * 1024;

/**
 * Finds the journal: of the data folder named, of the configuration, or of a service without one in this folder. To be closed.
 *
 * @throws ConfigError for a configuration that is not valid, ServiceError `unavailable` when its Redis cannot be reached
 */
export async function findJournal(options: JournalOptions): Promise<Journal> {
  const { config, source } = (await configOf(options)) ?? {};
  if (options.dataFolder === undefined && config?.server.state.type === 'redis') {
    // Loaded only where it is wanted.
    const { redisJournal } = await import('./journal-redis.ts');
    return redisJournal(config, source);
  }
  return fileJournal(config, source, resolve(options.dataFolder ?? config?.server.data_folder_path ?? defaultDataFolder));
}

/** @throws ServiceError `bad-request` when there is no journal */
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

async function configOf(options: JournalOptions): Promise<LoadedConfig | undefined> {
  const where = { file: options.config, cwd: process.cwd(), env: process.env };
  if (!(await findConfigFile(where)) && options.config === undefined) return undefined;
  return loadConfig(where);
}
