export type SlotLimit = readonly [name: string, max: number];

/** Counts the slots that are taken by name. */
export class Slots {
  readonly #taken = new Map<string, number>();

  /**
   * Takes one slot of each name, or none at all.
   *
   * @returns the first name without a free slot; undefined when all were taken
   */
  take(limits: readonly SlotLimit[]): string | undefined {
    const full = limits.find(([name, max]) => (this.#taken.get(name) ?? 0) >= max);
    if (full) return full[0];
    for (const [name] of limits) this.#taken.set(name, (this.#taken.get(name) ?? 0) + 1);
    return undefined;
  }

  /** Gives back one slot of each name. */
  free(names: readonly string[]): void {
    for (const name of names) {
      const left = (this.#taken.get(name) ?? 0) - 1;
      if (left > 0) this.#taken.set(name, left);
      else this.#taken.delete(name);
    }
  }
}
