/** Maximum time, in milliseconds, for which work may block the page. */
const turnMs = 10;

let sinceMs = 0;

/**
 * Lets the page react if work has blocked it for too long. Call this function after each small step of the work.
 * @returns undefined while there is time left
 * @throws the reason of `signal` if it is aborted
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
