/** Seconds over which the speed is averaged. */
const windowSeconds = 8;

/** Measures how fast bytes go. */
export class Speed {
  #samples: { atMs: number; bytes: number }[] = [];

  /** @param bytes all bytes sent so far */
  note(bytes: number, atMs: number): void {
    // A retried file starts from nothing: the count goes back.
    if (bytes < (this.#samples.at(-1)?.bytes ?? 0)) this.#samples = [];
    this.#samples.push({ atMs, bytes });
    this.#samples = this.#samples.filter((sample) => sample.atMs > atMs - windowSeconds * 1000);
  }

  /** Bytes a second; undefined while too little is known. */
  get bytesPerSecond(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.atMs - first.atMs < 800) return undefined;
    return ((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000;
  }
}
