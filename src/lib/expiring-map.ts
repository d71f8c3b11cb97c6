/** A map whose entries end at a time of their own; of too many, the oldest are forgotten. Times are in milliseconds of one clock. */
export class ExpiringMap<Value> {
  readonly #most: number;
  // Made when needed: of many such maps most stay empty.
  #entries: Map<string, { value: Value; untilMs: number }> | undefined;

  /** @param most entries at most */
  constructor(most = Number.POSITIVE_INFINITY) {
    this.#most = most;
  }

  has(key: string, nowMs: number): boolean {
    return (this.#entries?.get(key)?.untilMs ?? Number.NEGATIVE_INFINITY) > nowMs;
  }

  set(key: string, value: Value, untilMs: number): void {
    this.#entries ??= new Map();
    this.#entries.delete(key);
    this.#entries.set(key, { value, untilMs });
    dropOldest(this.#entries, this.#most);
  }

  /** Takes out an entry. @returns its value, unless it has ended */
  take(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries?.get(key);
    this.#entries?.delete(key);
    return entry && entry.untilMs > nowMs ? entry.value : undefined;
  }

  delete(key: string): void {
    this.#entries?.delete(key);
  }

  /** Takes out all entries whose value is such. */
  deleteWhere(isSuch: (value: Value) => boolean): void {
    for (const [key, { value }] of this.#entries ?? []) if (isSuch(value)) this.#entries?.delete(key);
  }

  clear(): void {
    this.#entries = undefined;
  }

  /** Entries that have not ended; those that have are forgotten. */
  count(nowMs: number): number {
    for (const [key, { untilMs }] of this.#entries ?? []) if (untilMs <= nowMs) this.#entries?.delete(key);
    return this.#entries?.size ?? 0;
  }

  /** When the first entry ends; undefined without any. */
  firstEndMs(nowMs: number): number | undefined {
    if (this.count(nowMs) === 0) return undefined;
    return Math.min(...[...(this.#entries?.values() ?? [])].map(({ untilMs }) => untilMs));
  }
}

/** Takes the oldest entry out of a map, or a set, that has got one too many. */
export function dropOldest<Key>(entries: { readonly size: number; keys(): Iterable<Key>; delete(key: Key): boolean }, most: number): void {
  if (entries.size <= most) return;
  for (const oldest of entries.keys()) {
    entries.delete(oldest);
    return;
  }
}
