import type { ServiceEvent } from '../../events/event.ts';
import type { RecordedBody } from '../records/delivery-record-schema.ts';

/** An event to be sent, with its JSON as it stands in the journal. */
export interface OutgoingEvent {
  event: ServiceEvent;
  raw: Buffer;
}

/** What one request carries. */
export interface RenderedPayload {
  /** Undefined for requests without a body. */
  body: Buffer | undefined;
  contentType: string | undefined;
  /** Members added to the URL's query. */
  query: [string, string][];
  /** The body or query as it is kept and shown: without the secrets of `extra_data`. */
  recorded: RecordedBody;
}

/** Makes bodies of events: one of the formats of docs/spec/delivery.md. */
export interface Payload {
  /** Whether a request takes one event only (docs/spec/delivery.md#requests). */
  readonly isSingle: boolean;
  render(events: readonly OutgoingEvent[]): RenderedPayload;
}
