import { randomBytes } from 'node:crypto';
import {
  closeSync,
  constants,
  fsyncSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncFolder } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { freeInBackground } from './freeing.ts';
import { isRetentionName } from './retention.ts';

/** Names that are kept for reuse, in all folders together. */
const maxFreeNames = 256;

const namePattern = /^\.svc-[0-9a-f]{24}\.(?:part|kept)$/;

const removedPattern = /^\.nfs[0-9a-f]{24}$/;

const recordName = 'uploads-under-way';

/** The record is compacted above this size. */
const compactAboveBytes = 64 * 1024;

/** Whether a member name is that of a temporary file of an upload: never listed, never addressed. */
export function isTemporaryName(name: string): boolean {
  return name.length === 34 && namePattern.test(name);
}

/**
 * Whether a member name is one that the NFS client of Linux gave to a file that was removed while it is open here; it goes with the close.
 * https://linux-nfs.org/wiki/index.php/Server-side_silly_rename
 */
export function isRemovedName(name: string): boolean {
  return name.length === 28 && removedPattern.test(name);
}

/** The folder in a root of accounts that holds their trash. */
export const trashName = '.svc-trash';

// Some file systems ignore case.
function isTrashName(name: string): boolean {
  return name.length === trashName.length && name.toLowerCase() === trashName;
}

/** Whether a path is that of a record in a trash, which no account has to pay for. */
export function isTrashRecord(path: string): boolean {
  return path.endsWith('.json') && /(?:^|\/)\.svc-trash\/[0-9a-f]{32}\/[0-9a-f]{32}\.json$/.test(path);
}

/** Whether a member name is never listed and never addressed. */
export function isHiddenName(name: string): boolean {
  return isTemporaryName(name) || isRemovedName(name) || isRetentionName(name) || isTrashName(name);
}

/** An unchanged temporary file of this age belongs to a node that is gone: stalled uploads end within a day. */
const abandonedAfterMs = 86_400_000;

/** Unchanged content of an unfinished upload of this age has lost its record: no upload may wait longer (`server.uploads`). */
const keptAbandonedAfterMs = 31 * 86_400_000;

/** When each temporary file may count as abandoned, Unix time in milliseconds; too early for a file that reuses a name. */
const notAbandonedBeforeMs = new Map<string, number>();
const maxRemembered = 10_000;

/**
 * Removes the temporary file of a node that is gone. Each file is checked once a day, so that listings stay cheap while many uploads run,
 * and by its change time, which no client can set. Never throws: another node may be faster.
 *
 * @param path of a file with the name of a temporary one
 */
export function removeAbandoned(path: string, nowMs: number): void {
  const name = basename(path);
  if (nowMs <= (notAbandonedBeforeMs.get(name) ?? 0)) return;
  try {
    const stats = lstatSync(path);
    if (notAbandonedBeforeMs.size >= maxRemembered) notAbandonedBeforeMs.clear();
    const aloneMs = isKeptName(name) ? keptAbandonedAfterMs : abandonedAfterMs;
    notAbandonedBeforeMs.set(name, stats.ctimeMs + aloneMs);
    if (stats.isFile() && nowMs - stats.ctimeMs > aloneMs) freeInBackground(path, stats, () => unlinkSync(path));
  } catch {
    // Gone, or not permitted.
  }
}

/** A new name for an upload's temporary file, hidden and beside its target. */
export function temporaryName(): string {
  return `.svc-${randomBytes(12).toString('hex')}.part`;
}

/** A new name for the content of an upload that may continue after a restart, which does not sweep it. */
export function keptName(): string {
  return `.svc-${randomBytes(12).toString('hex')}.kept`;
}

/** Whether a member name is that of such content. */
export function isKeptName(name: string): boolean {
  return isTemporaryName(name) && name.endsWith('.kept');
}

/** A file or folder that is identified by its inode, and the path that it is to get. */
export interface Successor {
  path: string;
  /** By `inodeAt`. */
  inode: string;
}

/** A line of the record: a path to remove, or with `original` to put back if that is free and `successor` is not in place. */
interface Remains {
  path: string;
  original?: string | undefined;
  successor?: Successor | undefined;
}

