import { MessageChannel, type MessagePort } from 'node:worker_threads';

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
