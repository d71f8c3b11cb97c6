import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { FileUpload } from '../../files/operations/file-upload.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { DigestVerifier } from '../../lib/headers/digest-fields.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { listenToBody } from '../request/request-body.ts';

let nobody: MessagePort | undefined;

/** A port that gives to nobody what is sent by it. */
function portToNobody(): MessagePort {
  const { port1 } = new MessageChannel();
  port1.close();
  return port1;
}

/**
 * Frees the memory of buffers at once, and leaves them empty. V8 lets the memory of many megabytes of them gather before it collects them.
 * What is sent along with a message is given away, also by a port that is closed (HTML, "transferable objects"); the message is dropped there.
 *
 * @param buffers nobody needs any more; those that have their memory in common with others stay as they are
 */
export function freeBuffers(buffers: readonly Buffer[]): void {
  nobody ??= portToNobody();
  nobody.postMessage(
    undefined,
    buffers.filter(({ length, buffer }) => length === buffer.byteLength).map(({ buffer }) => buffer as ArrayBuffer),
  );
}

/** So much of a body is held at most: what is written with one call, and what gathers meanwhile for the next. */
const heldBytes = 2 * 1024 * 1024;

/** So much is held of all bodies together: where many come in at once, each has less. */
const heldInAllBytes = 4 * heldBytes;

/** A body is held in so many pieces at most: a client may send single bytes, each of which takes some hundred. */
const heldPieces = 2048;

/** Bodies that come in right now. */
let streaming = 0;

/**
 * Puts a request body into an upload.
 *
 * @param limitBytes largest body that the service takes, 0 = no limit
 * @returns its length
 * @throws ServiceError `client-gone`, `too-large`, and what `upload.write` throws
 */
export async function receiveBody(
  exchange: Exchange,
  upload: Pick<FileUpload, 'write'>,
  verifier: DigestVerifier | undefined,
  limitBytes: number,
): Promise<number> {
  let receivedBytes = 0;
  const take = (chunk: Buffer) => {
    receivedBytes += chunk.length;
    if (limitBytes > 0 && receivedBytes > limitBytes)
      throw new ServiceError('too-large', `A request must not be larger than ${limitBytes} bytes.`);
    verifier?.update(chunk);
  };
  const whole = bodyAtHand(exchange);
  if (whole) {
    take(whole);
    await upload.write([whole]);
  } else await streamBody(exchange, upload, take);
  return receivedBytes;
}

/** A body that came with its headers, as small ones do: nobody need listen for it. */
function bodyAtHand({ incoming, body }: Exchange): Buffer | undefined {
  const { readableLength } = body;
  if (readableLength === 0 || readableLength !== Number(incoming.headers['content-length'])) return undefined;
  // Without a length Node.js 26 gives the first piece alone.
  const whole: Buffer | null = body.read(readableLength);
  // Reads the end behind it.
  body.resume();
  return whole ?? undefined;
}

/**
 * Streams a request body into an upload: while one gathered write is on its way to the disk the next gathers, and
 * when the disk is slower than the client, the client waits.
 *
 * @param take told of each chunk; may throw what refuses it
 */
function streamBody(exchange: Exchange, upload: Pick<FileUpload, 'write'>, take: (chunk: Buffer) => void): Promise<void> {
  const { body } = exchange;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let writingBytes = 0;
  let isWriting = false;
  let hasEnded = false;
  let fault: { error: unknown } | undefined;
  const isFull = () => waiting.length >= heldPieces || waitingBytes + writingBytes >= Math.min(heldBytes, heldInAllBytes / streaming);
  streaming++;
  return new Promise<void>((resolve, reject) => {
    const flush = async () => {
      isWriting = true;
      try {
        while (waitingBytes > 0) {
          const chunks = waiting;
          waiting = [];
          writingBytes = waitingBytes;
          waitingBytes = 0;
          await upload.write(chunks);
          freeBuffers(chunks);
          writingBytes = 0;
          if (!fault && !hasEnded && body.isPaused() && !isFull()) body.resume();
        }
        isWriting = false;
        if (fault) reject(fault.error);
        else if (hasEnded) resolve();
      } catch (error) {
        stop();
        reject(error);
      }
    };
    const stop = listenToBody(exchange, {
      onData(chunk) {
        take(chunk);
        waiting.push(chunk);
        waitingBytes += chunk.length;
        if (isFull()) body.pause();
        if (!isWriting) void flush();
      },
      onEnd() {
        hasEnded = true;
        if (!isWriting) resolve();
      },
      onFault(error) {
        waitingBytes = 0;
        fault = { error };
        // Whoever hears of it closes the file, which a write that is under way must not find closed.
        if (!isWriting) reject(error);
      },
    });
  }).finally(() => {
    streaming--;
  });
}

/** @throws ServiceError `length-mismatch` when fewer bytes came than the client announced */
export function checkReceivedLength(exchange: Exchange, receivedBytes: number): void {
  const announced = header(exchange, 'content-length');
  if (announced !== undefined && Number(announced) !== receivedBytes) {
    throw new ServiceError('length-mismatch', `Content-Length announced ${announced} bytes, ${receivedBytes} came.`);
  }
}
