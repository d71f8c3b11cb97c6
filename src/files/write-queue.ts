const maxBytesAtOnce = 4 * 1024 * 1024;
const maxChunksAtOnce = 512;

interface Write {
  offset: number;
  chunks: readonly Buffer[];
  bytes: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Writes chunks at a position. */
type WriteAt = (chunks: readonly Buffer[], offset: number, bytes: number) => Promise<void>;

/** Runs actions one after the other, in their order; adjacent writes are joined. */
export class WriteQueue {
  readonly #writeAt: WriteAt;
  /** Writes that further ones may join. */
  #writes: Write[] | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(writeAt: WriteAt) {
    this.#writeAt = writeAt;
  }

  /** Resolves once the chunks, of `bytes` bytes together, are written. */
  write(chunks: readonly Buffer[], offset: number, bytes: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#openWrites().push({ offset, chunks, bytes, resolve, reject });
    });
  }

  /** Runs an action after all earlier calls, and before all later ones. */
  run<T>(action: () => Promise<T>): Promise<T> {
    this.#writes = undefined;
    return this.#inOrder(action);
  }

  #openWrites(): Write[] {
    if (this.#writes) return this.#writes;
    const writes: Write[] = [];
    this.#writes = writes;
    // Never rejects: each write gets its own failure.
    void this.#inOrder(() => this.#writeAll(writes));
    return writes;
  }

  #inOrder<T>(action: () => Promise<T>): Promise<T> {
    const result = this.#last.then(action);
    this.#last = result.catch(() => {});
    return result;
  }

  async #writeAll(writes: Write[]): Promise<void> {
    while (writes.length > 0) {
      const batch = writes.splice(0, batchLength(writes));
      const [first] = batch as [Write];
      try {
        const isAlone = batch.length === 1;
        const bytes = isAlone ? first.bytes : batch.reduce((sum, write) => sum + write.bytes, 0);
        const chunks = isAlone ? first.chunks : batch.flatMap((write) => write.chunks);
        await this.#writeAt(chunks, first.offset, bytes);
        for (const write of batch) write.resolve();
      } catch (error) {
        for (const write of batch) write.reject(error);
      }
    }
    if (this.#writes === writes) this.#writes = undefined;
  }
}

/** How many of the first writes are adjacent, and not too much for one system call. */
function batchLength(writes: readonly Write[]): number {
  const [first] = writes as [Write];
  if (writes.length === 1) return 1;
  let { bytes } = first;
  let chunks = first.chunks.length;
  let length = 1;
  for (const write of writes.slice(1)) {
    bytes += write.bytes;
    chunks += write.chunks.length;
    if (write.offset !== first.offset + bytes - write.bytes || bytes > maxBytesAtOnce || chunks > maxChunksAtOnce) break;
    length++;
  }
  return length;
}
