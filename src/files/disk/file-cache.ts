import { closeSync, constants, lstatSync, statfsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { SharedMembers } from '../../events/event.ts';
import type { Clock } from '../../lib/clock.ts';
import { readFully } from '../../lib/disk/descriptors.ts';
import { type Entry, toEntry } from '../entry.ts';
import { type OpenedFile, openFile } from './opened.ts';
import { descriptorPath, descriptorsNameFiles, openToLook, type RealRoots } from './real-roots.ts';
import { asServiceError } from './system-errors.ts';

/** A small file with its content, which must not be modified. */
export interface KeptFile {
  readonly content: Buffer;
  readonly entry: Entry;
  /**
   * The event data that describe the path of the file (`members`). Later downloads of the same path through the same mounts reuse them.
   */
  told?: { readonly mounts: object; readonly path: string; readonly members: SharedMembers };
}

export const largestKeptBytes = 128 * 1024;

/** Maximum memory that an entry takes in addition to its content: buffer object, attributes, reply headers, map entry. */
const entryOverheadBytes = 3072;

/** Number of copies of the path, or of parts of it, in memory: key, headers, paths for events. */
const pathFactor = 12;

/**
 * If a file changed less than this time ago, it may change again without getting a new change time, because clocks and file systems have
 * coarse ticks. Version control systems wait for the same reason ("racy git").
 */
const restMs = 2000;

/**
 * File systems (statfs(2)) whose attributes show every change immediately: ext2 to ext4, XFS, Btrfs, ZFS, F2FS, bcachefs. Others are not
 * trusted: network file systems cache attributes, FUSE and overlays get them from elsewhere, and tmpfs shows only the first change through
 * mmap(2).
 */
const trustedTypes: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0xca451a4e]);

interface CachedFile extends KeptFile {
  readonly path: string;
  readonly folderPath: string;
  readonly dev: number;
  /** Change time, Unix time in milliseconds. */
  readonly changedMs: number;
  readonly takesBytes: number;
  isUsed: boolean;
}

/**
 * Keeps the content of small files in memory up to a limit, by real path. For each download, one lstat(2) checks that the path still leads
 * to the same unchanged file. docs/design/decisions.md#files-files explains why this cannot lead outside the accounts' folders.
 */
export class FileCache {
  readonly #clock: Clock;
  #limitBytes: number;
  #takenBytes = 0;
  /** Files by real path, in the order of eviction. */
  readonly #kept = new Map<string, CachedFile>();
  /** Folders whose real path was verified in this turn of the event loop. */
  readonly #inPlace = new Set<string>();

  /** @param limitBytes maximum memory, including keys and bookkeeping; 0 disables the cache */
  constructor(clock: Clock, limitBytes: number) {
    this.#clock = clock;
    this.#limitBytes = limitBytes;
  }

  get figures(): { files: number; bytes: number } {
    return { files: this.#kept.size, bytes: this.#takenBytes };
  }

  resize(limitBytes: number): void {
    this.#limitBytes = limitBytes;
    this.#makeRoom(0);
  }

  /**
   * Gets a file in its current state. If the cache has the file or can take it in, the content comes from memory. Any other file is opened
   * and verified, and the caller must close it.
   *
   * @param path absolute path
   * @throws ServiceError `not-found`, `forbidden`, or `is-folder`
   */
  open(roots: RealRoots, path: string): KeptFile | OpenedFile {
    const known = this.#find(roots, path);
    if (known) return known;
    const opened = openFile(roots, path);
    let kept: KeptFile | undefined;
    try {
      kept = this.#take(path, opened);
    } catch (error) {
      closeSync(opened.fd);
      throw asServiceError(error);
    }
    if (!kept) return opened;
    closeSync(opened.fd);
    return kept;
  }

  #find(roots: RealRoots, path: string): KeptFile | undefined {
    const kept = this.#kept.get(path);
    if (!kept || !roots.contains(path)) return undefined;
    kept.isUsed = this.#isSame(roots, kept);
    if (kept.isUsed) return kept;
    this.#remove(kept);
    return undefined;
  }

  #take(path: string, opened: OpenedFile): KeptFile | undefined {
    const { fd, realPath, stats } = opened;
    const takesBytes = stats.size + entryOverheadBytes + path.length * pathFactor;
    if (realPath !== path || stats.size > largestKeptBytes || takesBytes > this.#limitBytes) return undefined;
    const hasRested = this.#clock.nowMs() - stats.ctimeMs > restMs;
    if (!hasRested || !Number.isSafeInteger(stats.ino) || !hasTrustedTimes(opened)) return undefined;
    // Not a buffer from Node's shared pool: each cached buffer would keep its whole pool in memory.
    const content = Buffer.allocUnsafeSlow(stats.size);
    if (readFully(fd, content) < stats.size) return undefined;
    this.#makeRoom(takesBytes);
    const entry = toEntry(basename(path), stats);
    const identity = { path, folderPath: dirname(path), dev: stats.dev, changedMs: stats.ctimeMs };
    const kept: CachedFile = { content, entry, ...identity, takesBytes, isUsed: false };
    this.#kept.set(path, kept);
    this.#takenBytes += takesBytes;
    return kept;
  }

  // The folder is checked before the file. If a symbolic link replaces the folder after that, lstat(2) still shows whether the file is the
  // same.
  #isSame(roots: RealRoots, { path, folderPath, entry, dev, changedMs }: CachedFile): boolean {
    try {
      if (!this.#isInPlace(roots, folderPath)) return false;
      const { ctimeMs, mtimeMs, size, ino, dev: nowDev } = lstatSync(path);
      return ctimeMs === changedMs && mtimeMs === entry.modifiedMs && size === entry.sizeBytes && ino === entry.inode && nowDev === dev;
    } catch {
      // The caller opens the file next. That call reports the error.
      return false;
    }
  }

  #isInPlace(roots: RealRoots, folderPath: string): boolean {
    if (this.#inPlace.has(folderPath)) return true;
    const { fd, realPath } = roots.openVerified(folderPath, openToLook | constants.O_DIRECTORY);
    closeSync(fd);
    if (realPath !== folderPath) return false;
    if (this.#inPlace.size === 0) setImmediate(() => this.#inPlace.clear());
    this.#inPlace.add(folderPath);
    return true;
  }

  // Removes files from the beginning of the map. A file that was used moves to the end instead, and stays the next time only if it was used
  // again (the "second chance" algorithm).
  #makeRoom(wantedBytes: number): void {
    for (const kept of this.#kept.values()) {
      if (this.#takenBytes + wantedBytes <= this.#limitBytes) return;
      this.#remove(kept);
      if (!kept.isUsed) continue;
      kept.isUsed = false;
      this.#kept.set(kept.path, kept);
      this.#takenBytes += kept.takesBytes;
    }
  }

  #remove(kept: CachedFile): void {
    this.#kept.delete(kept.path);
    this.#takenBytes -= kept.takesBytes;
  }
}

function hasTrustedTimes({ fd, realPath }: OpenedFile): boolean {
  // Systems other than Linux do not use these numbers, so no file system is trusted there.
  return trustedTypes.has(statfsSync(descriptorsNameFiles ? descriptorPath(fd) : realPath).type);
}
