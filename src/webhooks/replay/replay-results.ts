/** Most that is kept of the results of one job, in characters; of deliveries that were made half of it. */
const mostCharacters = 2 * 1024 * 1024;

/** What came of the parts of a job, as lines of JSON, bounded; the record of deliveries has them all. */
export class ReplayResults {
  readonly #lines: string[] = [];
  #characters = 0;
  #leftOut = 0;

  /** Lines that there was no room for. */
  get leftOut(): number {
    return this.#leftOut;
  }

  /** Whether there is room for more that matters. */
  get isFull(): boolean {
    return this.#characters >= mostCharacters;
  }

  /** @param isGood whether it is one of those that matter less than what failed */
  add(result: Record<string, unknown>, isGood = false): void {
    const line = JSON.stringify(result);
    const room = isGood ? mostCharacters / 2 : mostCharacters;
    if (this.#characters + line.length > room) {
      this.#leftOut++;
      return;
    }
    this.#lines.push(line);
    this.#characters += line.length;
  }

  /** NDJSON. */
  get text(): string {
    return this.#lines.map((line) => `${line}\n`).join('');
  }
}
