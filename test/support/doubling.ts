import assert from 'node:assert/strict';

/** Work that takes less is no danger however it grows: inputs have a largest size, and this is measured near it. */
const harmlessMs = 20;

/** The larger input has so many times the size of the smaller one: it is doubled three times. */
const growth = 8;

/** How much more than that the work may grow; with the square it would be eight times as much. */
const tolerance = 2.5;

/** What grows so in part of its range alone (caches, garbage) does not go on like that: for four times the input, sixteen times with the square. */
const furtherGrowth = 4;

/** Work that is refused for larger inputs, and takes less for the largest that are not, stalls nobody. */
const stallMs = 100;

/** CPU time of this process in a call, the least of some calls, in ms. Other programs of the machine do not count. */
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
 * Fails when the work for an input that was doubled three times grows by far more than eight times. What only one measurement
 * shows is measured again.
 *
 * @param make the input of a size, in whatever unit `size` is
 * @param work may throw only what is a fault of its own
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
  // Once more beside it: the machine may be faster now than it was.
  largeMs = Math.min(largeMs, await leastMs(() => work(large), 3));
  if (largerMs < largeMs ? largeMs < stallMs : largerMs <= furtherGrowth * tolerance * largeMs) return;
  assert.fail(
    `${what}: an eighth of the input took ${smallMs.toFixed(1)} ms, all of it ${largeMs.toFixed(1)} ms, four times of it ${largerMs.toFixed(1)} ms`,
  );
}
