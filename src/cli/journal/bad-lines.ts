import { complain, count, visible } from '../output.ts';

/** What is to happen at a line that is no event. */
export interface MalformedOptions {
  /** Ends the run at the first. */
  strict?: boolean;
  /** Makes them no failure. */
  skipMalformed?: boolean;
}

/** Thrown to whoever reads on. */
class RunEnded extends Error {}

/** Malformed lines: told at once, counted, and a failure of the run, which `--strict` ends there and then. */
export class BadLines {
  readonly #options: MalformedOptions;
  count = 0;
  #hasEnded = false;

  constructor(options: MalformedOptions) {
    this.#options = options;
  }

  /** Whether the run fails because of them. */
  get isFailure(): boolean {
    return this.count > 0 && !this.#options.skipMalformed;
  }

  /** For people, for example `2 malformed lines skipped`. */
  get summary(): string {
    return `${count(this.count, 'malformed line')} ${this.#hasEnded ? 'ended the run' : 'skipped'}`;
  }

  add(place: string, reason: string): void {
    this.count++;
    this.#hasEnded = this.#options.strict ?? false;
    complain(`${visible(place)}: ${visible(reason)}; ${this.#hasEnded ? 'the run ends' : 'skipped'}`);
    if (this.#hasEnded) throw new RunEnded();
  }

  /** Something well-formed that cannot be had any more: told, and no failure. */
  missing(place: string, reason: string): void {
    complain(`${visible(place)}: ${visible(reason)}; skipped`);
  }

  /** Waits for a run. @returns undefined when a malformed line ended it */
  async unlessEnded<T>(run: Promise<T>): Promise<T | undefined> {
    try {
      return await run;
    } catch (error) {
      if (error instanceof RunEnded) return undefined;
      throw error;
    }
  }
}
