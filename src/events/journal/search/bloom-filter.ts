/** Bits of a filter for each key: with `hashes` of them about one key in a hundred seems to be there that is not. */
const bitsOfKey = 10;
const hashes = 7;

/**
 * A Bloom filter: tells that a key is certainly not among those it was made of, or that it may be.
 *
 * @see https://en.wikipedia.org/wiki/Bloom_filter
 */
export function bloomFilter(keys: ReadonlySet<string>): Buffer {
  const filter = Buffer.alloc(Math.ceil((keys.size * bitsOfKey) / 8));
  const bits = filter.length * 8;
  for (const key of keys) {
    const { first, step } = hashOf(key);
    for (let index = 0; index < hashes; index++) {
      const bit = (first + index * step) % bits;
      filter[bit >>> 3] = (filter[bit >>> 3] as number) | (1 << (bit & 7));
    }
  }
  return filter;
}

/** The hash of a key: where its bits are, `first` and from there in steps. */
export interface KeyHash {
  first: number;
  step: number;
}

/** Whether a key may be among those that a filter was made of. */
export function mayHold(filter: Uint8Array, { first, step }: KeyHash): boolean {
  const bits = filter.length * 8;
  if (bits === 0) return false;
  for (let index = 0; index < hashes; index++) {
    const bit = (first + index * step) % bits;
    if (((filter[bit >>> 3] as number) & (1 << (bit & 7))) === 0) return false;
  }
  return true;
}

/** Two hashes of a text, of 32 bits each, mixed as MurmurHash3 does at its end. Who makes texts that collide makes searches slower, not wrong. */
export function hashOf(key: string): KeyHash {
  let first = 0xdeadbeef;
  let second = 0x41c6ce57;
  for (let index = 0; index < key.length; index++) {
    const unit = key.charCodeAt(index);
    first = Math.imul(first ^ unit, 2_654_435_761);
    second = Math.imul(second ^ unit, 1_597_334_677);
  }
  return { first: mixed(first ^ (second >>> 13)), step: (mixed(second ^ (first >>> 16)) | 1) >>> 0 };
}

function mixed(value: number): number {
  let hash = Math.imul(value ^ (value >>> 16), 2_246_822_507);
  hash = Math.imul(hash ^ (hash >>> 13), 3_266_489_909);
  return (hash ^ (hash >>> 16)) >>> 0;
}
