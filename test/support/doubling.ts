import assert from 'node:assert/strict';

/** Work that takes less than this time, in milliseconds, is harmless even if it grows fast: the inputs have nearly their maximum size. */
const harmlessMs = 20;

/** Size of `large` relative to `small`: the small input, doubled three times. */
const growth = 8;

/** Factor by which the work may exceed linear growth. With quadratic growth, this factor would be eight. */
const tolerance = 2.5;

/**
 * Factor by which a second check enlarges the input further. Effects of caches and garbage collection do not continue to grow, but
 * quadratic work becomes sixteen times as much.
 */
const furtherGrowth = 4;

/** If larger inputs are refused, the largest accepted input may take this time, in milliseconds, because it delays nobody much. */
const stallMs = 100;

/** Returns the minimum CPU time of several calls, in milliseconds. Other programs of the machine do not affect it. */
async function leastMs(work: () => unknown, calls: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let call = 0; call < calls; call++) {
    const before = process.cpuUsage();
    await work();
    const { user, system } = process.cpuUsage(before);
    least = Math.min(least, (user + system) / 1000);
  }
  return least;
}

/**
 * Asserts that the work for an input that was doubled three times grows by little more than eight times. A bad result is measured again.
 *
 * @param make returns an input of a size; the unit of `size` is arbitrary
 * @param work must not throw when it refuses an input; if it throws, the assertion fails
 */
export async function assertLinear<T>(what: string, make: (size: number) => T, work: (input: T) => unknown, size: number): Promise<void> {
  const large = make(size);
  let largeMs = await leastMs(() => work(large), 1);
  if (largeMs < harmlessMs) return;
  const small = make(Math.floor(size / growth));
  let smallMs = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 3; attempt++) {
    smallMs = Math.min(smallMs, await leastMs(() => work(small), 3));
    largeMs = Math.min(largeMs, await leastMs(() => work(large), attempt));
    if (largeMs <= growth * tolerance * Math.max(smallMs, harmlessMs / growth / 2)) return;
  }
  const larger = make(size * furtherGrowth);
  const largerMs = await leastMs(() => work(larger), 2);
  // `large` is measured again, because the machine may have become faster meanwhile.
  largeMs = Math.min(largeMs, await leastMs(() => work(large), 3));
  if (largerMs < largeMs ? largeMs < stallMs : largerMs <= furtherGrowth * tolerance * largeMs) return;
  assert.fail(
    `${what}: an eighth of the input took ${smallMs.toFixed(1)} ms, all of it ${largeMs.toFixed(1)} ms, four times of it ${largerMs.toFixed(1)} ms`,
  );
}
