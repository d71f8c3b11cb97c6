import type { Entry } from '../entry.ts';
import type { QuotaReservation } from '../quota.ts';
import type { Keep } from '../trash/trash.ts';
import type { Durability } from './folder-sync.ts';
import type { NameRules } from './new-names.ts';

/** How a written file gets its name. */
export interface FinishOptions {
  /** Throws when a lock forbids the change; locks that were taken while the file was written count, too. */
  requireUnlocked: () => Promise<void>;
  /** Modification time to set, Unix time in milliseconds. */
  modifiedMs?: number | undefined;
  /** Access time to set with it; by default the same. */
  accessedMs?: number | undefined;
  /** Runs under the mutex of the rename, with the current file of that name; throwing keeps that file. */
  verify?: ((current: Entry | undefined) => void) | undefined;
  /** Ended by `finish` when that succeeds. */
  reservation?: QuotaReservation;
  rules: NameRules;
  /** Keeps the file that is replaced. */
  keep?: Keep | undefined;
  /** Called with another name before the content gets that. */
  onNumbered?: ((name: string) => Promise<void>) | undefined;
}

/** A file that got its name. */
export interface Finished {
  entry: Entry;
  isReplacement: boolean;
  /** Whether the file that it replaced is in the trash. */
  trashed?: true | undefined;
  /** The name, if it is not the wanted one, which was taken. */
  numberedName?: string | undefined;
}

/** Writes pieces of a file in any order. Ends with `finish` or `discard`. */
export interface RandomWriter {
  /** Whether it writes into the file itself, and not into one that replaces it. */
  readonly isInPlace: boolean;
  readonly fd: number;
  writeAt(chunks: readonly Buffer[], position: number): Promise<void>;
  /** Cuts the file, or lengthens it with zeros. */
  truncate(sizeBytes: number): Promise<void>;
  /** Has all that was written on disk. Fails also for what could not be written before. */
  sync(): Promise<void>;
  /** @param durability gets the fault of a disk that failed after the file had its name */
  finish(durability: Durability, options: FinishOptions): Promise<Finished>;
  /** @param reservation counts what stays */
  discard(reservation?: QuotaReservation): Promise<void>;
}
