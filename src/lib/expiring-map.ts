/**
 * A map in which each entry has its own expiry. If there are too many entries, the oldest one is dropped. All times must be milliseconds of
 * the same clock.
 */
export class ExpiringMap<Value> {
  readonly #maxEntries: number;
  // The inner map is created only when it is needed, because most of these maps stay empty.
  #entries: Map<string, { value: Value; untilMs: number }> | undefined;

  constructor(maxEntries = Number.POSITIVE_INFINITY) {
    this.#maxEntries = maxEntries;
  }

  has(key: string, nowMs: number): boolean {
    return (this.#entries?.get(key)?.untilMs ?? Number.NEGATIVE_INFINITY) > nowMs;
  }

  set(key: string, value: Value, untilMs: number): void {
    this.#entries ??= new Map();
    this.#entries.delete(key);
    this.#entries.set(key, { value, untilMs });
    dropOldest(this.#entries, this.#maxEntries);
  }

  /** Removes an entry. @returns its value; undefined if it has expired or does not exist */
  take(key: string, nowMs: number): Value | undefined {
    const entry = this.#entries?.get(key);
    this.#entries?.delete(key);
    return entry && entry.untilMs > nowMs ? entry.value : undefined;
  }

  delete(key: string): void {
    this.#entries?.delete(key);
  }

  deleteWhere(matches: (value: Value) => boolean): void {
    for (const [key, { value }] of this.#entries ?? []) if (matches(value)) this.#entries?.delete(key);
  }

  clear(): void {
    this.#entries = undefined;
  }

  /** Drops expired entries. @returns the number of remaining entries */
  count(nowMs: number): number {
    for (const [key, { untilMs }] of this.#entries ?? []) if (untilMs <= nowMs) this.#entries?.delete(key);
    return this.#entries?.size ?? 0;
  }

  firstEndMs(nowMs: number): number | undefined {
    return this.endsMs(nowMs)[0];
  }

  /** Returns the times at which the entries expire, the earliest first. */
  endsMs(nowMs: number): number[] {
    if (this.count(nowMs) === 0) return [];
    return [...(this.#entries?.values() ?? [])].map(({ untilMs }) => untilMs).sort((one, other) => one - other);
  }
}

/** Removes the oldest entry of a map or set if there are more entries than allowed. */
export function dropOldest<Key>(entries: { readonly size: number; keys(): Iterable<Key>; delete(key: Key): boolean }, max: number): void {
  const [oldest] = entries.size > max ? entries.keys() : [];
  if (oldest !== undefined) entries.delete(oldest);
}
