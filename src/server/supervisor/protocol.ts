import type { ReloadReport } from '../../config/findings.ts';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { parseSource, type Source } from '../../config/reading/source.ts';
import type { LogFormat, LogLevel } from '../../lib/log.ts';
import type { MetricFigures, NodeFigures } from '../../monitor/sources.ts';
import type { Ended } from '../listeners.ts';

/** A configuration as a message can carry it. */
export type SentConfig = Omit<LoadedConfig, 'source'> & { source: Pick<Source, 'file' | 'text'> | undefined };

export function sentConfig({ config, file, source }: LoadedConfig): SentConfig {
  return { config, file, source: source && { file: source.file, text: source.text } };
}

export function receivedConfig({ config, file, source }: SentConfig): LoadedConfig {
  return { config, file, source: source && parseSource(source.file, source.text) };
}

/** What a node is started with. */
export interface NodeSetup {
  /** From 1; it keeps its data folder, and so its name, over restarts. */
  number: number;
  /** How many nodes there are. */
  nodes: number;
  loaded: SentConfig;
  /** The file that it was read from; undefined for a configuration without one. */
  configPath: string | undefined;
  /** The data folder of the configuration, with its links resolved. */
  dataFolderPath: string;
  log: { level: LogLevel; format: LogFormat; colour: boolean };
  /** Of the keys of TLS tickets. */
  ticketSecret: Buffer;
  /** Files that only root may read, as they were at the start, by their paths. */
  files: ReadonlyMap<string, Buffer>;
}

/** What a started node tells. */
export interface StartedNode {
  listening: { uuid: string; name: string; url: string }[];
  /** What it read as root. */
  files: ReadonlyMap<string, Buffer>;
}

/** What a node does for its supervisor. */
export interface NodeApi {
  start(setup: NodeSetup): Promise<StartedNode>;
  /** Makes ready for a configuration; nothing changes yet. */
  prepare(loaded: SentConfig): Promise<void>;
  commit(): Promise<Ended>;
  abort(): Promise<void>;
  renewTickets(secret: Buffer): void;
  /** Another node wrote an accounts file. */
  lookAtAccounts(): void;
  figures(): Promise<MetricFigures>;
  /** @returns whether all requests ended in time */
  stop(): Promise<boolean>;
  /** Gives its stop no more time. */
  hurry(): void;
}

/** What the supervisor does for a node. */
export interface SupervisorApi {
  /** The figures of the other nodes. @param own kept as the last of the node that asks */
  figures(own: MetricFigures): Promise<NodeFigures>;
  /** Has all nodes take over the file as it stands now, or none. */
  reload(): Promise<ReloadReport>;
  /** An accounts file was written; resolves when the other nodes go by it. */
  accountsWritten(): Promise<void>;
}
