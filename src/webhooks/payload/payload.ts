import type { ServiceEvent } from '../../events/event.ts';
import type { RecordedBody } from '../records/delivery-record-schema.ts';

/** An event to send, with its JSON from the journal. */
export interface OutgoingEvent {
  event: ServiceEvent;
  raw: Buffer;
}

/** The content of one request. */
export interface RenderedPayload {
  /** Undefined for requests without a body. */
  body: Buffer | undefined;
  contentType: string | undefined;
  /** Members added to the URL's query. */
  query: [string, string][];
  /** The body or query as it is kept and shown: without the secrets of `extra_data`. */
  recorded: RecordedBody;
}

/** Renders events in one of the formats of docs/spec/delivery.md. */
export interface Payload {
  /** Whether a request takes one event only (docs/spec/delivery.md#requests). */
  readonly isSingle: boolean;
  render(events: readonly OutgoingEvent[]): RenderedPayload;
}
