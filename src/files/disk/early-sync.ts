import type { Clock, Timer } from '../../lib/clock.ts';
import { fdatasyncAsync } from '../../lib/disk/descriptors.ts';

/** A large file is synced each time this number of bytes has been written. */
const syncEveryBytes = 32 * 1024 * 1024;

/**
 * Content that may arrive in several requests is synced after this number of bytes, or this number of milliseconds, because only synced
 * content survives a crash.
 */
const keepEveryBytes = 4 * 1024 * 1024;
const keepEveryMs = 1000;

/** Syncs a file while it is received, so that little is left to sync when all content has arrived. */
export class EarlySync {
  readonly #fd: number;
  readonly #clock: Clock;
  readonly #onSynced: ((sizeBytes: number) => Promise<void>) | undefined;
  #isEnded = false;
  #sizeBytes = 0;
  #unsyncedBytes = 0;
  #syncing: Promise<void> | undefined;
  #restsUntilMs = 0;
  #timer: Timer | undefined;
  /** The first error. It is kept, because Linux reports a failed sync only once. */
  failure: unknown;

  /** @param onSynced for content that may arrive in several requests; called after each sync with the number of bytes on disk */
  constructor(fd: number, clock: Clock, onSynced: ((sizeBytes: number) => Promise<void>) | undefined) {
    this.#fd = fd;
    this.#clock = clock;
    this.#onSynced = onSynced;
  }

  get current(): Promise<void> | undefined {
    return this.#syncing;
  }

  /** Counts written bytes, and begins a sync if enough are unsynced. @param sizeBytes position after the last written byte */
  wrote(bytes: number, sizeBytes: number): void {
    this.#unsyncedBytes += bytes;
    this.#sizeBytes = sizeBytes;
    this.#consider();
  }

  /** Prevents further syncs. @returns a promise that resolves when the running sync has ended; undefined if none is running */
  end(): Promise<void> | undefined {
    this.#isEnded = true;
    this.#timer?.cancel();
    return this.#syncing;
  }

  #consider(): void {
    if (this.#syncing || this.#unsyncedBytes === 0 || this.#isEnded) return;
    const everyBytes = this.#onSynced ? keepEveryBytes : syncEveryBytes;
    if (this.#unsyncedBytes >= everyBytes && this.#clock.monotonicMs() >= this.#restsUntilMs) this.#begin();
    else if (this.#onSynced) this.#timer ??= this.#clock.after(keepEveryMs, () => this.#begin());
  }

  #begin(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#unsyncedBytes = 0;
    const [sizeBytes, beganMs] = [this.#sizeBytes, this.#clock.monotonicMs()];
    this.#syncing = fdatasyncAsync(this.#fd)
      .then(() => this.#onSynced?.(sizeBytes))
      .catch((error) => {
        this.failure ??= error;
      })
      .finally(() => {
        this.#syncing = undefined;
        // Writes wait while the file system syncs, and with `onSynced` it syncs often. So each sync is followed by a pause of the same
        // length, in which even a slow disk can take writes.
        const endedMs = this.#clock.monotonicMs();
        if (this.#onSynced) this.#restsUntilMs = 2 * endedMs - beganMs;
        this.#consider();
      });
  }
}