/** Identifies a file or folder after a rename; undefined when nothing is there. */
export function inodeAt(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}-${stats.ino}`;
}

/**
 * Records on disk which temporary files and folders exist, so that a killed service leaves none behind: the next start removes exactly
 * these, or puts back what was only set aside, without a search through the accounts' folders.
 */
export class Temporaries {
  readonly #fd: number;
  readonly #log: Log;
  /** Their lines in the record, where those are not formed by the path alone. */
  readonly #running = new Map<string, string | undefined>();
  /** Recorded names that are free again, by folder: to reuse one saves a write to the record. */
  readonly #free = new Map<string, string[]>();
  #freeCount = 0;
  #sizeBytes = 0;

  /** Opens the record and removes the remains of an earlier run. @param dataFolderPath locked against other processes */
  constructor(dataFolderPath: string, log: Log) {
    this.#log = log;
    const path = join(dataFolderPath, recordName);
    this.#fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_APPEND, 0o600);
    syncFolder(dataFolderPath);
    this.#sweep(readFileSync(path, 'utf8'));
  }

  /**
   * Records a temporary file or folder **before** it is created.
   *
   * @param original its former path if it is only set aside: the next start puts it back if that path is free. Recorded again without
   *   it, the file is to be removed
   * @param successor its copy elsewhere: if that is in place, the next start removes the file as well
   */
  add(realPath: string, original?: string, successor?: Successor): void {
    const line = formatLine(original === undefined ? realPath : { path: realPath, original, successor });
    this.#running.set(realPath, line);
    this.#sizeBytes += writeSync(this.#fd, line);
  }

  /**
   * Takes a name for a temporary file that is about to be created, and records it if necessary. Ends with `giveBack` or `delete`.
   *
   * @param folder real path
   */
  take(folder: string): string {
    const names = this.#free.get(folder) ?? [];
    const free = names.pop();
    const name = free ?? temporaryName();
    const realPath = `${folder}/${name}`;
    if (free === undefined) this.add(realPath);
    else {
      this.#freeCount--;
      if (names.length === 0) this.#free.delete(folder);
      this.#running.set(realPath, undefined);
    }
    return name;
  }

  /** Frees the name of a temporary file that was renamed or removed. */
  giveBack(folder: string, name: string): void {
    if (this.#freeCount < maxFreeNames) {
      const names = this.#free.get(folder);
      if (names) names.push(name);
      else this.#free.set(folder, [name]);
      this.#freeCount++;
    }
    this.delete(`${folder}/${name}`);
  }

  /** Syncs the record to disk, where a power cut could otherwise lose or mix up entries. */
  sync(): void {
    fsyncSync(this.#fd);
  }

  /** Forgets a temporary file that was renamed or removed. */
  delete(realPath: string): void {
    this.#running.delete(realPath);
    if (this.#sizeBytes > compactAboveBytes && this.#sizeBytes > this.#running.size * 1024) this.#compact();
  }

  close(): void {
    if (this.#running.size === 0) this.#compact();
    closeSync(this.#fd);
  }

  #compact(): void {
    this.#free.clear();
    this.#freeCount = 0;
    const text = [...this.#running].map(([path, line]) => line ?? formatLine(path)).join('');
    ftruncateSync(this.#fd, 0);
    this.#sizeBytes = text === '' ? 0 : writeSync(this.#fd, text);
  }

  #sweep(record: string): void {
    // The last line of each path counts.
    const remains = new Map(record.split('\n').flatMap((line) => parseLine(line).map((item) => [item.path, item] as const)));
    for (const { path, original, successor } of remains.values()) {
      // The record alone must not lead to the removal of other files.
      if (!isTemporaryName(basename(path))) continue;
      try {
        if (!lstatSync(path, { throwIfNoEntry: false })) continue;
        const isReplaced = successor !== undefined && inodeAt(successor.path) === successor.inode;
        if (!isReplaced && original !== undefined && dirname(original) === dirname(path) && inodeAt(original) === undefined) {
          renameSync(path, original);
          this.#log.info('restored a file that an interrupted move had set aside', { path: original });
        } else {
          rmSync(path, { recursive: true });
          this.#log.info('removed the remains of an interrupted upload or move', { path });
        }
      } catch (error) {
        if (systemErrorCode(error) !== 'ENOENT') this.#log.warn('cannot remove the remains of an upload or move', { path, reason: error });
      }
    }
    ftruncateSync(this.#fd, 0);
    fsyncSync(this.#fd);
  }
}

function formatLine(remains: string | Remains): string {
  return `${JSON.stringify(remains)}\n`;
}

function parseLine(line: string): Remains[] {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'string') return [{ path: value }];
    const { path, original, successor } = value as Record<string, unknown>;
    return typeof path === 'string' && typeof original === 'string' ? [{ path, original, successor: parseSuccessor(successor) }] : [];
  } catch {
    return [];
  }
}

function parseSuccessor(value: unknown): Successor | undefined {
  const { path, inode } = (value ?? {}) as Record<string, unknown>;
  return typeof path === 'string' && typeof inode === 'string' ? { path, inode } : undefined;
}
