/** Uploads that this tab goes on with: each request for one cuts the request of another tab. */
const claims = new Map<string, () => void>();

const prefix = 'svc-upload:';

/**
 * Takes an upload for this tab; it stays so until `release`, or until the tab is closed.
 *
 * @returns false when another tab has it. A browser without locks (they need https) lets every tab have it
 */
export function claim(location: string): Promise<boolean> {
  if (!navigator.locks || claims.has(location)) return Promise.resolve(true);
  return new Promise((resolve) => {
    void navigator.locks.request(prefix + location, { ifAvailable: true }, (lock) => {
      resolve(lock !== null);
      return lock && new Promise<void>((release) => claims.set(location, release));
    });
  });
}

/** Lets other tabs have an upload. */
export function release(location: string): void {
  claims.get(location)?.();
  claims.delete(location);
}

/** Waits until no tab goes on with an upload, this one neither. */
export async function whenFree(location: string): Promise<void> {
  await navigator.locks?.request(prefix + location, { mode: 'shared' }, () => {});
}
