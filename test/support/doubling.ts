import assert from 'node:assert/strict';

/** Work up to this time, in milliseconds, is harmless: the inputs have nearly their maximum size. */
const harmlessMs = 20;

/** Size of `large` relative to `small`. */
const growth = 8;

/** Factor by which the work may exceed linear growth. Quadratic growth would exceed it eight times. */
const tolerance = 2.5;

/** Growth of the input in a second check. Effects of caches and garbage collection do not grow further, but quadratic work does. */
const furtherGrowth = 4;

/** If larger inputs are refused, the largest accepted input may take this time, in milliseconds. */
const stallMs = 100;

/** Returns the minimum CPU time of several calls, in milliseconds. */
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
 * Asserts that the work for an input of eightfold size grows by little more than eight times.
 *
 * @param make returns an input of a size, in any unit
 * @param work must not throw when it refuses an input
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
  // The machine may have become faster meanwhile.
  largeMs = Math.min(largeMs, await leastMs(() => work(large), 3));
  if (largerMs < largeMs ? largeMs < stallMs : largerMs <= furtherGrowth * tolerance * largeMs) return;
  assert.fail(
    `${what}: an eighth of the input took ${smallMs.toFixed(1)} ms, all of it ${largeMs.toFixed(1)} ms, four times of it ${largerMs.toFixed(1)} ms`,
  );
}
