import type { FileUpload } from '../files/file-upload.ts';
import type { DigestVerifier } from '../lib/digest-fields.ts';
import { ServiceError } from '../lib/errors.ts';
import { type Exchange, header } from './exchange.ts';

/** Chunks from the socket are gathered up to this size and written with one call. */
const gatherBytes = 1024 * 1024;

/**
 * Streams a request body into an upload: while one gathered write is on its way to the disk the next gathers, and
 * when the disk is slower than the client, the client waits. Reads the Node request directly (no web stream between
 * socket and file, performance.md).
 *
 * @param limitBytes largest body that the service takes, 0 = no limit
 * @throws ServiceError `client-gone`, `too-large`, and what `upload.write` throws
 */
export function receiveBody(
  exchange: Exchange,
  upload: FileUpload,
  verifier: DigestVerifier | undefined,
  limitBytes: number,
): Promise<number> {
  const { incoming } = exchange;
  let waiting: Buffer[] = [];
  let waitingBytes = 0;
  let receivedBytes = 0;
  let isWriting = false;
  let hasEnded = false;
  return new Promise((resolve, reject) => {
    const stop = (error: unknown) => {
      incoming.off('data', onData);
      incoming.off('end', onEnd);
      incoming.off('close', onGone);
      incoming.off('error', onGone);
      // A late fault of a connection that nobody listens to any more must not end the process.
      incoming.on('error', () => {});
      if (error === undefined) resolve(receivedBytes);
      else reject(error);
    };
    const flush = async () => {
      isWriting = true;
      try {
        while (waitingBytes > 0) {
          const chunks = waiting;
          waiting = [];
          waitingBytes = 0;
          if (incoming.isPaused()) incoming.resume();
          await upload.write(chunks);
        }
        isWriting = false;
        if (hasEnded) stop(undefined);
      } catch (error) {
        incoming.pause();
        stop(error);
      }
    };
    const onData = (chunk: Buffer) => {
      receivedBytes += chunk.length;
      if (limitBytes > 0 && receivedBytes > limitBytes) {
        incoming.pause();
        stop(new ServiceError('too-large', `A request must not be larger than ${limitBytes} bytes.`));
        return;
      }
      verifier?.update(chunk);
      waiting.push(chunk);
      waitingBytes += chunk.length;
      if (waitingBytes >= gatherBytes) incoming.pause();
      if (!isWriting) void flush();
    };
    const onEnd = () => {
      hasEnded = true;
      if (!isWriting) stop(undefined);
    };
    const onGone = () => {
      if (!hasEnded) stop(new ServiceError('client-gone', 'The client went away in the middle of the upload.'));
    };
    incoming.on('data', onData);
    incoming.once('end', onEnd);
    incoming.once('close', onGone);
    incoming.once('error', onGone);
    exchange.sendContinue?.();
  });
}

/** @throws ServiceError `length-mismatch` when fewer bytes came than the client announced */
export function checkReceivedLength(exchange: Exchange, receivedBytes: number): void {
  const announced = header(exchange, 'content-length');
  if (announced !== undefined && Number(announced) !== receivedBytes) {
    throw new ServiceError('length-mismatch', `Content-Length announced ${announced} bytes, ${receivedBytes} came.`);
  }
}
