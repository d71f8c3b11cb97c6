import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Maximum number of separate pieces. Each piece needs about a hundred bytes of memory, even if the other side sends single bytes. */
const maxPieces = 1024;

/** Joins bytes that arrive in pieces. The memory needed hardly depends on the number of pieces. */
export class GatheredBytes {
  readonly #blocks: Buffer[] = [];
  #pieces: Buffer[] = [];
  #sizeBytes = 0;

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  add(piece: Buffer): void {
    this.#sizeBytes += piece.length;
    this.#pieces.push(piece);
    if (this.#pieces.length < maxPieces) return;
    this.#blocks.push(Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  /** Returns all bytes as one buffer. @param maxBytes further bytes are left out */
  whole(maxBytes = this.#sizeBytes): Buffer {
    const all = [...this.#blocks, ...this.#pieces];
    return all.length === 1 && maxBytes === this.#sizeBytes ? (all[0] as Buffer) : Buffer.concat(all, maxBytes);
  }
}

let closedPort: MessagePort | undefined;

/**
 * Frees the memory of buffers immediately, and leaves the buffers empty. Without this, V8 would let many megabytes of garbage pile up. The
 * memory is posted to a closed port, which drops the message but still detaches the memory (HTML, "transferable objects").
 *
 * @param buffers a buffer that shares its memory with others is not changed
 */
export function freeBuffers(buffers: readonly Buffer[]): void {
  if (!closedPort) {
    closedPort = new MessageChannel().port1;
    closedPort.close();
  }
  const whole = buffers.filter(({ length, buffer }) => length === buffer.byteLength);
  closedPort.postMessage(
    undefined,
    whole.map(({ buffer }) => buffer as ArrayBuffer),
  );
}
