import * as z from 'zod';
import type { ServiceEvent } from '../../events/event.ts';

/** An event to be sent, with its JSON as it stands in the journal. */
export interface OutgoingEvent {
  event: ServiceEvent;
  raw: Buffer;
}

/**
 * How a body is kept with the record of its delivery, so that the very same bytes can be sent again: as text, or as what
 * stands before and behind the journal's lines.
 */
export const recordedBody = z.union([
  z.strictObject({ text: z.string() }),
  z.strictObject({ before: z.string(), after: z.string() }),
  z.strictObject({ query: z.array(z.tuple([z.string(), z.string()])) }),
]);
export type RecordedBody = z.infer<typeof recordedBody>;

/** What one request carries. */
export interface RenderedPayload {
  /** Undefined for requests without a body. */
  body: Buffer | undefined;
  contentType: string | undefined;
  /** Members added to the URL's query. */
  query: [string, string][];
  recorded: RecordedBody;
}

/** Makes bodies of events: one of the formats of docs/spec/delivery.md. */
export interface Payload {
  /** Whether a request takes one event only (docs/spec/delivery.md#requests). */
  readonly isSingle: boolean;
  render(events: readonly OutgoingEvent[]): RenderedPayload;
}
