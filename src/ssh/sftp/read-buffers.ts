/** Of each of these sizes some buffers are kept; what is larger than all or much smaller is made anew. */
const sizesBytes = [64 * 1024, 257 * 1024];
const leastBytes = 8 * 1024;

/** What is kept for all sessions together. */
const maxKeptBytes = 8 * 1024 * 1024;

const kept = new Map<number, Buffer[]>(sizesBytes.map((bytes) => [bytes, []]));
let keptBytes = 0;

/** Takes a buffer of at least so many bytes, with any content. */
export function takeBuffer(bytes: number): Buffer {
  const size = bytes < leastBytes ? undefined : sizesBytes.find((one) => bytes <= one);
  if (size === undefined) return Buffer.allocUnsafe(bytes);
  const buffer = kept.get(size)?.pop();
  if (!buffer) return Buffer.allocUnsafeSlow(size);
  keptBytes -= size;
  return buffer;
}

/** Gives back what `takeBuffer` gave, once: its content was sent, and nobody looks at it any more. */
export function giveBuffer(buffer: Buffer): void {
  const others = kept.get(buffer.length);
  if (!others || keptBytes + buffer.length > maxKeptBytes) return;
  others.push(buffer);
  keptBytes += buffer.length;
}
