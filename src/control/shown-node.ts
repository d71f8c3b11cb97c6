import * as z from 'zod';
import { fault } from '../webhooks/records/delivery-record-schema.ts';

// Schemas of the messages between nodes, and of the data of consoles. They are not strict, so that unknown members from newer nodes are
// ignored.

export const text = z.string();
export const count = z.int().nonnegative();
/** A time in ISO 8601 and UTC. */
export const time = z.string().meta({ format: 'date-time' });

/** Counters of a node since its start. In a sample (a point of the charts), they count since the previous sample. */
export const counts = z.object({
  requests: count.describe('Requests over HTTP and SFTP. Over SFTP, each block of a file is a request.'),
  failures: count,
  received_bytes: count,
  sent_bytes: count,
  events: count,
  deliveries: count,
  failed_deliveries: count,
});
export type Counts = z.infer<typeof counts>;

/** A service, and the address at which it listens. */
export const service = z.object({
  uuid: text,
  type: text,
  name: text,
  url: text,
  connections: count,
  sessions: count.describe('Number of sessions of the service, counted over all nodes.'),
});

/** An authentication method or an inspection. */
export const method = z.object({
  uuid: text,
  name: text,
  type: text,
  state: text,
  /** Why it does not run, or which part of it fails; empty if it works. */
  reason: text,
  /** A newer node may report a code that this version does not have. */
  fault: fault.nullable().catch(null).describe('The reason as a code; null if there is no code for it.'),
});

/** A file or archive that is being transferred. */
export const transfer = z.object({
  id: text.describe('ID, unique on the node.'),
  service: text.describe('UUID of the service.'),
  account: text,
  path: text.describe('Path of the file, or of the folder that is sent as an archive.'),
  direction: z.enum(['download', 'upload']),
  bytes: count.describe('Number of bytes transferred so far.'),
  total_bytes: count.nullable().describe('Size of the whole transfer in bytes; null while it is unknown.'),
  bytes_per_second: count.describe('Average over the last few seconds.'),
  started: time,
});

/** Errors of one kind. Each error was an event of the group `failure`; `message` is that of the newest event. */
export const failure = z.object({
  time,
  id: text,
  uuid: text,
  message: text,
  kind: text.default('').describe('A key that all errors of the kind share.'),
  count: count
    .default(1)
    .describe('Number of errors of the kind since the start of the node, plus earlier errors that the overview found in the journal.'),
  first: time.or(z.literal('')).default('').describe('Time of the first error of the kind; empty if unknown.'),
  due: text.default('').describe('Due time that the message contains; empty if it contains none.'),
  component: text.default('').describe('UUID of the component that caused the events, such as that of an event handler.'),
});

/** A replay and its progress. */
export const replay = z.object({
  id: text,
  created: time,
  administrator: text,
  dry_run: z.boolean(),
  count_only: z.boolean().default(false).describe('Whether it sends nothing and only counts.'),
  state: z
    .enum(['waiting', 'running', 'done', 'cancelled', 'failed'])
    .describe('`failed` after an error, or if failures in a row kept requests to some or all handlers from being sent.'),
  total: count.nullable().describe('Number of events, counted once per handler; null until the selection is known.'),
  events: count.default(0).describe('Number of different events found so far.'),
  done: count.describe('Number of requests that were sent or, in a dry run, compared.'),
  delivered: count.describe('Number of delivered requests.'),
  failed: count.describe('Number of failed or discarded requests.'),
  details: text.describe('Reason of the state `failed`. It names the handlers that were stopped, unless all were.'),
  requests: count.default(0).describe('Number of requests in all; 0 until the selection is known.'),
  handlers: count.default(0).describe('Number of event handlers that the requests go to.'),
  handler_uuids: z.array(text).default([]).describe('UUIDs of these event handlers.'),
  seconds_left: z
    .number()
    .nonnegative()
    .nullable()
    .default(null)
    .describe('Remaining time at the current rate; null while the rate is unknown.'),
  results_left_out: count.describe('Number of results that are not listed; the records of deliveries have them.'),
});
