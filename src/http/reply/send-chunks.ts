import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { takesCoding } from '../../lib/headers/accept-header.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { BodyWriter } from './body-writer.ts';
import type { ReplyHeaders } from './reply.ts';
import { respond, stream } from './respond.ts';

/** Quick rather than small: a listing has to be there at once, and repeats itself so much that it shrinks to a tenth all the same. */
const level = 3;

/** Whether a reply to this client goes out as gzip. */
export function wantsGzip(exchange: Pick<Exchange, 'incoming'>): boolean {
  return takesCoding(header(exchange, 'accept-encoding'), 'gzip');
}

/**
 * The same for a reply that names what belongs to an account. BREACH learns a secret from the compressed length while it has the victim's
 * browser ask again and again with guesses in the URL. So what a page of another origin makes a browser ask for is not compressed.
 */
function wantsPrivateGzip(exchange: Exchange): boolean {
  const site = header(exchange, 'sec-fetch-site');
  return (site === undefined || site === 'same-origin' || site === 'none') && wantsGzip(exchange);
}

/** Headers of a reply that some clients get compressed and others not; `vary` is what it depends on besides. */
export function codingHeaders(isCompressed: boolean, vary?: ReplyHeaders[string]): ReplyHeaders {
  return {
    'content-encoding': isCompressed ? 'gzip' : undefined,
    vary: vary === undefined ? 'accept-encoding' : `${vary}, accept-encoding`,
  };
}

/** Compresses chunks as they come, the first at once; memory does not grow with their number. A fault of the chunks is a fault of the result. */
async function* gzipped(first: string, chunks: AsyncGenerator<string>): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level });
  gzip.write(first);
  gzip.flush(constants.Z_SYNC_FLUSH);
  // The fault reaches the reader through the iteration of `gzip`.
  yield* pipeline(Readable.from(chunks), gzip, () => {}) as AsyncIterable<Buffer>;
}

/** How a reply in chunks is sent. */
export interface ChunkedReply {
  /** Of the reply; 200 when left out. */
  status?: number;
  /**
   * Chunks that are made before the status is sent: a fault until then is still a proper error reply, one after that cuts the connection. When left
   * out 2, so that a body of one chunk has its length; 0 for a body that begins when nobody knows.
   */
  startsAfter?: 0 | 1 | 2;
}

/**
 * Sends a body of text chunks as they come, compressed where the client takes that. An empty chunk sends nothing: it shows whether the client is
 * still there.
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
