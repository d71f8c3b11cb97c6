import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { RequestTrace } from '../../events/event.ts';
import { parseTraceparent } from '../../lib/headers/trace-context.ts';

/** Header by which a client or its proxy names a request, and which every reply carries. */
export const requestIdHeader = 'x-request-id';

/** Valid request IDs cannot break a log line or fill a disk. */
const requestIdText = /^[\w.:+/=@-]{1,128}$/;

/** Facts of a request for metrics. */
export interface RequestFacts {
  method: string;
  style: RequestStyle;
  status: number;
  durationMs: number;
}

export type RequestObserver = (facts: RequestFacts, trace: RequestTrace) => void;

export type RequestStyle = 'rest' | 'webdav' | 'browser' | 'service';

/** The identity of a request, from its headers or new. */
export function requestTrace(headers: IncomingHttpHeaders): RequestTrace {
  const given = headers[requestIdHeader];
  const id = typeof given === 'string' && requestIdText.test(given) ? given : randomUUID();
  const traceparent = parseTraceparent(headers.traceparent as string | undefined);
  return traceparent === undefined ? { id } : { id, traceparent };
}
