import type { BodyWriter } from './body-writer.ts';

/** Two of these take turns: one is filled while the other is on its way to the socket. Room for a member of an archive, its header included. */
export const pageBytes = 1024 * 1024 + 64 * 1024;

const idlePages: Buffer[] = [];
const mostIdlePages = 8;

/**
 * A reply body that is put together in place, in two pages that are used again and again, so that neither many small pieces
 * nor large ones cost a buffer each. One caller at a time.
 */
export class PagedBody {
  readonly #writer: BodyWriter;
  #page = idlePages.pop() ?? Buffer.allocUnsafeSlow(pageBytes);
  #other = idlePages.pop() ?? Buffer.allocUnsafeSlow(pageBytes);
  #usedBytes = 0;
  #written: Promise<void> | undefined;
  /** Bytes that the kernel has taken. */
  sentBytes = 0;

  constructor(writer: BodyWriter) {
    this.#writer = writer;
  }

  /**
   * The free end of the present page.
   *
   * @param leastBytes how much there must be, at most `pageBytes`
   * @throws ServiceError `client-gone`
   */
  async free(leastBytes: number): Promise<Buffer> {
    if (pageBytes - this.#usedBytes < leastBytes) await this.#turn();
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
    if (idlePages.length < mostIdlePages) idlePages.push(this.#page, this.#other);
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
