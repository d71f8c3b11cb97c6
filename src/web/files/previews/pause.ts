/** Longest time that work holds up the page, in milliseconds. */
const turnMs = 10;

let sinceMs = 0;

/**
 * Lets the page go on when work has held it up for long enough. To be asked after each small step.
 *
 * @returns undefined while there is time left
 * @throws the reason of `signal`, once nobody wants the outcome any more
 */
export function pause(signal: AbortSignal): Promise<void> | undefined {
  if (performance.now() - sinceMs < turnMs) return undefined;
  return new Promise((resolve, reject) => {
    setTimeout(() => {
      sinceMs = performance.now();
      if (signal.aborted) reject(signal.reason);
      else resolve();
    });
  });
}
