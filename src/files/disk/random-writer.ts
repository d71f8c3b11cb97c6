import type { Entry } from '../entry.ts';
import type { QuotaReservation } from '../quota.ts';
import type { Durability } from './folder-sync.ts';

/** How a written file gets its name. */
export interface FinishOptions {
  /** Refuses by throwing what a lock on the path forbids. Writing may take hours: one that somebody took meanwhile counts, too. */
  requireUnlocked: () => Promise<void>;
  /** Modification time to set, Unix time in milliseconds. */
  modifiedMs?: number | undefined;
  /** Access time to set with it; else it is the same. */
  accessedMs?: number | undefined;
  /** Runs in the turn of the rename, with what the name means at that moment; throwing keeps the old file. */
  verify?: ((current: Entry | undefined) => void) | undefined;
  /** Room under a quota; ended by `finish` when that succeeds. */
  reservation?: QuotaReservation;
}

/** Writes a file piece by piece, wherever the pieces belong. Ended with `finish` or `discard`. */
export interface RandomWriter {
  /** Whether the file itself is written, and not one that takes its place. */
  readonly isInPlace: boolean;
  /** For reading what was written. */
  readonly fd: number;
  writeAt(chunks: readonly Buffer[], position: number): Promise<void>;
  /** Cuts or lengthens what was written; what is added is zeros. */
  truncate(sizeBytes: number): Promise<void>;
  /** What is there so far goes to the disk. Fails also for what could not be written before. */
  sync(): Promise<void>;
  /** @param durability has the fault of a disk that failed once the file had its name */
  finish(durability: Durability, options?: FinishOptions): Promise<{ entry: Entry; isReplacement: boolean }>;
  /** @param reservation room under a quota, for what stays */
  discard(reservation?: QuotaReservation): Promise<void>;
}
