/**
 * A time for futimes(2), in seconds: rounded to whole microseconds, where Node.js would cut what a double cannot hold exactly
 * (1700000000.123 would become .122999).
 *
 * @param timeMs Unix time in milliseconds, with a fraction
 */
export function timeToSet(timeMs: number): number {
  return (Math.round(timeMs * 1000) + 0.5) / 1e6;
}
