import { fchmodSync, fchownSync, fstatSync, type Stats } from 'node:fs';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Entry } from '../entry.ts';
import type { Gate } from '../inspections/holding.ts';
import type { QuotaReservation } from '../quota.ts';
import type { Keep, KeptReplaced } from '../trash/trash.ts';
import type { Durability } from './folder-sync.ts';
import type { NameRules } from './new-names.ts';

export interface FinishOptions {
  /** Throws if a lock forbids the change. The lock may have been taken while the file was written. */
  requireUnlocked: () => Promise<void> | undefined;
  /** Modification time to set, Unix time in milliseconds. */
  modifiedMs?: number | undefined;
  /** Access time to set together with `modifiedMs`, Unix time in milliseconds; by default equal to `modifiedMs`. */
  accessedMs?: number | undefined;
  /**
   * Called with the file that currently has the final name, while the mutex of the rename is locked. If the function throws, that file
   * remains.
   */
  verify?: ((current: Entry | undefined) => void) | undefined;
  /** A successful `finish` ends the reservation. */
  reservation?: QuotaReservation;
  rules: NameRules;
  /** Moves the replaced file to the trash. */
  keep?: Keep | undefined;
  /** Inspects the content before it becomes visible. */
  gate?: Gate | undefined;
  /** If the file gets a numbered name, called with that name before the rename. */
  onNumbered?: ((name: string) => Promise<void>) | undefined;
}

export interface Finished {
  entry: Entry;
  isReplacement: boolean;
  /** Whether the replaced file is in the trash. */
  trashed?: true | undefined;
  /** The numbered name that the file got because the wanted name was taken. */
  numberedName?: string | undefined;
}

export interface Put {
  entry: Entry;
  freed: Promise<void> | undefined;
  isReplacement: boolean;
  kept: KeptReplaced | undefined;
}

/** Writes pieces of a file in any order. The caller ends the writer with `finish` or `discard`. */
export interface RandomWriter {
  /** Whether the existing file itself is written, and not a new file that replaces it. */
  readonly isInPlace: boolean;
  readonly fd: number;
  writeAt(chunks: readonly Buffer[], position: number): Promise<void>;
  /** Truncates the file, or extends it with zeros. */
  truncate(sizeBytes: number): Promise<void>;
  /** Syncs all written content to disk. Also fails if an earlier write has failed. */
  sync(): Promise<void>;
  /** @param durability receives the fault if the disk failed after the rename */
  finish(durability: Durability, options: FinishOptions): Promise<Finished>;
  /** @param reservation charged for the bytes that stay on disk if the file was written in place */
  discard(reservation?: QuotaReservation): Promise<void>;
}

export interface KeptContent {
  /** Name of the hidden file, beside the target. */
  name: string;
  /** Size of the confirmed part of the file. */
  sizeBytes: number;
  /** Called during the upload with the number of bytes that are on disk. */
  onSynced: (sizeBytes: number) => void;
}

/** Used instead of `Temporaries` for content that outlives the process, because the upload store records such content. */
export const unrecorded = { add() {}, delete() {}, giveBack() {} };

/** Gives a new file the owner and mode of the file that it will replace. */
export function keepOwnerAndMode(fd: number, existing: Stats): void {
  const created = fstatSync(fd);
  if ((created.mode & 0o777) !== (existing.mode & 0o777)) fchmodSync(fd, existing.mode & 0o777);
  if (created.uid === existing.uid && created.gid === existing.gid) return;
  try {
    fchownSync(fd, existing.uid, existing.gid);
  } catch (error) {
    // Only a privileged process may change the owner. Without the privilege, the file keeps the service's user as its owner.
    if (systemErrorCode(error) !== 'EPERM') throw error;
  }
}
