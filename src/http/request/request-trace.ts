import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestTrace } from '../../events/event.ts';
import { parseTraceparent } from '../../lib/headers/trace-context.ts';

/** The header in which a client or its proxy sends a request ID. Every reply has the header, too. */
export const requestIdHeader = 'x-request-id';

/** Matches request IDs that are safe in a log: they cannot break a line or fill the disk. */
const requestIdText = /^[\w.:+/=@-]{1,128}$/;

/** Data about a finished request, for metrics. */
export interface RequestFacts {
  method: string;
  style: RequestStyle;
  status: number;
  durationMs: number;
}

export type RequestObserver = (facts: RequestFacts, trace: RequestTrace) => void;

export type RequestStyle = 'rest' | 'webdav' | 'browser' | 'service';

/** Returns the request ID of the headers, or a new ID, and the `traceparent` if there is one. */
export function requestTrace(headers: IncomingHttpHeaders): RequestTrace {
  const given = headers[requestIdHeader];
  const id = typeof given === 'string' && requestIdText.test(given) ? given : randomUUID();
  const traceparent = parseTraceparent(headers.traceparent as string | undefined);
  return traceparent === undefined ? { id } : { id, traceparent };
}
