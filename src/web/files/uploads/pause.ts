/** Pauses before a lost connection is tried again, in seconds; the last one again and again. */
const pauseSeconds = [0.5, 1, 2, 4, 8, 16, 30] as const;

/**
 * Waits before a lost connection is tried again: longer each time, and a little different for each upload, so that a service that comes back is
 * not asked by everybody at once. The browser's word that there is a network ends it.
 *
 * @param failures how often it was tried in vain
 */
export function pauseAfter(failures: number, signal: AbortSignal): Promise<void> {
  const seconds = pauseSeconds[Math.min(failures, pauseSeconds.length - 1)] ?? 0;
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      window.removeEventListener('online', end);
      signal.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, seconds * (750 + 500 * Math.random()));
    window.addEventListener('online', end);
    signal.addEventListener('abort', end);
  });
}
