import type { FileUpload } from '../../files/operations/file-upload.ts';
import { ServiceError } from '../../lib/errors.ts';
import { freeBuffers } from '../../lib/gathered-bytes.ts';
import type { DigestVerifier } from '../../lib/headers/digest-fields.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { listenToBody } from '../request/request-body.ts';

/** Maximum number of bytes in memory for one body: the bytes that are being written, and the bytes received during this write. */
const heldBytes = 2 * 1024 * 1024;

/** Maximum number of bytes in memory for all bodies together. If there are many bodies, each one gets an equal share. */
const heldInAllBytes = 4 * heldBytes;

/** Maximum number of pieces in memory for one body. A client can send single bytes, and each piece needs some hundred bytes of memory. */
const heldPieces = 2048;

let streaming = 0;

/**
 * Writes a request body into an upload.
 *
 * @param limitBytes size of the largest body that the service accepts; 0 for no limit
 * @returns the length of the body, in bytes
 * @throws ServiceError `client-gone`, `too-large`, and the errors of `upload.write`
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
    checkRequestBytes(receivedBytes, limitBytes);
    verifier?.update(chunk);
  };
  const whole = bodyAtHand(exchange);
  if (whole) {
    take(whole);
    await upload.write([whole]);
  } else await streamBody(exchange, upload, take);
  return receivedBytes;
}

/** Returns the whole body if it arrived together with the headers, as small bodies do. */
function bodyAtHand({ incoming, body }: Exchange): Buffer | undefined {
  const { readableLength } = body;
  if (readableLength === 0 || readableLength !== Number(incoming.headers['content-length'])) return undefined;
  // Without the length argument, Node.js 26 returns only the first piece.
  const whole: Buffer | null = body.read(readableLength);
  // Reads the end of the stream, too.
  body.resume();
  return whole ?? undefined;
}

/**
 * Streams a request body into an upload. Each write takes all data that arrived during the previous write. If the client is faster than
 * the disk, the client has to wait.
 *
 * @param take called with each chunk; may throw to refuse it
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
        // The caller will close the file, so a running write must end first.
        if (!isWriting) reject(error);
      },
    });
  }).finally(() => {
    streaming--;
  });
}

/** Checks the size of a body. @param limitBytes the maximum that the service accepts; 0 for no limit @throws ServiceError `too-large` */
export function checkRequestBytes(sizeBytes: number, limitBytes: number): void {
  if (limitBytes > 0 && sizeBytes > limitBytes)
    throw new ServiceError('too-large', `A request must not be larger than ${limitBytes} bytes.`);
}

/** Checks that the content has the announced digest. @throws ServiceError `digest-mismatch` */
export function checkDigest(verifier: DigestVerifier | undefined): void {
  const mismatch = verifier?.mismatch();
  if (mismatch) throw new ServiceError('digest-mismatch', `The content does not have the digest that ${mismatch} announced.`);
}

/** Checks that the client sent as many bytes as it announced. @throws ServiceError `length-mismatch` */
export function checkReceivedLength(exchange: Exchange, receivedBytes: number): void {
  const announced = header(exchange, 'content-length');
  if (announced !== undefined && Number(announced) !== receivedBytes) {
    throw new ServiceError('length-mismatch', `Content-Length announced ${announced} bytes, but ${receivedBytes} arrived.`);
  }
}
