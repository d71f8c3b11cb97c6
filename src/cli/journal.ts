import { existsSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { loadConfig } from '../config/check.ts';
import { findConfigFile } from '../config/load.ts';
import type { Config } from '../config/schema.ts';
import { journalFolder } from '../events/event-log-file.ts';
import type { LogPosition } from '../events/event-log-position.ts';
import { listSegments } from '../events/event-log-segments.ts';
import { peekDataFolder } from '../lib/data-folder.ts';
import { ServiceError } from '../lib/errors.ts';
import { deliveriesFolder } from '../webhooks/delivery-log.ts';

/** Where a command finds journal and records. */
export interface JournalOptions {
  config?: string;
  dataFolder?: string;
}

/** The journal of a service, and its configuration when there is one. */
export interface Journal {
  config: Config | undefined;
  /** Folder of the events; it may not be there yet. */
  eventsFolder: string;
  /** Folder of the records of deliveries. */
  deliveriesFolder: string;
  /** Process of the service that runs on it. */
  ownerPid: number | undefined;
  serverUuid: string | undefined;
}

/** The folder of `svc serve` without a configuration. */
const defaultDataFolder = './svc-data';

/**
 * Finds the journal: of the data folder named, of the configuration, or of a service without one in this folder.
 *
 * @throws ConfigError for a configuration that is not valid
 */
export async function findJournal(options: JournalOptions): Promise<Journal> {
  const config = await configOf(options);
  const folder = resolve(options.dataFolder ?? config?.server.data_folder_path ?? defaultDataFolder);
  const { ownerPid, serverUuid } = existsSync(folder) ? peekDataFolder(folder) : { ownerPid: undefined, serverUuid: undefined };
  return {
    config,
    eventsFolder: journalFolder(folder),
    deliveriesFolder: deliveriesFolder(folder),
    ownerPid,
    serverUuid: config?.server.uuid ?? serverUuid,
  };
}

/** @throws ServiceError `bad-request` when there is no journal */
export function assertJournal(journal: Journal): void {
  if (!existsSync(journal.eventsFolder))
    throw new ServiceError('bad-request', `There is no journal in ${journal.eventsFolder}; name its place with --config or --data-folder.`);
}

/** Where to begin reading events that are not older than a time. */
export function eventsSince(folder: string, sinceMs: number | undefined): LogPosition | undefined {
  if (sinceMs === undefined) return undefined;
  const segments = listSegments(folder);
  const first = segments.find(({ path }) => (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0) >= sinceMs) ?? segments.at(-1);
  return first && { segment: first.number, offset: 0 };
}

async function configOf(options: JournalOptions): Promise<Config | undefined> {
  const where = { file: options.config, cwd: process.cwd(), env: process.env };
  if (!(await findConfigFile(where)) && options.config === undefined) return undefined;
  const loaded = await loadConfig(where);
  return loaded.config;
}
