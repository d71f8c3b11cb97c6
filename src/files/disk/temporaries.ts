import { randomBytes } from 'node:crypto';
import { closeSync, constants, fsyncSync, ftruncateSync, lstatSync, openSync, readFileSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { syncFolder } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { freeInBackground } from './freeing.ts';
import { renameToFreeOrNumber } from './new-names.ts';
import { resolvesTo } from './real-roots.ts';
import { isRetentionName } from './retention.ts';

const maxFreeNames = 256;

const namePattern = /^\.svc-[0-9a-f]{24}\.(?:part|kept|back)$/;

const removedPattern = /^\.nfs[0-9a-f]{24}$/;

const recordName = 'uploads-under-way';

/** If the file `recordName` is larger than this, entries that are no longer needed are removed from it. */
const compactAboveBytes = 64 * 1024;

/**
 * Whether a name is the hidden name of an upload's content, or of an item that was set aside (`asideName`). Files with such a name are
 * never listed, and cannot be addressed.
 */
export function isTemporaryName(name: string): boolean {
  return name.length === 34 && namePattern.test(name);
}

/**
 * Whether a name has the form that the NFS client of Linux uses for removed files. If a file is removed while it is open, this client
 * renames the file, and removes it when the file is closed. https://linux-nfs.org/wiki/index.php/Server-side_silly_rename
 */
export function isRemovedName(name: string): boolean {
  return name.length === 28 && removedPattern.test(name);
}

/** The name of the trash folder in a root of an account. */
export const trashName = '.svc-trash';

// Some file systems ignore case.
function isTrashName(name: string): boolean {
  return name.length === trashName.length && name.toLowerCase() === trashName;
}

/** Whether a path is the path of a record in a trash. Records do not count towards a quota. */
export function isTrashRecord(path: string): boolean {
  return path.endsWith('.json') && /(?:^|\/)\.svc-trash\/[0-9a-f]{32}\/[0-9a-f]{32}\.json$/.test(path);
}

/** Whether a name is hidden: files with such a name are never listed, and cannot be addressed. */
export function isHiddenName(name: string): boolean {
  return isTemporaryName(name) || isRemovedName(name) || isRetentionName(name) || isTrashName(name);
}

/** Stalled uploads end within a day. So if a temporary file is unchanged for this time, it was left by a node that no longer runs. */
const abandonedAfterMs = 86_400_000;

/**
 * No upload may wait this long for its next request (`server.uploads`). So if kept content is unchanged for this time, the upload store no
 * longer has a record of it.
 */
const keptAbandonedAfterMs = 31 * 86_400_000;

/**
 * The earliest time at which each temporary file may count as abandoned, Unix time in milliseconds. If a name is reused, this time is too
 * early, which only causes one more check.
 */
const notAbandonedBeforeMs = new Map<string, number>();
const maxRemembered = 10_000;

/**
 * Removes a temporary file if it was left by a node that no longer runs. A file is checked again only after the time at which it could be
 * abandoned, so that listings stay fast while many uploads run. The check uses the change time, which no client can set. Items that were
 * set aside stay. Never throws, because another node may remove the file first.
 *
 * @param path path of a file with the name of a temporary file
 */
export function removeAbandoned(path: string, nowMs: number): void {
  const name = basename(path);
  if (nowMs <= (notAbandonedBeforeMs.get(name) ?? 0)) return;
  try {
    const stats = lstatSync(path);
    if (isAsideName(name)) return;
    if (notAbandonedBeforeMs.size >= maxRemembered) notAbandonedBeforeMs.clear();
    const aloneMs = isKeptName(name) ? keptAbandonedAfterMs : abandonedAfterMs;
    notAbandonedBeforeMs.set(name, stats.ctimeMs + aloneMs);
    if (stats.isFile() && nowMs - stats.ctimeMs > aloneMs) freeInBackground(path, stats, () => unlinkSync(path));
  } catch {
    // The file is gone, or the service may not remove it.
  }
}

/** A new hidden name for an upload's temporary file beside its target. */
export function temporaryName(): string {
  return `.svc-${randomBytes(12).toString('hex')}.part`;
}

/**
 * A new name for the content of an upload that may continue after a restart. When the service starts, it removes the remains of other
 * uploads, but not such content.
 */
export function keptName(): string {
  return `.svc-${randomBytes(12).toString('hex')}.kept`;
}

/** Whether a name was made by `keptName`. */
export function isKeptName(name: string): boolean {
  return isTemporaryName(name) && name.endsWith('.kept');
}

/** A new name for a file or folder that may get its former name back. */
export function asideName(): string {
  return `.svc-${randomBytes(12).toString('hex')}.back`;
}

/** Whether a name was made by `asideName`. */
export function isAsideName(name: string): boolean {
  return isTemporaryName(name) && name.endsWith('.back');
}

/** A moved file or folder: its final path, and the inode by which it is recognised. */
export interface Successor {
  path: string;
  /** Result of `inodeAt`. */
  inode: string;
}

/**
 * A line of the record, about a file or folder ("item") at `path`. The next start of the service moves the item back, or removes it:
 * - Without `original`, the item is removed.
 * - With `original` only, the item is moved back to `original` if that path is free. If not, the item was replaced, and is removed.
 * - With a `successor`, the item is removed if the successor exists. Otherwise the item is moved back; its name gets a number if `original`
 *   is not free.
 */
interface Remains {
  path: string;
  original?: string | undefined;
  successor?: Successor | undefined;
}

/** An identifier of a file or folder that stays the same after a rename; undefined if the path does not exist. */
export function inodeAt(path: string): string | undefined {
  const stats = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return stats && `${stats.dev}-${stats.ino}`;
}

/**
 * Keeps a record on disk of the temporary files and folders that exist. So the next start after a crash need not search the accounts'
 * folders. That start removes the files and folders, or moves them back if they were only set aside.
 */
export class Temporaries {
  readonly #fd: number;
  readonly #log: Log;
  /** The existing temporary files and folders by path, with their lines in the record; undefined if the line is only the path. */
  readonly #running = new Map<string, string | undefined>();
  /** Recorded names that are free again, by folder. Reuse of a name saves a write to the record. */
  readonly #free = new Map<string, string[]>();
  #freeCount = 0;
  #sizeBytes = 0;

  /** Opens the record; removes or moves back the remains of an earlier run. @param dataFolderPath must be locked against other processes */
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
   * @param original former path of a file or folder that is only set aside. The next start moves it back if this path is free. To have it
   *   removed instead, record it again without `original`
   * @param successor the final file or folder, if the temporary one is being moved. If the successor exists, the next start removes the
   *   temporary one
   */
  add(realPath: string, original?: string, successor?: Successor): void {
    const line = formatLine(original === undefined ? realPath : { path: realPath, original, successor });
    this.#sizeBytes += writeSync(this.#fd, line);
    this.#running.set(realPath, line);
  }

  /**
   * Takes a name for a temporary file that is about to be created, and records it if necessary. The caller later calls `giveBack` or
   * `delete` for the name.
   *
   * @param folder real path of the folder
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

  /** Syncs the record to disk. Without the sync, a power cut could lose entries or change their order. */
  sync(): void {
    fsyncSync(this.#fd);
  }

  /** Forgets a temporary file that was renamed or deleted. */
  delete(realPath: string): void {
    this.#running.delete(realPath);
    if (this.#sizeBytes > compactAboveBytes && this.#sizeBytes > this.#running.size * 1024) this.#compact();
  }

  close(): void {
    if (this.#running.size === 0) this.#compact();
    closeSync(this.#fd);
  }

  // Never throws, because the caller has already renamed or removed a file. The next call of `delete` tries again.
  #compact(): void {
    this.#free.clear();
    this.#freeCount = 0;
    const text = [...this.#running].map(([path, line]) => line ?? formatLine(path)).join('');
    try {
      ftruncateSync(this.#fd, 0);
      this.#sizeBytes = text === '' ? 0 : writeSync(this.#fd, text);
    } catch (error) {
      this.#log.warn('the record of temporary files could not be made smaller; this is tried again', { reason: error });
    }
  }

  #sweep(record: string): void {
    const remains = new Map(record.split('\n').flatMap((line) => parseLine(line).map((item) => [item.path, item] as const)));
    const left: Remains[] = [];
    for (const { path, original, successor } of remains.values()) {
      // The name is checked, so that a damaged record cannot lead to the removal of other files.
      if (!isTemporaryName(basename(path))) continue;
      try {
        if (!lstatSync(path, { throwIfNoEntry: false })) continue;
        const isReplaced = successor ? inodeAt(successor.path) === successor.inode : inodeAt(original ?? '') !== undefined;
        if (!isReplaced && original !== undefined) {
          // If a symbolic link has replaced a folder of either path, the item is not moved, because it could end up elsewhere.
          if (![path, original].every((one) => resolvesTo(dirname(one), dirname(one))))
            throw new Error('its folder or its former folder is gone');
          const folder = { member: (name: string) => join(dirname(original), name) };
          renameToFreeOrNumber(path, folder, basename(original));
          this.#log.info('restored a file that an interrupted move had set aside', { path: original });
        } else {
          rmSync(path, { recursive: true });
          this.#log.info('removed the remains of an interrupted upload or move', { path });
        }
      } catch (error) {
        if (systemErrorCode(error) === 'ENOENT') continue;
        this.#log.warn('cannot restore or remove the remains of an upload or move; the next start tries again', { path, reason: error });
        left.push({ path, original, successor });
      }
    }
    ftruncateSync(this.#fd, 0);
    for (const { path, original, successor } of left) this.add(path, original, successor);
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
    if (typeof path !== 'string' || typeof original !== 'string') return [];
    // During a move, the source has a hidden name (`asideName`) in the target folder. So only an item with a name of this form may be moved
    // back to another folder.
    const mayReturn = dirname(path) === dirname(original) || isAsideName(basename(path));
    return mayReturn ? [{ path, original, successor: parseSuccessor(successor) }] : [{ path }];
  } catch {
    return [];
  }
}

function parseSuccessor(value: unknown): Successor | undefined {
  const { path, inode } = (value ?? {}) as Record<string, unknown>;
  return typeof path === 'string' && typeof inode === 'string' ? { path, inode } : undefined;
}
