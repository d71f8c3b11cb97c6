/** Returns a generator of numbers below 1. The same seed gives the same numbers (mulberry32). */
export function randomFrom(seed: number): () => number {
  let next = seed;
  return () => {
    next = (next + 0x6d2b79f5) | 0;
    let value = Math.imul(next ^ (next >>> 15), 1 | next);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}
