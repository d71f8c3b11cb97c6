import { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { catching } from '../../lib/catching.ts';
import { ServiceError } from '../../lib/errors.ts';
import { GatheredBytes } from '../../lib/gathered-bytes.ts';
import { isObject, JsonLimitError, parseJson } from '../../lib/json.ts';
import { clientGone, isClientGone, isHttp2 } from '../reply/outgoing.ts';
import { type Exchange, header } from './exchange.ts';
import { mediaTypeOfRequest } from './reply-format.ts';

/** Maximum size, in bytes, of a refused body that is read to its end so that the connection can be used again. */
const drainLimitBytes = 64 * 1024;

/** Maximum number of pieces that are read of a refused body. */
const maxDrainedPieces = 10_000;

/** Time in milliseconds for which a client may continue to send a refused body before the connection is closed. */
const lingerMs = 2000;

/**
 * Handles an unread request body before the reply. A small body is read and dropped. After a body that is or may be large, the connection
 * is closed. The client first gets time to read the reply, because an immediate close would lose the reply (RFC 9112 §9.6).
 */
export function endUnreadBody(exchange: Exchange): void {
  const { incoming, outgoing, service } = exchange;
  if (!(incoming instanceof IncomingMessage) || isHttp2(outgoing) || incoming.complete || !mayHaveBody(exchange)) return;
  incoming.on('error', () => {});
  incoming.resume();
  const announcedBytes = Number(incoming.headers['content-length'] ?? Number.NaN);
  if (announcedBytes <= drainLimitBytes && incoming.headers.expect === undefined) return;
  outgoing.setHeader('connection', 'close');
  let pieces = 0;
  const onPiece = () => {
    if (++pieces === maxDrainedPieces) incoming.pause();
  };
  incoming.on('data', exchange.catching(onPiece));
  const socket: Socket = incoming.socket;
  // Do not let Node.js destroy the socket: the reply can still be unread in the client's receive buffer.
  socket.destroySoon = () => socket.end();
  const cut = exchange.catching(() => socket.destroy());
  service.clock.after(lingerMs, cut);
}

function mayHaveBody(exchange: Exchange): boolean {
  try {
    return hasBody(exchange);
  } catch {
    return true;
  }
}

/** Receives a request body. The last call is `onEnd`, or `onFault` (which follows `onEnd` only if `onEnd` throws). */
interface BodyListener {
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** Called if the client disconnected (ServiceError `client-gone`), or if `onData` or `onEnd` threw. */
  onFault(error: unknown): void;
}

/**
 * Starts to read a request body directly from the Node.js request (docs/design/costs.md). Also reports a client that disconnected during
 * authentication, because Node.js does not report that again.
 *
 * @returns a function that stops reading and removes the listeners
 */
export function listenToBody(exchange: Exchange, listener: BodyListener): () => void {
  const { body, outgoing } = exchange;
  let isOver = false;
  const stop = () => {
    if (isOver) return;
    isOver = true;
    body.off('data', onData);
    body.off('end', onEnd);
    body.off('close', onGone);
    body.off('error', onGone);
    // An error event without a listener would end the process.
    body.on('error', () => {});
    body.pause();
  };
  const fail = (error: unknown) => {
    if (isOver) return;
    stop();
    listener.onFault(error);
  };
  const onData = catching((chunk: Buffer) => listener.onData(chunk), fail);
  const onGone = exchange.catching(() => fail(clientGone()));
  const onEnd = catching(() => {
    // If the client resets a stream without an error code, the stream emits `end`, as if it were complete.
    if (body.aborted) return fail(clientGone());
    stop();
    listener.onEnd();
  }, listener.onFault);
  if (isClientGone(outgoing)) {
    fail(clientGone());
    return stop;
  }
  body.on('data', onData);
  body.once('end', onEnd);
  body.once('close', onGone);
  body.once('error', onGone);
  // Node.js may have emitted the end of an empty HTTP/2 body already.
  if (body.readableEnded) queueMicrotask(onEnd);
  exchange.sendContinue();
  return stop;
}

/** Largest body of a command, a login or a PROPFIND, in bytes (docs/spec/http.md#bad-input). */
export const smallBodyLimitBytes = 1024 * 1024;

/** Maximum number of pieces of a body whose pieces have less than `smallPieceBytes` on average. */
const maxPieces = 4096;

/** Minimum average size of pieces in bytes. Handling one piece takes as long as handling kilobytes of content. */
const smallPieceBytes = 16;

/**
 * Returns the announced length of the body in bytes; undefined for a chunked body.
 *
 * @throws ServiceError `bad-request` if the announced length is not a number
 */
export function announcedLength(exchange: Exchange): number | undefined {
  const text = header(exchange, 'content-length');
  if (text === undefined) return undefined;
  const length = Number(text);
  if (!/^\d+$/.test(text) || !Number.isSafeInteger(length)) throw new ServiceError('bad-request', 'Content-Length is not a number.');
  return length;
}

/** Whether the headers announce a body. */
export function hasBody(exchange: Exchange): boolean {
  if (exchange.incoming.headers['transfer-encoding'] !== undefined) return true;
  const length = announcedLength(exchange);
  return length === undefined ? isHttp2(exchange.outgoing) && !exchange.outgoing.endAfterHeaders : length > 0;
}

/** Reads a small body. @throws ServiceError `too-large` above `limitBytes`, `bad-request` for thousands of tiny pieces, `client-gone` */
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

/** Reads a URL-encoded form with a few fields. @param limitBytes the default is enough for two percent-encoded fields of 150 characters */
export async function readSmallForm(exchange: Exchange, limitBytes = 16 * 1024): Promise<URLSearchParams> {
  return new URLSearchParams((await readSmallBody(exchange, limitBytes)).toString('utf8'));
}

/** Reads a JSON body. @throws ServiceError `bad-request` if it is not UTF-8, is not JSON, or nests too deeply */
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
    // Do not include the parser's message or the cause: they would show a part of the text, such as a password.
    throw new ServiceError('bad-request', 'The request body is not valid JSON.');
  }
}

/**
 * Reads a JSON object.
 * @param typeMessage message of the error for another content type
 * @throws ServiceError `media-type-unsupported`, and the errors of `readJsonBody`
 */
export async function readJsonObject(exchange: Exchange, typeMessage: string): Promise<Record<string, unknown>> {
  if (mediaTypeOfRequest(exchange) !== 'application/json') throw new ServiceError('media-type-unsupported', typeMessage);
  const body = await readJsonBody(exchange);
  if (!isObject(body)) throw new ServiceError('bad-request', 'The body must be an object.');
  return body;
}
