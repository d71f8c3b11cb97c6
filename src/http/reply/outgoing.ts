import { ServerResponse } from 'node:http';
import type { ServerHttp2Stream } from 'node:http2';
import { ServiceError } from '../../lib/errors.ts';

/** Where a reply goes: the Node response of HTTP/1, or the stream of HTTP/2. */
export type Outgoing = ServerResponse | ServerHttp2Stream;

/** Whether a reply goes out on a stream of HTTP/2. Its class says so: the version in a request line is whatever the client wrote. */
export function isHttp2(outgoing: Outgoing): outgoing is ServerHttp2Stream {
  return !(outgoing instanceof ServerResponse);
}

/** Whether nobody waits for a reply any more: its connection ended, or its stream was reset. */
export function isClientGone(outgoing: Outgoing): boolean {
  return outgoing.destroyed;
}

/** Whether a fault is the one with which Node.js ended the client's connection or stream, for what the client sent. */
export function endedClient(outgoing: Outgoing, fault: unknown): boolean {
  return isClientGone(outgoing) && fault instanceof Error && outgoing.errored === fault;
}

/** The status of a reply that has begun. */
export function sentStatus(outgoing: Outgoing): number {
  return isHttp2(outgoing) ? Number(outgoing.sentHeaders[':status']) : outgoing.statusCode;
}

/** What is thrown when the client is found gone. */
export function clientGone(cause?: unknown): ServiceError {
  return new ServiceError('client-gone', 'The client went away.', { cause });
}

const requestIdKey = Symbol('request ID');

type NamedReply = Outgoing & { [requestIdKey]?: string };

/** Has the reply carry the ID of its request. */
export function nameReply(outgoing: Outgoing, requestId: string): void {
  (outgoing as NamedReply)[requestIdKey] = requestId;
}

/** The ID of the request that a reply is for, once that has been read. */
export function requestIdOf(outgoing: Outgoing): string | undefined {
  return (outgoing as NamedReply)[requestIdKey];
}
