/** Largest accepted packet without its length: that of OpenSSH (256 KiB), and some room for the head. */
export const maxPacketBytes = 257 * 1024;

/** The framing of the stream is broken: nothing after this point can be read. */
export class BrokenFraming extends Error {}

/** A packet in more pieces than this is joined: a client may send single bytes. */
const maxChunks = 64;

/** A packet without its length (the type, then the fields), in the pieces in which it arrived. */
export type Packet = readonly [Buffer, ...Buffer[]];

/** Splits the stream of a channel into packets (§3) without a copy: pushed bytes must not change while a packet of them is in use. */
export class PacketSplitter {
  #chunks: Buffer[] = [];
  /** Used bytes of the first chunk. */
  #start = 0;
  #heldBytes = 0;

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    this.#chunks.push(chunk);
    this.#heldBytes += chunk.length;
    if (this.#chunks.length > maxChunks && this.#heldBytes < maxPacketBytes) this.#join();
  }

  /** Number of bytes that `next` has not returned yet. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** @returns the next packet, undefined until all of it is there @throws BrokenFraming for a length of 0 or above `maxPacketBytes` */
  next(): Packet | undefined {
    const lengthBytes = this.#peekLength();
    if (lengthBytes === undefined) return undefined;
    if (lengthBytes === 0) throw new BrokenFraming('a packet has no content');
    if (lengthBytes > maxPacketBytes) throw new BrokenFraming(`a packet of ${lengthBytes} bytes is too long`);
    if (this.#heldBytes < 4 + lengthBytes) return undefined;
    this.#take(4);
    return this.#take(lengthBytes) as unknown as Packet;
  }

  #peekLength(): number | undefined {
    if (this.#heldBytes < 4) return undefined;
    const first = this.#chunks[0] as Buffer;
    if (first.length - this.#start >= 4) return first.readUInt32BE(this.#start);
    this.#join();
    return (this.#chunks[0] as Buffer).readUInt32BE(0);
  }

  #join(): void {
    this.#chunks = [Buffer.concat(this.#chunks).subarray(this.#start)];
    this.#start = 0;
  }

  #take(bytes: number): Buffer[] {
    const pieces: Buffer[] = [];
    let used = 0;
    for (let left = bytes; left > 0; ) {
      const chunk = this.#chunks[used] as Buffer;
      const end = Math.min(chunk.length, this.#start + left);
      pieces.push(this.#start === 0 && end === chunk.length ? chunk : chunk.subarray(this.#start, end));
      left -= end - this.#start;
      if (end < chunk.length) {
        this.#start = end;
      } else {
        this.#start = 0;
        used++;
      }
    }
    if (used > 0) this.#chunks.splice(0, used);
    this.#heldBytes -= bytes;
    return pieces;
  }
}
