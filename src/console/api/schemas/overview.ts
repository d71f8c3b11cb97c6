import * as z from 'zod';
import { count, counts, failure, method, service, text, time, transfer } from '../../../control/shown-node.ts';

const ofDisk = count.nullable().describe('Null while the disk does not tell.');

/** Of answers that say what all nodes know. */
export const incomplete = text.describe('Why the other nodes cannot be seen at present; empty when they can.');

/** An event handler. */
export const handlerView = z.object({
  uuid: text,
  name: text,
  enabled: z.boolean(),
  state: z.enum(['running', 'stopped', 'paused', 'disabled']),
  reason: text.describe('Why it does not run; empty when it does.'),
  waiting_events: count,
  oldest_waiting_seconds: z.number().nonnegative(),
  rate_per_minute: z.number().nonnegative(),
  suspended_urls: z.array(z.object({ url: text, until: time })),
  node: text.describe('Which node delivers for it; empty while none does.'),
});
export type HandlerView = z.infer<typeof handlerView>;

/** `GET /api/handlers`. */
export const handlerList = z.object({ handlers: z.array(handlerView), incomplete });
export type HandlerList = z.infer<typeof handlerList>;

/** A server of the installation. */
export const nodeView = z.object({
  node: text.describe('`server.name`, or the name of the host; more where several nodes have the same.'),
  uuid: text.describe('Of its data folder.'),
  phase: z
    .enum(['starting', 'ready', 'stopping', 'gone'])
    .describe('`gone` when nothing was heard of it for ten seconds; ten minutes later it is not listed any more.'),
  version: text,
  seen: time.describe('When it was last heard of, rounded down to ten seconds.'),
});
export type NodeView = z.infer<typeof nodeView>;

export const transferView = transfer.extend({ node: text });
export type TransferView = z.infer<typeof transferView>;

const serviceView = service.extend({ node: text });
export type ServiceView = z.infer<typeof serviceView>;

const methodView = method.extend({ node: text });
export type MethodView = z.infer<typeof methodView>;

/** `GET /api/overview`: all nodes at one moment. */
export const overview = z.object({
  server: z.object({ name: text, uuid: text, version: text, node: text, started: time }),
  services: z.array(serviceView),
  methods: z.array(methodView),
  handlers: z.array(handlerView),
  /** Those that began first. */
  transfers: z.array(transferView),
  transfers_left_out: count.describe('Of the transfers under way, those 100 are listed that began first.'),
  /** The newest first; of those before the start, what a short look back finds. */
  errors: z.array(failure.extend({ node: text })),
  journal: z.object({ bytes: ofDisk, free_bytes: ofDisk }),
  nodes: z.array(nodeView),
  incomplete,
});
export type Overview = z.infer<typeof overview>;

const levels = z.object({ sessions: count, connections: count, memory_bytes: count, waiting_events: count });
/** How much there is at present. */
export type Levels = z.infer<typeof levels>;

/** One point of each chart: what was counted since the sample before, and how much there is. */
export const sample = z.object({ time, ...counts.shape, ...levels.shape });
export type Sample = z.infer<typeof sample>;

/** `GET /api/samples`. */
export const sampleList = z.object({ interval_seconds: count, samples: z.array(sample) });
export type SampleList = z.infer<typeof sampleList>;
