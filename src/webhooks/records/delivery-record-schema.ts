import * as z from 'zod';

/**
 * The body or query of a request in its record, from which the same bytes can be sent again. A body is kept as a text. A JSON body is kept
 * as the texts before and after the events, because the events are in the journal.
 */
const recordedBody = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ before: z.string(), after: z.string() }),
  z.strictObject({ query: z.array(z.tuple([z.string(), z.string()])) }),
]);
export type RecordedBody = z.infer<typeof recordedBody>;

/**
 * The outcome of a delivery. It is `failed` after all retries and URLs failed, and `discarded` if the receiver was busy or a file can never
 * be sent.
 */
export const deliveryOutcome = z.enum(['delivered', 'failed', 'discarded']);
export type DeliveryOutcome = z.infer<typeof deliveryOutcome>;

/** An event that was sent, with its position in the journal. */
export const sentEvent = z.strictObject({ id: z.string(), uuid: z.string(), position: z.string().exactOptional() });

/** The code of a reason for a failure, and the part of the reason that differs, such as the number of seconds of a timeout. */
export const fault = z.strictObject({
  code: z.enum([
    'refused',
    'dns',
    'tls',
    'timeout',
    'reset',
    'invalid-http',
    'too-large',
    'unreachable',
    'status',
    'some-suspended',
    'file-too-large',
    'disabled',
    'unexpected',
    'suspended',
    'file-gone',
    'file-changed',
  ]),
  value: z.string().describe('Empty if the code says all.'),
});
export type DeliveryFault = z.infer<typeof fault>;

export const attempt = z.strictObject({
  url: z.string().describe('Without its query, which may hold secrets.'),
  /** ISO 8601, UTC. */
  time: z.string(),
  duration_ms: z.number(),
  status: z.int().exactOptional(),
  reason: z.string().exactOptional(),
  /** The reason why the attempt failed; missing if it succeeded. */
  error: z.string().exactOptional(),
  fault: fault.exactOptional().describe('The same reason as a code; missing if there is no code for it.'),
});
export type Attempt = z.infer<typeof attempt>;

/** The last reply to a delivery that failed or was discarded (docs/spec/delivery.md#records). */
export const recordedReply = z.strictObject({
  status: z.int(),
  reason: z.string(),
  headers: z.array(z.tuple([z.string(), z.string()])),
  body: z.string().describe('The first 64 KiB, as text.'),
  is_truncated: z.boolean(),
});
export type RecordedReply = z.infer<typeof recordedReply>;

/** The file that a handler of type `forward` sent. */
export const recordedFile = z.strictObject({
  path: z.string().describe('Path in the account.'),
  size: z.number().describe('Bytes.'),
  digest: z.string().describe('SHA-256, in hexadecimal.'),
  after: z.string().exactOptional().describe('The reason why the file was not moved or deleted after it was sent.'),
});
export type RecordedFile = z.infer<typeof recordedFile>;

/** A line of the record of deliveries. It has the events of one request, and all attempts to send it. */
export const deliveryRecord = z.strictObject({
  /** Time at which the outcome was certain (ISO 8601, UTC). */
  time: z.string(),
  handler: z.string(),
  outcome: deliveryOutcome,
  events: z.array(sentEvent),
  attempts: z.array(attempt),
  /** The reason why the events were not delivered, for people. */
  details: z.string().exactOptional(),
  fault: fault.exactOptional().describe('The same reason as a code; missing if there is no code for it.'),
  method: z.string(),
  content_type: z.string().exactOptional(),
  body: recordedBody.exactOptional(),
  reply: recordedReply.exactOptional(),
  file: recordedFile.exactOptional(),
  /**
   * `upload` if an upload waited for the delivery, `replay` if the events were sent again by hand, `test` for a test; missing for a
   * delivery in the background.
   */
  source: z.enum(['upload', 'replay', 'test']).exactOptional(),
  resume: z
    .string()
    .describe('Position of the handler in the journal after this delivery; only for deliveries in the background.')
    .exactOptional(),
});
export type DeliveryRecord = z.infer<typeof deliveryRecord>;

/** A request as it would be sent, with masked secrets, to be shown to people. */
export const shownRequest = z.strictObject({
  handler: z.string(),
  method: z.string(),
  url: z.string().describe('Without the query of the configured URL, which may hold secrets.'),
  headers: z.record(z.string(), z.string()).describe('Names in lower case; values that may be secrets are ***.'),
  body: z.string(),
});
export type ShownRequest = z.infer<typeof shownRequest>;

/** The differences between a recorded request and the request that the current configuration would make. */
export const requestDifference = z.strictObject({
  handler: z.string(),
  events: z.array(sentEvent),
  differences: z.array(z.string()).describe('Lines that begin with `-` (before) or `+` (after).'),
});
export type RequestDifference = z.infer<typeof requestDifference>;

const events = z.array(z.strictObject({ id: z.string(), uuid: z.string() }));

const dryResult = z.strictObject({
  handler: z.string(),
  events,
  request: shownRequest.extend({ is_truncated: z.boolean() }),
  delivery: z
    .string()
    .nullable()
    .describe(
      'ID of the newest delivery to this handler with the same first event; null if there is none, or if its request is no longer known.',
    ),
  was_sent: z
    .boolean()
    .describe('Whether a request of a delivery to this handler with the same first event was sent; `delivery` is then such a delivery.'),
  differences: z
    .array(z.string())
    .nullable()
    .describe('Lines that begin with `-` (recorded) or `+` (now); null without a recorded delivery.'),
});
export type DryResult = z.infer<typeof dryResult>;

const sentResult = z.strictObject({
  handler: z.string(),
  outcome: deliveryOutcome,
  events,
  status: z.int().optional(),
  details: z.string().optional(),
  fault: fault.optional(),
  attempts: z.array(attempt),
});

/** A line of the results of a replay. It describes a request, or an item that could not be sent. */
const replayResult = z.union([sentResult, dryResult, z.strictObject({ skipped: z.string(), reason: z.string() })]);
export type ReplayResult = z.infer<typeof replayResult>;
