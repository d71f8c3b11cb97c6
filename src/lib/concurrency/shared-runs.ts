/** Runs work once for several callers. All callers that arrive during a run share the next run. */
export class SharedRuns<Argument = void> {
  readonly #work: (argument: Argument) => Promise<void>;
  #waiting: { argument: Argument; resolve: () => void; reject: (error: unknown) => void }[] = [];
  #isRunning = false;

  constructor(work: (argument: Argument) => Promise<void>) {
    this.#work = work;
  }

  get isRunning(): boolean {
    return this.#isRunning;
  }

  /**
   * Requests a run that starts after this call. Resolves when that run has ended.
   *
   * @param argument passed to the work. If several callers share a run, the work gets the argument of the first caller
   * @throws the error of the work, to every caller that shares the run
   */
  run(argument: Argument): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ argument, resolve, reject });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    for (let first = this.#waiting[0]; first; first = this.#waiting[0]) {
      const waiters = this.#waiting.splice(0);
      try {
        await this.#work(first.argument);
        for (const { resolve } of waiters) resolve();
      } catch (error) {
        for (const { reject } of waiters) reject(error);
      }
    }
    this.#isRunning = false;
  }
}
