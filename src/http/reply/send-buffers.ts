import type { BodyWriter } from './body-writer.ts';

/** A reply body that is composed in place, in two pages: one is filled while the other is on its way to the socket. One caller at a time. */
export class PagedBody {
  readonly #writer: BodyWriter;
  #page: Buffer;
  #other: Buffer;
  #usedBytes = 0;
  #written: Promise<void> | undefined;
  /** Bytes that the kernel has accepted. */
  sentBytes = 0;

  /** @param pages free for others once the body has ended */
  constructor(writer: BodyWriter, pages: SendBuffers['pair']) {
    this.#writer = writer;
    [this.#page, this.#other] = pages;
  }

  /** The free end of the present page. @param leastBytes its minimum: a smaller page is replaced @throws ServiceError `client-gone` */
  async free(leastBytes: number): Promise<Buffer> {
    if (this.rest.length < leastBytes && this.#usedBytes > 0) await this.#turn();
    if (this.#page.length < leastBytes) this.#page = Buffer.allocUnsafeSlow(leastBytes);
    return this.#page.subarray(this.#usedBytes);
  }

  /** The free end of the present page, of any length. */
  get rest(): Buffer {
    return this.#page.subarray(this.#usedBytes);
  }

  /** Marks the first bytes of `free`, or of `rest`, as written. */
  use(bytes: number): void {
    this.#usedBytes += bytes;
  }

  /** Adds bytes of any length. @throws ServiceError `client-gone` */
  async add(bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const free = await this.free(1);
      const count = bytes.copy(free, 0, done);
      this.use(count);
      done += count;
    }
  }

  /** Sends what is left and ends the body. @throws ServiceError `client-gone` */
  async end(): Promise<void> {
    if (this.#usedBytes > 0) await this.#turn();
    await this.#written;
    await this.#writer.end();
  }

  // Sent a moment later, so that the next read starts first and other requests run between.
  async #turn(): Promise<void> {
    await this.#written;
    const bytes = this.#page.subarray(0, this.#usedBytes);
    this.#written = new Promise(setImmediate).then(async () => {
      await this.#writer.write(bytes);
      this.sentBytes += bytes.length;
    });
    // Awaited at the next turn; a failure before that must not count as unhandled.
    this.#written.catch(() => {});
    [this.#page, this.#other] = [this.#other, this.#page];
    this.#usedBytes = 0;
  }
}

/** Two buffers: one is filled while the other is on its way to the socket. */
export interface SendBuffers {
  readonly pair: readonly [Buffer, Buffer];
  /** Must be called once. @param isFree whether nothing uses them any more, so that another download may have them */
  release(isFree: boolean): void;
}

/** Fastest size for large bodies (docs/design/costs.md), with room for a member of an archive and its header. */
const largeBytes = 1024 * 1024 + 64 * 1024;

/** For one of very many downloads, or a stream of HTTP/2: its first window (RFC 9113 §6.9.2). */
const smallBytes = 64 * 1024;

/** Maximum number of downloads with large buffers: slow clients keep theirs for long. */
const maxLargePairs = 32;

const maxIdlePairs = 8;
const idlePairs: [Buffer, Buffer][] = [];
let largePairs = 0;

/**
 * Buffers for one download of a file or an archive: large ones for the first, small ones for others, so that a thousand slow clients take 200 MiB rather
 * than 2 GiB. @param isStream whether the download is one of many on a connection
 */
export function takeSendBuffers(isStream: boolean): SendBuffers {
  if (isStream || largePairs >= maxLargePairs) return { pair: newPair(smallBytes), release() {} };
  largePairs++;
  const pair = idlePairs.pop() ?? newPair(largeBytes);
  return {
    pair,
    release(isFree) {
      largePairs--;
      if (isFree && idlePairs.length < maxIdlePairs) idlePairs.push(pair);
    },
  };
}

function newPair(sizeBytes: number): [Buffer, Buffer] {
  return [Buffer.allocUnsafeSlow(sizeBytes), Buffer.allocUnsafeSlow(sizeBytes)];
}
