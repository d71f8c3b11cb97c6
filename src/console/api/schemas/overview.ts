import * as z from 'zod';
import { count, counts, failure, method, service, text, time, transfer } from '../../../control/shown-node.ts';
import { stopCodes } from '../../../webhooks/engine/stop-reasons.ts';
import { fault } from '../../../webhooks/records/delivery-record-schema.ts';

const ofDisk = count.nullable().describe('Null while the size is unknown.');

/** Member `incomplete` of replies that cover all nodes. */
export const incomplete = text.describe('Reason why the other nodes are not shown; empty if they are shown.');

export const handlerView = z.object({
  uuid: text,
  name: text,
  enabled: z.boolean(),
  state: z.enum(['running', 'stopped', 'paused', 'disabled']),
  reason: text.describe('Reason why the handler does not run; empty if it runs.'),
  reason_code: z.enum(['', ...stopCodes]).describe('Code of the reason; empty if it has none.'),
  reason_value: text.describe('Number of failures for code `failures`, name of the operator for `paused`; otherwise empty.'),
  waiting_events: count.describe('Events that pass the filter of the handler, and that it has not delivered yet.'),
  more_may_wait: z.boolean().describe('Whether more events may wait: up to 10,000 are counted, and a long journal in several steps.'),
  oldest_waiting_seconds: z.number().nonnegative(),
  rate_per_minute: z.number().nonnegative(),
  suspended_urls: z.array(z.object({ url: text, until: time })),
  urls: z.array(text).describe('URLs of the configuration, without their queries.'),
  is_failing: z.boolean().describe('Whether the last three deliveries failed, or all deliveries of the last hour.'),
  last_hour: z
    .array(z.object({ delivered: count, failed: count.describe('Failed or discarded.') }))
    .describe('Number of deliveries that the service made (none by hand) in each five minutes of the last hour; the newest last.'),
  last_error: text.describe('Reason of the latest failure in the last hour; empty if there was none.'),
  last_fault: fault.nullable().default(null).describe('The same reason as a code; null if there is no code for it.'),
  last_error_time: time.nullable(),
  node: text.describe('Node that runs the handler; empty while none does.'),
});
export type HandlerView = z.infer<typeof handlerView>;

/** The reply to `GET /api/handlers`. */
export const handlerList = z.object({ handlers: z.array(handlerView), incomplete });
export type HandlerList = z.infer<typeof handlerList>;

export const nodeView = z.object({
  node: text.describe('`server.name`, or the host name; with a suffix if several nodes have the same name.'),
  uuid: text.describe('UUID of the data folder.'),
  phase: z
    .enum(['starting', 'ready', 'stopping', 'gone'])
    .describe('`gone` after ten seconds without a report; ten minutes later it is no longer listed.'),
  version: text,
  seen: time.describe('Last sign of life, rounded down to ten seconds.'),
});
export type NodeView = z.infer<typeof nodeView>;

export const transferView = transfer.extend({ node: text });
export type TransferView = z.infer<typeof transferView>;

const serviceView = service.extend({ node: text });
export type ServiceView = z.infer<typeof serviceView>;

const methodView = method.extend({ node: text });
export type MethodView = z.infer<typeof methodView>;

/** The reply to `GET /api/overview`: the state of all nodes at one moment. */
export const overview = z.object({
  server: z.object({ name: text, uuid: text, version: text, node: text, started: time }),
  services: z.array(serviceView),
  methods: z.array(methodView),
  inspections: z
    .array(methodView)
    .describe('State `failed`: the test at the start failed, or the last file could not be inspected. `reason` says why.'),
  handlers: z.array(handlerView),
  /** The oldest transfers come first. */
  transfers: z.array(transferView),
  transfers_left_out: count.describe('Number of transfers under way that are not listed. The 100 oldest are listed.'),
  /** The newest come first. Errors from before the start of the server are included only if they are recent. */
  errors: z
    .array(failure.extend({ node: text }))
    .describe('The last 20 kinds of failures: errors that differ only in names and numbers count as one.'),
  held_uploads: count.nullable().describe('Uploads that wait for a person; null while Redis, which stores them, cannot be reached.'),
  missing_files: count.describe('Number of due times since seven days ago whose files are missing or not as expected.'),
  journal: z.object({ bytes: ofDisk, free_bytes: ofDisk }),
  nodes: z.array(nodeView),
  incomplete,
});
export type Overview = z.infer<typeof overview>;

const levels = z.object({ sessions: count, connections: count, memory_bytes: count, waiting_events: count });
/** Values at the moment of a sample. Counts, in contrast, cover the time since the previous sample. */
export type Levels = z.infer<typeof levels>;

/** One point of each chart. It has counts since the previous sample, and current values. */
export const sample = z.object({ time, ...counts.shape, ...levels.shape });
export type Sample = z.infer<typeof sample>;

/** The reply to `GET /api/samples`. */
export const sampleList = z.object({ interval_seconds: count, samples: z.array(sample) });
export type SampleList = z.infer<typeof sampleList>;
