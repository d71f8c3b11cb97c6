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
  /** Path members of its events, for the mounts and the path of the last download. */
  told?: { readonly mounts: object; readonly path: string; readonly members: SharedMembers };
}

export const largestKeptBytes = 128 * 1024;

/** Memory of an entry beside its content, at most: buffer, attributes, reply headers, map entry. */
const entryOverheadBytes = 3072;

/** How often the path, or a part of it, is in memory: key, headers, paths of the events. */
const pathFactor = 12;

/**
 * A file that changed within this time may change again with the same change time: clocks and file systems have coarse ticks. Version
 * control systems wait likewise ("racy git").
 */
const restMs = 2000;

/**
 * File systems (statfs(2)) whose attributes show every change at once: ext2 to ext4, XFS, Btrfs, ZFS, F2FS, bcachefs. Network file
 * systems cache attributes, FUSE and overlays take them from elsewhere, and tmpfs shows only the first change through mmap(2).
 */
const trustedTypes: ReadonlySet<number> = new Set([0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1, 0xf2f52010, 0xca451a4e]);

interface Kept extends KeptFile {
  readonly path: string;
  readonly folderPath: string;
  /** Number of the file system. */
  readonly dev: number;
  /** Change time, Unix time in milliseconds. */
  readonly changedMs: number;
  readonly takesBytes: number;
  isUsed: boolean;
}

/**
 * Content of small files, kept in memory up to a limit, by real path. One lstat(2) per download checks that the path still leads to the
 * same unchanged file. How it stays within the accounts' folders: docs/design/decisions.md#files-files.
 */
export class FileCache {
  readonly #clock: Clock;
  #limitBytes: number;
  #takenBytes = 0;
  /** By real path, in the order of eviction. */
  readonly #kept = new Map<string, Kept>();
  /** Folders whose real path was verified in this turn of the event loop. */
  readonly #inPlace = new Set<string>();

  /** @param limitBytes of memory in all, keys and bookkeeping included; 0 keeps nothing */
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
   * A file as it is now: its content if that is kept or can be kept; otherwise open and verified, to be closed by the caller.
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

  /** @returns undefined for files that are large, have a link in their path, or might change without notice */
  #take(path: string, opened: OpenedFile): KeptFile | undefined {
    const { fd, realPath, stats } = opened;
    const takesBytes = stats.size + entryOverheadBytes + path.length * pathFactor;
    if (realPath !== path || stats.size > largestKeptBytes || takesBytes > this.#limitBytes) return undefined;
    const hasRested = this.#clock.nowMs() - stats.ctimeMs > restMs;
    if (!hasRested || !Number.isSafeInteger(stats.ino) || !hasTrustedTimes(opened)) return undefined;
    // A slice of the shared pool would keep the whole pool in memory.
    const content = Buffer.allocUnsafeSlow(stats.size);
    if (readFully(fd, content) < stats.size) return undefined;
    this.#makeRoom(takesBytes);
    const entry = toEntry(basename(path), stats);
    const identity = { path, folderPath: dirname(path), dev: stats.dev, changedMs: stats.ctimeMs };
    const kept: Kept = { content, entry, ...identity, takesBytes, isUsed: false };
    this.#kept.set(path, kept);
    this.#takenBytes += takesBytes;
    return kept;
  }

  // The folder first: if it is replaced by a link after that, lstat(2) finds another file, or the same one.
  #isSame(roots: RealRoots, { path, folderPath, entry, dev, changedMs }: Kept): boolean {
    try {
      if (!this.#isInPlace(roots, folderPath)) return false;
      const { ctimeMs, mtimeMs, size, ino, dev: nowDev } = lstatSync(path);
      return ctimeMs === changedMs && mtimeMs === entry.modifiedMs && size === entry.sizeBytes && ino === entry.inode && nowDev === dev;
    } catch {
      // Opening the file reports the error.
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

  // A file that was used since the last eviction gets another round ("second chance").
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

  #remove(kept: Kept): void {
    this.#kept.delete(kept.path);
    this.#takenBytes -= kept.takesBytes;
  }
}

function hasTrustedTimes({ fd, realPath }: OpenedFile): boolean {
  // The type numbers are those of Linux; no other system uses them.
  return trustedTypes.has(statfsSync(descriptorsNameFiles ? descriptorPath(fd) : realPath).type);
}
