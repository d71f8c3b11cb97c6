const maxBytesAtOnce = 4 * 1024 * 1024;
const maxChunksAtOnce = 512;

interface Write {
  offset: number;
  chunks: readonly Buffer[];
  bytes: number;
  resolve: () => void;
  reject: (error: unknown) => void;
}

/** Writes chunks at a file offset. @param bytes length of all chunks together */
type WriteAt = (chunks: readonly Buffer[], offset: number, bytes: number) => Promise<void>;

/** Runs writes and other actions one after the other, in the order of the calls. Joins adjacent writes into one. */
export class WriteQueue {
  readonly #writeAt: WriteAt;
  /** The queued writes that later writes may join. */
  #writes: Write[] | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(writeAt: WriteAt) {
    this.#writeAt = writeAt;
  }

  /** Resolves when the chunks are written. @param bytes length of all chunks together */
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
    // `#writeAll` never rejects: it rejects the promise of each failed write instead.
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

/** The number of writes at the start of the list that are adjacent in the file and together fit into one system call. */
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
