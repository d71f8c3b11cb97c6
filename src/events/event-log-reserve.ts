import { closeSync, existsSync, fsyncSync, openSync, statSync, truncateSync, unlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';

/** Room for the events of the changes that are under way when the disk fills up. */
const reserveBytes = 1024 * 1024;

/** How often a full disk is tried again. */
const retryEveryMs = 1000;

/**
 * Disk space set aside for the journal. When the disk is full it is given up, so that what was already changed can still
 * be recorded; until it can be set aside again no change is begun.
 */
export class JournalReserve {
  readonly #path: string;
  readonly #clock: Clock;
  #isHeld = false;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  constructor(folder: string, clock: Clock) {
    this.#path = join(folder, 'reserve');
    this.#clock = clock;
    this.isHeld();
  }

  /** Whether the space is set aside; tries to take it again, at most once a second. */
  isHeld(): boolean {
    if (this.#isHeld || this.#clock.monotonicMs() - this.#triedAtMs < retryEveryMs) return this.#isHeld;
    this.#triedAtMs = this.#clock.monotonicMs();
    this.#isHeld = this.#take();
    return this.#isHeld;
  }

  /** Gives the space up. @returns whether there was any */
  release(): boolean {
    const had = existsSync(this.#path) && statSync(this.#path).size > 0;
    if (had) truncateSync(this.#path, 0);
    this.#isHeld = false;
    this.#triedAtMs = this.#clock.monotonicMs();
    return had;
  }

  #take(): boolean {
    if (existsSync(this.#path) && statSync(this.#path).size === reserveBytes) return true;
    const fd = openSync(this.#path, 'w', 0o600);
    try {
      // Real bytes, not zeros: a file system may keep zeros without taking space for them.
      const block = Buffer.alloc(64 * 1024, 'svc reserve ');
      for (let written = 0; written < reserveBytes; )
        written += writeSync(fd, block, 0, Math.min(block.length, reserveBytes - written), written);
      fsyncSync(fd);
      return true;
    } catch {
      unlinkSync(this.#path);
      return false;
    } finally {
      closeSync(fd);
    }
  }
}
