/** A part of a file, from its first byte to the one after its last. */
export interface Extent {
  start: number;
  end: number;
}

/** Which parts of a file were written, in order and without overlaps. */
export class Extents {
  #parts: Extent[] = [];

  /** How many parts there are that do not touch. */
  get count(): number {
    return this.#parts.length;
  }

  add(start: number, end: number): void {
    if (start >= end) return;
    const last = this.#parts.at(-1);
    // Most files are written from the beginning to the end.
    if (last && last.start <= start && start <= last.end) {
      last.end = Math.max(last.end, end);
      return;
    }
    const from = this.#firstEndingAt(start);
    let to = from;
    let joined = { start, end };
    for (; to < this.#parts.length; to++) {
      const part = this.#parts[to] as Extent;
      if (part.start > end) break;
      joined = { start: Math.min(joined.start, part.start), end: Math.max(joined.end, part.end) };
    }
    this.#parts.splice(from, to - from, joined);
  }

  /** Forgets all from a place on. */
  cut(end: number): void {
    this.#parts = this.#parts.filter((part) => part.start < end);
    const last = this.#parts.at(-1);
    if (last) last.end = Math.min(last.end, end);
  }

  /** Forgets all but so many parts from the beginning. */
  forgetLast(count: number): void {
    this.#parts.length = Math.min(this.#parts.length, count);
  }

  /** The parts between two places that were not written. */
  gaps(start: number, end: number): Extent[] {
    const gaps: Extent[] = [];
    let at = start;
    for (let index = this.#firstEndingAt(start); index < this.#parts.length && at < end; index++) {
      const part = this.#parts[index] as Extent;
      if (part.start > at) gaps.push({ start: at, end: Math.min(part.start, end) });
      at = Math.max(at, part.end);
    }
    if (at < end) gaps.push({ start: at, end });
    return gaps;
  }

  /** Index of the first part that ends at a place or behind it. */
  #firstEndingAt(place: number): number {
    let low = 0;
    let high = this.#parts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#parts[middle] as Extent).end < place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
