/** Sends the pages of a reply body, which are buffers. Each promise resolves when the kernel has the bytes. */
interface PageWriter {
  write(bytes: Buffer): Promise<void>;
  end(): Promise<void>;
}

/** Builds a reply body in two pages. One page is filled while the other one is sent. Only one caller may use it at a time. */
export class PagedBody {
  readonly #writer: PageWriter;
  #page: Buffer;
  #other: Buffer;
  #usedBytes = 0;
  #written: Promise<void> | undefined;
  /** Number of bytes that the kernel has accepted so far. */
  sentBytes = 0;

  /** @param pages two buffers, which nothing else may use before the body has ended */
  constructor(writer: PageWriter, pages: SendBuffers['pair']) {
    this.#writer = writer;
    [this.#page, this.#other] = pages;
  }

  /**
   * Returns the free rest of the current page.
   *
   * @param leastBytes minimum length; if less is free, the other page becomes the current one
   * @throws ServiceError `client-gone` if the client disconnected
   */
  async free(leastBytes: number): Promise<Buffer> {
    if (this.rest.length < leastBytes && this.#usedBytes > 0) await this.#turn();
    if (this.#page.length < leastBytes) this.#page = Buffer.allocUnsafeSlow(leastBytes);
    return this.#page.subarray(this.#usedBytes);
  }

  /** The free rest of the current page. It may be empty. */
  get rest(): Buffer {
    return this.#page.subarray(this.#usedBytes);
  }

  /** Records how many bytes the caller has written to the buffer from `free` or `rest`. */
  use(bytes: number): void {
    this.#usedBytes += bytes;
  }

  /** Adds bytes of any length. @throws ServiceError `client-gone` if the client disconnected */
  async add(bytes: Buffer): Promise<void> {
    for (let done = 0; done < bytes.length; ) {
      const free = await this.free(1);
      const count = bytes.copy(free, 0, done);
      this.use(count);
      done += count;
    }
  }

  /** Sends the remaining bytes and ends the body. @throws ServiceError `client-gone` if the client disconnected */
  async end(): Promise<void> {
    if (this.#usedBytes > 0) await this.#turn();
    await this.#written;
    await this.#writer.end();
  }

  // The page is sent a moment later, so that the next read starts first and other requests can run in between.
  async #turn(): Promise<void> {
    await this.#written;
    const bytes = this.#page.subarray(0, this.#usedBytes);
    this.#written = new Promise(setImmediate).then(async () => {
      await this.#writer.write(bytes);
      this.sentBytes += bytes.length;
    });
    // The next call of `#turn` or `end` awaits this promise. If the promise rejects before that, the rejection must not count as unhandled.
    this.#written.catch(() => {});
    [this.#page, this.#other] = [this.#other, this.#page];
    this.#usedBytes = 0;
  }
}

/** Two buffers for one download. One is filled while the other one is sent. */
export interface SendBuffers {
  readonly pair: readonly [Buffer, Buffer];
  /** Gives the buffers back. Must be called once. @param isFree whether nothing uses them now, so that another download may take them */
  release(isFree: boolean): void;
}

/**
 * Size of the buffers with which large bodies are sent fastest (docs/design/costs.md). It has room for the header of an archive's member
 * and 1 MiB of the member's content.
 */
const largeBytes = 1024 * 1024 + 64 * 1024;

/**
 * Size of the buffers for HTTP/2 streams, and for downloads beyond `maxLargePairs`. It is the initial window of a stream (RFC 9113 §6.9.2).
 */
const smallBytes = 64 * 1024;

/** Maximum number of downloads with large buffers at a time. Slow clients keep their buffers for a long time. */
const maxLargePairs = 32;

const maxIdlePairs = 8;
const idlePairs: [Buffer, Buffer][] = [];
let largePairs = 0;

/**
 * Takes buffers for one download of a file or an archive. The first downloads get large buffers, and further ones small buffers, so that a
 * thousand slow clients need 200 MiB instead of 2 GiB.
 *
 * @param isStream whether the download is an HTTP/2 stream, because one connection can have many streams
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
