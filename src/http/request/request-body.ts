import { ServiceError } from '../../lib/errors.ts';
import { GatheredBytes } from '../../lib/gathered-bytes.ts';
import { JsonLimitError, parseJson } from '../../lib/json.ts';
import { isHttp2 } from '../reply/outgoing.ts';
import { listenToBody } from './body-listener.ts';
import { type Exchange, header } from './exchange.ts';

/** Largest body of a command, a login or a PROPFIND, in bytes (docs/spec/http.md#bad-input). */
export const smallBodyLimitBytes = 1024 * 1024;

/** A body in more pieces than this is refused… */
const maxPieces = 4096;

/** …when they are smaller than this on average: each costs the service as much as kilobytes do. */
const smallPieceBytes = 16;

/**
 * The announced length of the body.
 *
 * @returns undefined when the client did not say (chunked, or HTTP/2 without the header)
 * @throws ServiceError `bad-request` for a length that is no number
 */
export function announcedLength(exchange: Exchange): number | undefined {
  const text = header(exchange, 'content-length');
  if (text === undefined) return undefined;
  const length = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(length)) throw new ServiceError('bad-request', 'Content-Length is not a number.');
  return length;
}

/** Whether the request has a body at all, as its headers say. */
export function hasBody(exchange: Exchange): boolean {
  if (exchange.incoming.headers['transfer-encoding'] !== undefined) return true;
  const length = announcedLength(exchange);
  return length === undefined ? isHttp2(exchange.outgoing) && !exchange.outgoing.endAfterHeaders : length > 0;
}

/**
 * Reads a small body whole.
 *
 * @throws ServiceError `too-large` above `limitBytes`, `bad-request` for thousands of tiny pieces, `client-gone` when the client went away in the middle
 */
export async function readSmallBody(exchange: Exchange, limitBytes = smallBodyLimitBytes): Promise<Buffer> {
  const tooLarge = () => new ServiceError('too-large', `The request body must not be larger than ${limitBytes} bytes.`);
  if ((announcedLength(exchange) ?? 0) > limitBytes) throw tooLarge();
  const bytes = new GatheredBytes();
  let pieces = 0;
  return new Promise((resolve, reject) => {
    listenToBody(exchange, {
      onData(chunk) {
        if (bytes.sizeBytes + chunk.length > limitBytes) throw tooLarge();
        bytes.add(chunk);
        if (++pieces > maxPieces && bytes.sizeBytes < pieces * smallPieceBytes)
          throw new ServiceError('bad-request', 'The request body comes in too many small pieces.');
      },
      onEnd: () => resolve(bytes.whole()),
      onFault: reject,
    });
  });
}

/**
 * Reads a JSON body.
 *
 * @throws ServiceError `bad-request` when it is not UTF-8, not JSON, or nests too deep
 */
export async function readJsonBody(exchange: Exchange): Promise<unknown> {
  const bytes = await readSmallBody(exchange);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ServiceError('bad-request', 'The request body is not valid UTF-8.', { cause: error });
  }
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonLimitError) throw new ServiceError('bad-request', `The request body is not valid JSON: ${error.message}`);
    // What the parser says shows a part of the text, which may be a password, and logs have causes, too.
    throw new ServiceError('bad-request', 'The request body is not valid JSON.');
  }
}
