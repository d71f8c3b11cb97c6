import * as z from 'zod';

// The shapes that nodes tell each other and that consoles show. Not strict: members of newer nodes are left out.

export const text = z.string();
export const count = z.int().nonnegative();
/** ISO 8601, UTC. */
export const time = z.string().meta({ format: 'date-time' });

/** Counts of a node since its start; in a sample since the sample before. */
export const counts = z.object({
  requests: count.describe('Of HTTP and SFTP; of the latter each block of a file is one.'),
  failures: count,
  received_bytes: count,
  sent_bytes: count,
  events: count,
  deliveries: count,
  failed_deliveries: count,
});
export type Counts = z.infer<typeof counts>;

/** A service and where it listens. */
export const service = z.object({
  uuid: text,
  type: text,
  name: text,
  url: text,
  connections: count,
  sessions: count.describe('Nodes share them: those of the service on all nodes.'),
});

/** An authentication method. */
export const method = z.object({
  uuid: text,
  name: text,
  type: text,
  state: text,
  /** Why it does not run, or what of it fails at present; empty when all is well. */
  reason: text,
});

/** A file, or an archive, on its way. */
export const transfer = z.object({
  id: text.describe('Tells it from all others of its node.'),
  service: text.describe('UUID.'),
  account: text,
  path: text.describe('Of an archive, the folder that it was asked of.'),
  direction: z.enum(['download', 'upload']),
  bytes: count.describe('So far.'),
  total_bytes: count.nullable().describe('Null where nobody said how many there will be.'),
  bytes_per_second: count.describe('Of the last seconds.'),
  started: time,
});

/** An event of the group `failure`. */
export const failure = z.object({ time, id: text, uuid: text, message: text });

/** A replay and how far it is. */
export const replay = z.object({
  id: text,
  created: time,
  administrator: text,
  dry_run: z.boolean(),
  state: z.enum(['waiting', 'running', 'done', 'cancelled', 'failed']),
  total: count.nullable().describe('Events, once for each handler; null until all was looked through.'),
  done: count,
  delivered: count,
  failed: count,
  details: text.describe('Why it failed as a whole.'),
  results_left_out: count.describe('Results that there was no room for; the record of deliveries has them.'),
});
