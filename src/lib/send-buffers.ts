/** Sends pages of a reply body. Resolves when the kernel has them. */
interface PageWriter {
  write(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
}

/** Builds a reply body in two pages: one is filled while the other is sent. For one caller at a time. */
export class PagedBody {
  readonly #writer: PageWriter;
  #page: Buffer;
  #other: Buffer;
  #usedBytes = 0;
  #written: Promise<void> | undefined;
  /** Bytes that the kernel has accepted. */
  sentBytes = 0;

  /** @param pages not used elsewhere until the body has ended */
  constructor(writer: PageWriter, pages: SendBuffers['pair']) {
    this.#writer = writer;
    [this.#page, this.#other] = pages;
  }

  /**
   * Returns the free rest of a page.
   *
   * @param leastBytes if less is free, the page changes
   * @throws ServiceError `client-gone` if the client disconnected
   */
  async free(leastBytes: number): Promise<Buffer> {
    if (this.rest.length < leastBytes && this.#usedBytes > 0) await this.#turn();
    if (this.#page.length < leastBytes) this.#page = Buffer.allocUnsafeSlow(leastBytes);
    return this.#page.subarray(this.#usedBytes);
  }

  /** May be empty. */
  get rest(): Buffer {
    return this.#page.subarray(this.#usedBytes);
  }

  /** Records bytes that were written to `free` or `rest`. */
  use(bytes: number): void {
    this.#usedBytes += bytes;
  }

  /** @throws ServiceError `client-gone` if the client disconnected */
  async add(bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const free = await this.free(1);
      const count = bytes.copy(free, 0, done);
      this.use(count);
      done += count;
    }
  }

  /** Sends the rest and ends the body. @throws ServiceError `client-gone` if the client disconnected */
  async end(): Promise<void> {
    if (this.#usedBytes > 0) await this.#turn();
    await this.#written;
    await this.#writer.end();
  }

  // Sent a moment later, so that the next read starts first and other requests can run.
  async #turn(): Promise<void> {
    await this.#written;
    const bytes = this.#page.subarray(0, this.#usedBytes);
    this.#written = new Promise(setImmediate).then(async () => {
      await this.#writer.write(bytes);
      this.sentBytes += bytes.length;
    });
    // The next `#turn` or `end` awaits it; an earlier rejection is not unhandled.
    this.#written.catch(() => {});
    [this.#page, this.#other] = [this.#other, this.#page];
    this.#usedBytes = 0;
  }
}

/** Two buffers for one download. */
export interface SendBuffers {
  readonly pair: readonly [Buffer, Buffer];
  /** Must be called once. @param isFree whether another download may take them */
  release(isFree: boolean): void;
}

/** The fastest size for large bodies (docs/design/costs.md): 1 MiB and the header of an archive's member. */
const largeBytes = 1024 * 1024 + 64 * 1024;

/** For HTTP/2 streams, and beyond `maxLargePairs`: the initial window of a stream (RFC 9113 §6.9.2). */
const smallBytes = 64 * 1024;

/** Slow clients keep their buffers for a long time. */
const maxLargePairs = 32;

const maxIdlePairs = 8;
const idlePairs: [Buffer, Buffer][] = [];
let largePairs = 0;

/**
 * Takes buffers for one download. The first ones are large, so that a thousand slow clients need 200 MiB instead of 2 GiB.
 *
 * @param isStream whether it is an HTTP/2 stream, of which a connection can have many
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
