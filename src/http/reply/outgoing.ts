import { ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { ServiceError } from '../../lib/errors.ts';

export type Outgoing = ServerResponse | ServerHttp2Stream;

/** Whether a reply goes to an HTTP/2 stream. Checks the class, because the version in the request line is only the client's claim. */
export function isHttp2(outgoing: Outgoing): outgoing is ServerHttp2Stream {
  return !(outgoing instanceof ServerResponse);
}

/** Whether the connection of a reply ended, or its stream was reset. */
export function isClientGone(outgoing: Outgoing): boolean {
  return outgoing.destroyed;
}

/** Whether Node.js ended the connection or stream with this fault, because of something the client did. */
export function endedClient(outgoing: Outgoing, fault: unknown): boolean {
  return isClientGone(outgoing) && fault instanceof Error && outgoing.errored === fault;
}

/** The status of a reply that has begun. */
export function sentStatus(outgoing: Outgoing): number {
  return isHttp2(outgoing) ? Number(outgoing.sentHeaders[':status']) : outgoing.statusCode;
}

/** Returns the fault for a client that disconnected. */
export function clientGone(cause?: unknown): ServiceError {
  return new ServiceError('client-gone', 'The client went away.', { cause });
}

const requestIdKey = Symbol('request ID');

type NamedReply = Outgoing & { [requestIdKey]?: string };

/** Stores the ID of a request as a property of the reply. */
export function nameReply(outgoing: Outgoing, requestId: string): void {
  (outgoing as NamedReply)[requestIdKey] = requestId;
}

/** Returns the request ID that `nameReply` stored; undefined if the request has not been read yet. */
export function findRequestId(outgoing: Outgoing): string | undefined {
  return (outgoing as NamedReply)[requestIdKey];
}
