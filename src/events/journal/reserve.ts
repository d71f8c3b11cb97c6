import { closeSync, fsyncSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';

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
  readonly #log: Log;
  #isHeld = false;
  #usedBytes = 0;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  constructor(folder: string, clock: Clock, log: Log) {
    this.#path = join(folder, 'reserve');
    this.#clock = clock;
    this.#log = log;
    this.isHeld();
  }

  /** Whether the space is set aside; tries to take it again, at most once a second. */
  isHeld(): boolean {
    if (this.#isHeld || this.#clock.monotonicMs() - this.#triedAtMs < retryEveryMs) return this.#isHeld;
    this.#triedAtMs = this.#clock.monotonicMs();
    this.#isHeld = this.#take();
    return this.#isHeld;
  }

  /** Whether events of reads may be written: they get half of what was given up, the events of changes all of it. */
  get hasRoomForReads(): boolean {
    return this.#isHeld || this.#usedBytes < reserveBytes / 2;
  }

  /** Counts what the journal wrote since the space was given up. */
  countUse(bytes: number): void {
    if (!this.#isHeld) this.#usedBytes += bytes;
  }

  /** Gives the space up. @returns whether there was any */
  release(): boolean {
    const hadBytes = statSync(this.#path, { throwIfNoEntry: false })?.size ?? 0;
    if (hadBytes > 0) {
      truncateSync(this.#path, 0);
      this.#usedBytes = 0;
    }
    this.#isHeld = false;
    this.#triedAtMs = this.#clock.monotonicMs();
    return hadBytes > 0;
  }

  #take(): boolean {
    if (statSync(this.#path, { throwIfNoEntry: false })?.size === reserveBytes) return true;
    try {
      this.#fill();
      return true;
    } catch (error) {
      const code = systemErrorCode(error);
      if (code !== 'ENOSPC' && code !== 'EDQUOT') this.#log.warn('no space could be set aside for the journal', { reason: error });
      rmSync(this.#path, { force: true });
      return false;
    }
  }

  // Real bytes, not zeros: a file system may keep zeros without taking space for them.
  #fill(): void {
    const fd = openSync(this.#path, 'w', 0o600);
    try {
      const block = Buffer.alloc(64 * 1024, 'svc reserve ');
      for (let written = 0; written < reserveBytes; )
        written += writeSync(fd, block, 0, Math.min(block.length, reserveBytes - written), written);
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  }
}
