import type { BodyWriter } from './body-writer.ts';

/**
 * A reply body that is put together in place, in two pages that take turns, so that neither many small pieces nor large ones cost a buffer each: one
 * is filled while the other is on its way to the socket. One caller at a time.
 */
export class PagedBody {
  readonly #writer: BodyWriter;
  #page: Buffer;
  #other: Buffer;
  #usedBytes = 0;
  #written: Promise<void> | undefined;
  /** Bytes that the kernel has taken. */
  sentBytes = 0;

  /** @param pages free for others once the body has ended */
  constructor(writer: BodyWriter, pages: SendBuffers['pair']) {
    this.#writer = writer;
    [this.#page, this.#other] = pages;
  }

  /**
   * The free end of the present page.
   *
   * @param leastBytes how much there must be: a page that is smaller gives way to a larger one
   * @throws ServiceError `client-gone`
   */
  async free(leastBytes: number): Promise<Buffer> {
    if (this.rest.length < leastBytes && this.#usedBytes > 0) await this.#turn();
    if (this.#page.length < leastBytes) this.#page = Buffer.allocUnsafeSlow(leastBytes);
    return this.#page.subarray(this.#usedBytes);
  }

  /** The free end of the present page, however short. */
  get rest(): Buffer {
    return this.#page.subarray(this.#usedBytes);
  }

  /** The first bytes of `free`, or of `rest`, were written to. */
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

  // Sent a moment later: what fills the next page begins to read first, and both go on at once. Others get their turn as well.
  async #turn(): Promise<void> {
    await this.#written;
    const bytes = this.#page.subarray(0, this.#usedBytes);
    this.#written = new Promise(setImmediate).then(async () => {
      await this.#writer.write(bytes);
      this.sentBytes += bytes.length;
    });
    // Awaited at the next turn; a failure until then must not count as unhandled.
    this.#written.catch(() => {});
    [this.#page, this.#other] = [this.#other, this.#page];
    this.#usedBytes = 0;
  }
}

/** Two buffers that take turns: one is read into while the other is on its way to the socket. */
export interface SendBuffers {
  readonly pair: readonly [Buffer, Buffer];
  /** Must be called once. @param isFree whether nothing uses them any more, so that another download can have them */
  release(isFree: boolean): void;
}

/** What large bodies are sent in, fastest (docs/design/costs.md); room for a member of an archive with its header. */
const largeBytes = 1024 * 1024 + 64 * 1024;

/** What is enough for one of very many, or for a stream of HTTP/2: as much as its window is at first (RFC 9113 §6.9.2). */
const smallBytes = 64 * 1024;

/** So many downloads at once have large buffers: a client that reads slowly keeps its own for as long as it likes. */
const maxLargePairs = 32;

const maxIdlePairs = 8;
const idlePairs: [Buffer, Buffer][] = [];
let largePairs = 0;

/**
 * Buffers for one download of a file or an archive. Large ones for the first of those at work, small ones for the others, so that a thousand
 * clients that read slowly take 200 MiB rather than 2 GiB.
 *
 * @param isStream whether the download is one of many on a connection
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
