/** How many places there are under a name. */
export type PlaceLimit = readonly [name: string, most: number];

/** Places that all who share a limit take, whichever process they are in. */
export interface SharedPlaces {
  /**
   * Takes one place under each name, or none at all.
   *
   * @returns the first name under which none is left; undefined when all were taken
   */
  take(limits: readonly PlaceLimit[]): Promise<string | undefined>;
  /** Gives back one place under each name. */
  free(names: readonly string[]): void;
}

/** Counts the places that are taken. `Holder` is who takes them: a worker, or a process itself. */
export class Places<Holder> {
  readonly #taken = new Map<string, number>();
  readonly #ofHolders = new Map<Holder, Map<string, number>>();

  /** @see SharedPlaces.take */
  take(holder: Holder, limits: readonly PlaceLimit[]): string | undefined {
    const full = limits.find(([name, most]) => (this.#taken.get(name) ?? 0) >= most);
    if (full) return full[0];
    const own = this.#ofHolders.get(holder) ?? new Map<string, number>();
    this.#ofHolders.set(holder, own);
    for (const [name] of limits) {
      change(this.#taken, name, 1);
      change(own, name, 1);
    }
    return undefined;
  }

  /** Gives back one place under each name that the holder has one under. */
  free(holder: Holder, names: readonly string[]): void {
    const own = this.#ofHolders.get(holder);
    for (const name of names) {
      if (!own?.has(name)) continue;
      change(this.#taken, name, -1);
      change(own, name, -1);
    }
  }

  /** A holder is gone: its places are free. */
  lose(holder: Holder): void {
    for (const [name, count] of this.#ofHolders.get(holder) ?? []) change(this.#taken, name, -count);
    this.#ofHolders.delete(holder);
  }
}

/** Places within one process. */
export function ownPlaces(): SharedPlaces {
  const places = new Places<undefined>();
  return {
    take: async (limits) => places.take(undefined, limits),
    free: (names) => places.free(undefined, names),
  };
}

function change(counts: Map<string, number>, name: string, by: number): void {
  const count = (counts.get(name) ?? 0) + by;
  if (count > 0) counts.set(name, count);
  else counts.delete(name);
}
