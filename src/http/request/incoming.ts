import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

/** A request on a stream of HTTP/2, which is also its body. */
export interface StreamRequest {
  readonly httpVersionMajor: 2;
  readonly httpVersionMinor: 0;
  readonly method: string | undefined;
  readonly url: string | undefined;
  /** With the pseudo-header fields. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** Of the connection. */
  readonly socket: Socket;
  readonly stream: ServerHttp2Stream;
}

/** A request as Node.js has it. */
export type Incoming = IncomingMessage | StreamRequest;
