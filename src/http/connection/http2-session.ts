import { type IncomingHttpHeaders, performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { catching } from '../../lib/catching.ts';
import { maxPending } from '../../lib/pending-replies.ts';
import type { StreamRequest } from '../request/incoming.ts';
import { headerLimitBytes } from './refusals.ts';

const options = {
  settings: { maxConcurrentStreams: maxPending, maxHeaderListSize: headerLimitBytes },
  maxSessionInvalidFrames: 100,
};

export interface StreamListener {
  /** Called with each request whose client still waits for the reply. */
  onRequest(request: StreamRequest): void;
  /** Handles a fault in a listener that Node.js calls; must not throw. */
  onFault(error: unknown, victim: { destroy(): void }): void;
}

/**
 * Speaks HTTP/2 on a connection, with the core API of Node.js. Its compatibility API makes small replies a third slower
 * (docs/design/costs.md).
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
    // Wait one turn of the event loop. By then, a stream that its client reset in the same packet is gone and costs nothing
    // (CVE-2023-44487).
    setImmediate(catching(begin, (error) => onFault(error, stream)));
  };
  const listener = catching(onStream, (error, stream) => onFault(error, stream));
  session.on('stream', listener);
  return session;
}

/**
 * Ends a stream that its client reset without an error code. Node.js would keep it until the request is read, its writer would not notice,
 * and files would stay open.
 */
function endWithClient(stream: ServerHttp2Stream, onFault: (error: unknown) => void): void {
  const onAborted = catching(() => stream.destroy(), onFault);
  stream.once('aborted', onAborted);
  // There is nothing to do: a stream that the client cancelled is not an error, and its writer learns that it ended.
  stream.on('error', () => {});
  if (stream.endAfterHeaders) stream.resume();
}
