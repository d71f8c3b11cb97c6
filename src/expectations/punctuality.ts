import * as z from 'zod';

const seconds = z.int().describe('Seconds after the due time; negative before it.');

/** Statistics about when files arrive. They help to choose a due time. */
export const punctuality = z.strictObject({
  count: z.int().describe('Occurrences whose files came.'),
  earliest: seconds,
  lower_quartile: seconds,
  median: seconds,
  upper_quartile: seconds,
  ninth_decile: seconds,
  latest: seconds,
});
export type Punctuality = z.infer<typeof punctuality>;

/**
 * Computes the statistics of an expectation.
 *
 * @param offsetsMs arrival times, in milliseconds after the due times
 * @returns null if no files arrived
 */
export function punctualityOf(offsetsMs: readonly number[]): Punctuality | null {
  if (offsetsMs.length === 0) return null;
  const sorted = [...offsetsMs].sort((one, other) => one - other);
  // The nearest-rank method is used, so that each value is the value of a real arrival.
  const at = (share: number) => Math.round((sorted[Math.max(Math.ceil(share * sorted.length) - 1, 0)] as number) / 1000);
  return {
    count: sorted.length,
    earliest: at(0),
    lower_quartile: at(0.25),
    median: at(0.5),
    upper_quartile: at(0.75),
    ninth_decile: at(0.9),
    latest: at(1),
  };
}
