import { ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { ServiceError } from '../../lib/errors.ts';

/** Where a reply goes: the Node response of HTTP/1, or the stream of HTTP/2. */
export type Outgoing = ServerResponse | ServerHttp2Stream;

/** Whether a reply goes to a stream of HTTP/2. The class says so; the version in a request line is the client's claim. */
export function isHttp2(outgoing: Outgoing): outgoing is ServerHttp2Stream {
  return !(outgoing instanceof ServerResponse);
}

/** Whether the connection of a reply ended, or its stream was reset. */
export function isClientGone(outgoing: Outgoing): boolean {
  return outgoing.destroyed;
}

/** Whether Node.js ended the connection or stream with this fault, because of the client. */
export function endedClient(outgoing: Outgoing, fault: unknown): boolean {
  return isClientGone(outgoing) && fault instanceof Error && outgoing.errored === fault;
}

/** The status of a reply that has begun. */
export function sentStatus(outgoing: Outgoing): number {
  return isHttp2(outgoing) ? Number(outgoing.sentHeaders[':status']) : outgoing.statusCode;
}

/** The fault of a client that went away. */
export function clientGone(cause?: unknown): ServiceError {
  return new ServiceError('client-gone', 'The client went away.', { cause });
}

const requestIdKey = Symbol('request ID');

type NamedReply = Outgoing & { [requestIdKey]?: string };

/** Stores the ID of its request in a reply. */
export function nameReply(outgoing: Outgoing, requestId: string): void {
  (outgoing as NamedReply)[requestIdKey] = requestId;
}

/** The ID of the request of a reply, once it was read. */
export function requestIdOf(outgoing: Outgoing): string | undefined {
  return (outgoing as NamedReply)[requestIdKey];
}
