import type { IncomingMessage } from 'node:http';
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';

/** A request on an HTTP/2 stream. The stream is also the request's body. */
export interface StreamRequest {
  readonly httpVersionMajor: 2;
  readonly httpVersionMinor: 0;
  readonly method: string | undefined;
  readonly url: string | undefined;
  /** The headers, including the pseudo-header fields. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values of the headers, alternating. */
  readonly rawHeaders: readonly string[];
  readonly socket: Socket;
  readonly stream: ServerHttp2Stream;
}

/** A request as Node.js represents it, for HTTP/1 or HTTP/2. */
export type Incoming = IncomingMessage | StreamRequest;
