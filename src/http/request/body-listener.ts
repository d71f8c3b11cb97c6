import { guarded } from '../../lib/guarded.ts';
import { clientGone, isClientGone } from '../reply/outgoing.ts';
import type { Exchange } from './exchange.ts';

/** Who reads a request body. Of `onEnd` and `onFault` one is called, once, and nothing after that. */
interface BodyListener {
  onData(chunk: Buffer): void;
  onEnd(): void;
  /** The client went away before the end (ServiceError `client-gone`), or one of the others threw. */
  onFault(error: unknown): void;
}

/**
 * Begins to read a request body. The client may be gone by then, as authenticating it takes time, and Node.js tells of that only
 * once: so it is asked first. Reads the Node request directly (no web stream between socket and file,
 * docs/design/costs.md).
 *
 * @returns stops reading: nobody is called any more
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
    // A late fault of a connection that nobody listens to any more must not end the process.
    body.on('error', () => {});
    body.pause();
  };
  const fail = (error: unknown) => {
    if (isOver) return;
    stop();
    listener.onFault(error);
  };
  const onData = guarded((chunk: Buffer) => listener.onData(chunk), fail);
  const onGone = exchange.guarded(() => fail(clientGone()));
  const onEnd = guarded(() => {
    // A stream that is reset without an error code ends like a whole one.
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
  // The end of an empty body of HTTP/2 is told when it comes, whoever listens.
  if (body.readableEnded) queueMicrotask(onEnd);
  exchange.sendContinue();
  return stop;
}
