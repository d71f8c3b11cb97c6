import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { guarded } from '../../lib/guarded.ts';
import type { StreamRequest } from '../request/incoming.ts';
import { headerLimitBytes } from './garbage-reply.ts';
import { maxPending } from './pending-replies.ts';

const options = {
  settings: { maxConcurrentStreams: maxPending, maxHeaderListSize: headerLimitBytes },
  maxSessionInvalidFrames: 100,
};

/** Who answers the requests of a connection of HTTP/2. */
export interface StreamListener {
  /** A request whose client still waits for the reply. */
  onRequest(request: StreamRequest): void;
  /** Deals with a fault of what Node.js calls; must not throw. */
  onFault(error: unknown, victim: { destroy(): void }): void;
}

/**
 * Speaks HTTP/2 on a connection. The requests are streams of Node.js's core API: its imitation of HTTP/1's request and response costs a small
 * reply a third of its time (docs/design/costs.md).
 */
export function speakHttp2(socket: Socket, { onRequest, onFault }: StreamListener): ServerHttp2Session {
  const session = performServerHandshake(socket, options);
  const onStream = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _: number, rawHeaders: readonly string[]) => {
    endWithClient(stream, (error) => onFault(error, stream));
    const request: StreamRequest = {
      httpVersionMajor: 2,
      httpVersionMinor: 0,
      method: headers[':method'],
      url: headers[':path'],
      headers,
      rawHeaders,
      socket,
      stream,
    };
    const begin = () => {
      if (!stream.destroyed) onRequest(request);
    };
    // By the next turn a stream that was reset in the packet that brought it is gone, and costs nothing (CVE-2023-44487).
    setImmediate(guarded(begin, (error) => onFault(error, stream)));
  };
  session.on(
    'stream',
    guarded(onStream, (error, stream) => onFault(error, stream)),
  );
  return session;
}

/**
 * Node.js keeps a stream whose client gave it up without an error code for as long as the request is not read to its end, and tells nobody
 * who writes to it: what was opened for its reply would stay open.
 */
function endWithClient(stream: ServerHttp2Stream, onFault: (error: unknown) => void): void {
  stream.once(
    'aborted',
    guarded(() => stream.destroy(), onFault),
  );
  // What the client broke off is no fault of ours; whoever writes to the stream hears of it by its end.
  stream.on('error', () => {});
  if (stream.endAfterHeaders) stream.resume();
}
