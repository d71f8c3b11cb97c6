/** Keeps a count for each name. A name whose count is zero uses no memory. */
export class NamedCounts {
  readonly #counts = new Map<string, number>();

  get(name: string): number {
    return this.#counts.get(name) ?? 0;
  }

  add(name: string, by: number): void {
    const count = this.get(name) + by;
    if (count > 0) this.#counts.set(name, count);
    else this.#counts.delete(name);
  }
}

export type SlotLimit = readonly [name: string, max: number];

/** Limits how many slots of each name can be taken. */
export class Slots {
  readonly #taken = new NamedCounts();

  /**
   * Takes one slot of each name. If one of the names has no free slot, takes no slot at all.
   *
   * @returns the first name without a free slot; undefined if the slots were taken
   */
  take(limits: readonly SlotLimit[]): string | undefined {
    const full = limits.find(([name, max]) => this.#taken.get(name) >= max);
    if (full) return full[0];
    for (const [name] of limits) this.#taken.add(name, 1);
    return undefined;
  }

  free(names: readonly string[]): void {
    for (const name of names) this.#taken.add(name, -1);
  }
}
