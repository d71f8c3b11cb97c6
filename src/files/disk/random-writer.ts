import { fchmodSync, fchownSync, fstatSync, type Stats } from 'node:fs';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Entry } from '../entry.ts';
import type { Gate } from '../inspections/holding.ts';
import type { QuotaReservation } from '../quota.ts';
import type { Keep } from '../trash/trash.ts';
import type { Durability } from './folder-sync.ts';
import type { NameRules } from './new-names.ts';

/** How a written file gets its name. */
export interface FinishOptions {
  /** Throws when a lock forbids the change; locks that were taken while the file was written count, too. */
  requireUnlocked: () => Promise<void> | undefined;
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
  /** Judges the content before anybody sees it. */
  gate?: Gate | undefined;
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
  /** Syncs all written content to disk. Also fails if an earlier write has failed. */
  sync(): Promise<void>;
  /** @param durability gets the fault of a disk that failed after the file had its name */
  finish(durability: Durability, options: FinishOptions): Promise<Finished>;
  /** @param reservation counts what stays */
  discard(reservation?: QuotaReservation): Promise<void>;
}

/** Content that several writers write one after the other. */
export interface KeptContent {
  /** Name of the hidden file, beside the target. */
  name: string;
  /** The confirmed part of it. */
  sizeBytes: number;
  /** Called with the bytes that are on disk while more still come. */
  onSynced: (sizeBytes: number) => void;
}

/** Content that outlives the process is recorded by the upload store. */
export const unrecorded = { add() {}, delete() {}, giveBack() {} };

/** Gives a new file the owner and mode of the one that it replaces. */
export function keepOwnerAndMode(fd: number, existing: Stats): void {
  const created = fstatSync(fd);
  if ((created.mode & 0o777) !== (existing.mode & 0o777)) fchmodSync(fd, existing.mode & 0o777);
  if (created.uid === existing.uid && created.gid === existing.gid) return;
  try {
    fchownSync(fd, existing.uid, existing.gid);
  } catch (error) {
    // Only a privileged service may give files away; without the privilege the file belongs to the service.
    if (systemErrorCode(error) !== 'EPERM') throw error;
  }
}
