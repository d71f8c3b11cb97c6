/** So much is read at once: more would only let the first of a group wait. */
const mostBytesAtOnce = 256 * 1024;

/** Fills the targets, one after the other, from a place of a file. @returns bytes read; fewer than they have room for, at its end at the latest */
export type ReadInto = (targets: readonly Buffer[], position: number) => Promise<number>;

interface Read {
  offset: number;
  target: Buffer;
  resolve: (bytes: number) => void;
  reject: (error: unknown) => void;
}

/**
 * Reads of a file that come in one turn of the event loop and go on where the one before ends are done as one: some clients ask for a large
 * file in pieces of 32 KiB, and the way through the thread pool takes longer than reading such a piece.
 */
export class ReadGroup {
  readonly #readInto: ReadInto;
  #reads: Read[] = [];

  constructor(readInto: ReadInto) {
    this.#readInto = readInto;
  }

  /** @returns bytes read into the target; fewer than it has room for, at the end of the file at the latest, 0 there alone */
  read(offset: number, target: Buffer): Promise<number> {
    return new Promise((resolve, reject) => {
      if (this.#reads.length === 0) process.nextTick(() => this.#begin());
      this.#reads.push({ offset, target, resolve, reject });
    });
  }

  #begin(): void {
    const reads = this.#reads;
    this.#reads = [];
    while (reads.length > 0) void this.#readTogether(reads.splice(0, groupLength(reads)));
  }

  async #readTogether(reads: readonly Read[]): Promise<void> {
    try {
      const [{ offset }] = reads as [Read];
      let left = await this.#readInto(
        reads.map(({ target }) => target),
        offset,
      );
      for (const read of reads) {
        const bytes = Math.min(left, read.target.length);
        left -= bytes;
        // A file system may give less than there is: whether this is the end, its own read tells.
        if (bytes === 0 && read !== reads[0]) void this.#readTogether([read]);
        else read.resolve(bytes);
      }
    } catch (error) {
      for (const { reject } of reads) reject(error);
    }
  }
}

/** How many of the first reads go on where the one before ends, and are not too much at once. */
function groupLength(reads: readonly Read[]): number {
  let end = (reads[0] as Read).offset;
  let length = 0;
  for (const { offset, target } of reads) {
    if (length > 0 && (offset !== end || end + target.length - (reads[0] as Read).offset > mostBytesAtOnce)) break;
    end = offset + target.length;
    length++;
  }
  return length;
}
