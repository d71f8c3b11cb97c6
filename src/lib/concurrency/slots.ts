/** How many places there are under a name. */
export type SlotLimit = readonly [name: string, most: number];

/** Counts the places that are taken under names. */
export class Slots {
  readonly #taken = new Map<string, number>();

  /**
   * Takes one place under each name, or none at all.
   *
   * @returns the first name under which none is left; undefined when all were taken
   */
  take(limits: readonly SlotLimit[]): string | undefined {
    const full = limits.find(([name, most]) => (this.#taken.get(name) ?? 0) >= most);
    if (full) return full[0];
    for (const [name] of limits) this.#taken.set(name, (this.#taken.get(name) ?? 0) + 1);
    return undefined;
  }

  /** Gives back one place under each name. */
  free(names: readonly string[]): void {
    for (const name of names) {
      const left = (this.#taken.get(name) ?? 0) - 1;
      if (left > 0) this.#taken.set(name, left);
      else this.#taken.delete(name);
    }
  }
}
