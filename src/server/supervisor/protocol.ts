import * as z from 'zod';
import { reloadReport } from '../../config/findings.ts';
import type { LoadedConfig } from '../../config/reading/load.ts';
import { parseSource } from '../../config/reading/source.ts';
import { type Config, configSchema } from '../../config/schema/schema.ts';
import { logLevels } from '../../lib/log.ts';
import type { MetricFigures } from '../../monitor/sources.ts';
import type { Calls } from './calls.ts';

const text = z.string().max(65_536);
const count = z.int().nonnegative();
const sections = Object.keys(configSchema.omit({ $schema: true }).shape);

/** A valid configuration as a message carries it: the source is parsed again where it is needed. */
const sentConfig = z.strictObject({
  config: z.custom<Config>((value) => z.record(z.enum(sections), z.looseObject({})).safeParse(value).success),
  file: text,
  source: z.object({ file: text, text: z.string() }).optional(),
});

export function receivedConfig({ config, file, source }: z.output<typeof sentConfig>): LoadedConfig {
  return { config, file, source: source && parseSource(source.file, source.text) };
}

export function sendableConfig({ config, file, source }: LoadedConfig): z.output<typeof sentConfig> {
  return { config, file, source: source && { file: source.file, text: source.text } };
}

const secret = z.custom<Buffer>(Buffer.isBuffer);
/** Files that only root may read, as they were at the start, by their paths. */
const files = z.map(text, secret);

const nodeSetup = z.strictObject({
  /** From 1; it keeps its data folder, and so its name, over restarts. */
  number: count,
  /** How many nodes there are. */
  nodes: count,
  loaded: sentConfig,
  /** The file that it was read from; undefined for a configuration without one. */
  configPath: text.optional(),
  /** The data folder of the configuration, with its links resolved. */
  dataFolderPath: text,
  log: z.strictObject({ level: z.enum(logLevels), format: z.enum(['pretty', 'json']), colour: z.boolean() }),
  /** Of the keys of TLS tickets. */
  ticketSecret: secret,
  files,
});
export type NodeSetup = z.output<typeof nodeSetup>;

/** Reply of a started node, with the files that it read as root. */
const startedNode = z.strictObject({ listening: z.array(z.strictObject({ uuid: text, name: text, url: text })), files });
export type StartedNode = z.output<typeof startedNode>;

const metric = z.object({
  name: z
    .string()
    .max(1000)
    .regex(/^[a-z_:][\w:]*$/i),
  help: text,
  type: text,
  aggregator: z.enum(['sum', 'first', 'min', 'max', 'average', 'omit']),
  values: z.array(z.object({ value: z.custom((value) => typeof value === 'number'), labels: z.record(text, z.union([text, z.number()])) })),
});
const figures = z.custom<MetricFigures>((value) => z.array(metric).safeParse(value).success);
const ended = reloadReport.shape.ended;

/** The calls that a node takes. */
export const nodeOffer = {
  start: [z.tuple([nodeSetup]), startedNode],
  /** Makes ready for a configuration; nothing changes yet. */
  prepare: [z.tuple([sentConfig]), z.void()],
  commit: [z.tuple([]), ended],
  abort: [z.tuple([]), z.void()],
  renewTickets: [z.tuple([secret]), z.void()],
  /** Another node wrote an accounts file. */
  lookAtAccounts: [z.tuple([]), z.void()],
  figures: [z.tuple([]), figures],
  /** Replies whether all requests ended in time. */
  stop: [z.tuple([]), z.boolean()],
  /** Gives its stop no more time. */
  hurry: [z.tuple([]), z.void()],
} as const;

/** The calls that the supervisor takes from a node. */
export const supervisorOffer = {
  /** Says that the node hears messages: node:cluster loses what comes earlier. */
  hello: [z.tuple([]), z.void()],
  /** Gives the figures of the other nodes, and keeps those of the node that asks. */
  figures: [z.tuple([figures]), z.object({ running: count, restarts: count, others: z.array(figures) })],
  /** Has all nodes take over the file as it stands now, or none. */
  reload: [z.tuple([]), reloadReport],
  /** An accounts file was written; replies when the other nodes go by it. */
  accountsWritten: [z.tuple([]), z.void()],
} as const;

/** The calls of a node to its supervisor. */
export type SupervisorCalls = Calls<typeof nodeOffer, typeof supervisorOffer>;
