import { closeSync, fsyncSync, openSync, rmSync, statSync, truncateSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { isDiskFull } from './segment-writer.ts';

/** Size of the reserved disk space in bytes. It is for the events of changes that are in progress when the disk becomes full. */
const reserveBytes = 1024 * 1024;

/** Minimum time between two attempts to reserve the space, in milliseconds. */
const retryEveryMs = 1000;

/**
 * Reserves disk space for the journal. When the disk is full, the space is released, so that changes in progress can still be recorded. New
 * changes are refused until the space is reserved again.
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

  /** Returns whether the space is reserved. If it is not, tries to reserve it, at most once per second. */
  isHeld(): boolean {
    if (this.#isHeld || this.#clock.monotonicMs() - this.#triedAtMs < retryEveryMs) return this.#isHeld;
    this.#triedAtMs = this.#clock.monotonicMs();
    this.#isHeld = this.#take();
    return this.#isHeld;
  }

  /** Whether events about reading may be written. They may use half of the released space, and events about changes may use all of it. */
  get hasRoomForReads(): boolean {
    return this.#isHeld || this.#usedBytes < reserveBytes / 2;
  }

  /** Counts the bytes that the journal writes after the space was released. */
  countUse(bytes: number): void {
    if (!this.#isHeld) this.#usedBytes += bytes;
  }

  /** Releases the space. @returns false if no space was reserved */
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
      if (!isDiskFull(error)) this.#log.warn('no space could be set aside for the journal', { reason: error });
      rmSync(this.#path, { force: true });
      return false;
    }
  }

  // The file contains text, because a file system may store zeros without using space.
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
