import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { takesCoding } from '../../lib/headers/accept-header.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { BodyWriter } from './body-writer.ts';
import type { ReplyHeaders } from './reply.ts';
import { respond, stream } from './respond.ts';

/** Level of compression. It favours speed, because listings are so repetitive that every level shrinks them to a tenth. */
const level = 3;

/** Whether a client accepts gzip. */
export function wantsGzip(exchange: Pick<Exchange, 'incoming'>): boolean {
  return takesCoding(header(exchange, 'accept-encoding'), 'gzip');
}

/**
 * Like `wantsGzip`, for a reply that contains the names of an account's files. In a BREACH attack another site puts guesses into the URL,
 * and learns a secret from the compressed length of the reply. So replies to requests from other origins are not compressed.
 */
function wantsPrivateGzip(exchange: Exchange): boolean {
  const site = header(exchange, 'sec-fetch-site');
  return (site === undefined || site === 'same-origin' || site === 'none') && wantsGzip(exchange);
}

/** Returns the headers about the compression of a reply. @param vary names of other request headers on which the reply depends */
export function codingHeaders(isCompressed: boolean, vary?: ReplyHeaders[string]): ReplyHeaders {
  return {
    'content-encoding': isCompressed ? 'gzip' : undefined,
    vary: vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`,
  };
}

/** Compresses chunks as they arrive, and does not delay the first chunk. If `chunks` throws, this generator throws the same error. */
async function* gzipped(first: string, chunks: AsyncGenerator<string>): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level });
  gzip.write(first);
  gzip.flush(constants.Z_SYNC_FLUSH);
  // An error of `chunks` reaches the caller through the iteration of `gzip`.
  yield* pipeline(Readable.from(chunks), gzip, () => {}) as AsyncIterable<Buffer>;
}

export interface ChunkedReply {
  /** Default 200. */
  status?: number;
  /**
   * Number of chunks to collect before the status is sent. An error before that becomes an error reply; a later error cuts the connection.
   * The default is 2, so that a body of one chunk gets a Content-Length. Use 0 if the first chunk can take long.
   */
  startsAfter?: 0 | 1 | 2;
}

/**
 * Sends text chunks as they arrive, compressed if the client accepts gzip. An empty chunk sends nothing, but checks whether the client is
 * still connected.
 */
export async function sendChunks(
  exchange: Exchange,
  headers: ReplyHeaders,
  chunks: AsyncGenerator<string>,
  { status = 200, startsAfter = 2 }: ChunkedReply = {},
): Promise<Response> {
  let beginning = '';
  for (let made = 0; made < startsAfter; made++) {
    const { done, value } = await chunks.next();
    if (done) return respond(exchange, { status, headers, body: beginning });
    beginning += value;
  }
  const isCompressed = wantsPrivateGzip(exchange);
  try {
    return await stream(exchange, status, { ...headers, ...codingHeaders(isCompressed, headers.vary) }, async () => {
      const writer = new BodyWriter(exchange);
      const rest = whileThere(writer, chunks);
      if (isCompressed) {
        for await (const chunk of gzipped(beginning, rest)) await writer.write(chunk);
      } else {
        await writer.write(Buffer.from(beginning));
        for await (const chunk of rest) await writer.write(Buffer.from(chunk));
      }
      await writer.end();
    });
  } finally {
    await chunks.return(undefined);
  }
}

async function* whileThere(writer: BodyWriter, chunks: AsyncGenerator<string>): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    writer.checkClient();
    if (chunk !== '') yield chunk;
  }
}
