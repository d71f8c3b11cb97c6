import { closeSync, constants, lstatSync, readSync, statfsSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { SharedMembers } from '../../events/event.ts';
import type { Clock } from '../../lib/clock.ts';
import { type Entry, toEntry } from '../entry.ts';
import { type OpenedFile, openFile } from './opened.ts';
import { descriptorPath, descriptorsNameFiles, openToLook, type RealRoots } from './real-roots.ts';
import { asServiceError } from './system-errors.ts';

/** A small file with its content, which nobody must change. */
export interface KeptFile {
  readonly content: Buffer;
  readonly entry: Entry;
  /** What its events begin with, for those who reached it last, by a path of their own. */
  told?: { readonly mounts: object; readonly path: string; readonly members: SharedMembers };
}

/** Largest file that is kept. */
export const largestKeptBytes = 128 * 1024;

/** What an entry takes beside its content, at most, in bytes: buffer, attributes, reply headers, its place in the map. */
const entryOverheadBytes = 3072;

/** How often its path, or a part of it, stands in what is kept: key, headers, the paths of its events. */
const pathFactor = 12;

/**
 * A file that was changed in this time may be changed again without another change time: what a clock ticks in, and the coarsest
 * change times of file systems, with room to spare. Version-control systems do the same ("racy git").
 */
const restMs = 2000;

/**
 * Types of statfs(2) whose attributes tell of every change at once: ext2 to ext4, XFS, Btrfs, ZFS, F2FS, bcachefs. Those of network file
 * systems are as old as the client likes, those of FUSE and overlays somebody else's, and tmpfs notes the first change alone that is
 * made through mmap(2).
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
 * Content of small files, kept in memory up to a limit, by real path. What is handed out is what is on the disk at that moment: one lstat(2)
 * says whether the path still leads to the very file, unchanged. How it stays within the accounts' folders:
 * docs/design/decisions.md#files-files.
 */
export class FileCache {
  readonly #clock: Clock;
  #limitBytes: number;
  #takenBytes = 0;
  /** By real path, in the order in which they are looked at when room is wanted. */
  readonly #kept = new Map<string, Kept>();
  /** Folders that were found to be where they seem to be, in this turn of the event loop. */
  readonly #inPlace = new Set<string>();

  /** @param limitBytes of all that is kept, keys and bookkeeping included; 0 keeps nothing */
  constructor(clock: Clock, limitBytes: number) {
    this.#clock = clock;
    this.#limitBytes = limitBytes;
  }

  /** What is kept at present. */
  get figures(): { files: number; bytes: number } {
    return { files: this.#kept.size, bytes: this.#takenBytes };
  }

  /** Takes another limit from now on. */
  resize(limitBytes: number): void {
    this.#limitBytes = limitBytes;
    this.#makeRoom(0);
  }

  /**
   * A file as it is now: its content where that is kept, or can be from now on; else open and verified, to be closed by the caller.
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

  /** @returns undefined for what is not kept: large files, those with a link in their path, and those whose changes might not show */
  #take(path: string, opened: OpenedFile): KeptFile | undefined {
    const { fd, realPath, stats } = opened;
    const takesBytes = stats.size + entryOverheadBytes + path.length * pathFactor;
    if (realPath !== path || stats.size > largestKeptBytes || takesBytes > this.#limitBytes) return undefined;
    const hasRested = this.#clock.nowMs() - stats.ctimeMs > restMs;
    if (!hasRested || !Number.isSafeInteger(stats.ino) || !hasTrustedTimes(opened)) return undefined;
    const content = readWhole(fd, stats.size);
    if (!content) return undefined;
    this.#makeRoom(takesBytes);
    const entry = toEntry(basename(path), stats);
    const identity = { path, folderPath: dirname(path), dev: stats.dev, changedMs: stats.ctimeMs };
    const kept: Kept = { content, entry, ...identity, takesBytes, isUsed: false };
    this.#kept.set(path, kept);
    this.#takenBytes += takesBytes;
    return kept;
  }

  // The folder first: should it be swapped for a link behind that, what lstat(2) finds is another file, or the very one that was kept.
  #isSame(roots: RealRoots, { path, folderPath, entry, dev, changedMs }: Kept): boolean {
    try {
      if (!this.#isInPlace(roots, folderPath)) return false;
      const { ctimeMs, mtimeMs, size, ino, dev: nowDev } = lstatSync(path);
      return ctimeMs === changedMs && mtimeMs === entry.modifiedMs && size === entry.sizeBytes && ino === entry.inode && nowDev === dev;
    } catch {
      // Whoever opens it is told why.
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

  // What was used since it was last looked at gets another round ("second chance").
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
  // Other systems number their file systems otherwise; none has these numbers.
  return trustedTypes.has(statfsSync(descriptorsNameFiles ? descriptorPath(fd) : realPath).type);
}

/** @returns undefined when the file has become shorter */
function readWhole(fd: number, sizeBytes: number): Buffer | undefined {
  // Memory of its own: a view would keep all of a piece that many share.
  const content = Buffer.allocUnsafeSlow(sizeBytes);
  for (let done = 0; done < sizeBytes; ) {
    const bytesRead = readSync(fd, content, done, sizeBytes - done, done);
    if (bytesRead === 0) return undefined;
    done += bytesRead;
  }
  return content;
}
