import { pipeline, Readable } from 'node:stream';
import { constants, createGzip } from 'node:zlib';
import { takesCoding } from '../../lib/headers/accept-header.ts';
import { type Exchange, header } from '../request/exchange.ts';
import type { ReplyHeaders } from './reply.ts';

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
export function wantsPrivateGzip(exchange: Exchange): boolean {
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
export async function* gzipped(first: string, chunks: AsyncGenerator<string>): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level });
  gzip.write(first);
  gzip.flush(constants.Z_SYNC_FLUSH);
  // The fault reaches the reader through the iteration of `gzip`.
  yield* pipeline(Readable.from(chunks), gzip, () => {}) as AsyncIterable<Buffer>;
}
