import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import { readFully } from '../../lib/disk/descriptors.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import type { Durability } from './folder-sync.ts';
import { descriptorPath, descriptorsNameFiles, openToLook, type RealRoots } from './real-roots.ts';
import { asServiceError } from './system-errors.ts';
import { trashName } from './temporaries.ts';

/** An opened folder and a name in it, to which a file will be written. */
export interface WriteTarget {
  parent: OpenedFolder;
  name: string;
  existing: Stats | undefined;
}

/**
 * Opens the folder of a file that will be written. If the path is a symbolic link to a file inside the roots, the target of the link will
 * be replaced. Any other link counts as absent and will be replaced itself.
 *
 * @throws ServiceError `parent-missing`, `is-folder`, `forbidden`
 */
export function openWriteTarget(roots: RealRoots, path: string): WriteTarget {
  const parent = openParent(roots, path);
  try {
    const name = basename(path);
    const stats = lstatOrUndefined(parent.member(name));
    if (stats?.isSymbolicLink()) {
      const linked = inspect(roots, path);
      if (!linked) return { parent, name, existing: undefined };
      checkReplaceable(linked.stats);
      const linkedParent = openFolder(roots, dirname(linked.realPath));
      parent.close();
      return { parent: linkedParent, name: basename(linked.realPath), existing: linked.stats };
    }
    if (stats) checkReplaceable(stats);
    return { parent, name, existing: stats };
  } catch (error) {
    parent.close();
    throw asServiceError(error);
  }
}

function checkReplaceable(stats: Stats): void {
  if (stats.isDirectory()) throw new ServiceError('is-folder', 'A folder has this name.');
  if (!stats.isFile()) throw new ServiceError('never-allowed', 'The path is not a regular file.');
}

/** The result of lstat(2) for a path; undefined if the path does not exist. */
export function lstatOrUndefined(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}

/** A verified, open file. The owner must close it exactly once. */
export interface OpenedFile {
  fd: number;
  realPath: string;
  stats: Stats;
}

/**
 * A verified, open folder. Members are addressed through its descriptor, so they stay the same if the path leads to another folder later.
 */
export class OpenedFolder {
  readonly fd: number;
  readonly realPath: string;
  #isOpen = true;

  constructor(fd: number, realPath: string) {
    this.fd = fd;
    this.realPath = realPath;
  }

  /**
   * A path to member `name`. With `descriptorsNameFiles`, the path stays bound to this folder, even if the folder is renamed or replaced by
   * a symbolic link (as with openat(2)).
   */
  member(name: string): string {
    return `${descriptorsNameFiles ? descriptorPath(this.fd) : this.realPath}/${name}`;
  }

  /** The current real path of the folder. It differs from `realPath` if the folder was moved after it was opened. */
  currentPath(): string {
    return descriptorsNameFiles ? readlinkSync(descriptorPath(this.fd)) : this.realPath;
  }

  /**
   * Runs a synchronous action with this folder as the working directory. Access to a member by its bare name costs less than half as much
   * as access through `member`. No other code of the service uses relative paths, so the change of the working directory affects nothing
   * else.
   *
   * @param action receives a function that turns a member's name into a path
   */
  inside<T>(action: (pathOf: (name: string) => string) => T): T {
    if (!enter(this.fd)) return action((name) => this.member(name));
    try {
      return action((name) => name);
    } finally {
      leave();
    }
  }

  /**
   * Reads small files of this folder synchronously. Requires `descriptorsNameFiles`: otherwise members are not bound to this folder, and
   * each file would have to be verified.
   *
   * @param action receives a function that reads the start of member `name` into a buffer; the member must not be a symbolic link. This
   *   function returns the number of bytes read (less than the buffer's length for a shorter file), and throws ServiceError `not-found` or
   *   `forbidden`
   */
  readMembers<T>(action: (readInto: (name: string, target: Buffer) => number) => T): T {
    if (!descriptorsNameFiles) throw new Error('Members are not bound to their folder here.');
    return this.inside((pathOf) => action((name, target) => readMember(pathOf(name), target)));
  }

  /** Whether the folder was removed, or moved into the trash, since it was opened. */
  get isGone(): boolean {
    if (descriptorsNameFiles) {
      const path = readlinkSync(descriptorPath(this.fd));
      if (path.includes(`/${trashName}/`)) return true;
      // The kernel adds " (deleted)" to the path of a removed folder. A folder's own name may also end like this, so `nlink` decides.
      if (!path.endsWith(' (deleted)')) return false;
    }
    return fstatSync(this.fd).nlink === 0;
  }

  close(): void {
    if (this.#isOpen) closeSync(this.fd);
    this.#isOpen = false;
  }
}

// The real path of the file needs no check, because the folder is verified and the file is not a symbolic link.
function readMember(path: string, target: Buffer): number {
  try {
    const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      if (!fstatSync(fd).isFile()) throw new ServiceError('not-found', 'Path not found.');
      return readFully(fd, target);
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    if (systemErrorCode(error) === 'ELOOP') throw new ServiceError('not-found', 'Path not found.', { cause: error });
    throw asServiceError(error);
  }
}

/** A descriptor of the initial working directory, because the path of that directory may no longer exist. */
let startFd: number | undefined;

/** @returns whether the working directory was changed; that is impossible in worker threads */
function enter(fd: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    startFd ??= openSync('.', openToLook | constants.O_DIRECTORY);
    process.chdir(`/proc/self/fd/${fd}`);
    return true;
  } catch {
    return false;
  }
}

function leave(): void {
  process.chdir(`/proc/self/fd/${startFd}`);
}

/** Opens a file for reading. @throws ServiceError `not-found`, `forbidden`, or `is-folder` */
export function openFile(roots: RealRoots, path: string): OpenedFile {
  const { fd, realPath } = roots.openVerified(path, constants.O_RDONLY);
  try {
    const stats = fstatSync(fd);
    if (stats.isDirectory()) throw new ServiceError('is-folder', 'The path is a folder.');
    // Devices, FIFOs and sockets count as absent.
    if (!stats.isFile()) throw new ServiceError('not-found', 'Path not found.');
    return { fd, realPath, stats };
  } catch (error) {
    closeSync(fd);
    throw asServiceError(error);
  }
}

/** Opens a folder. @throws ServiceError `forbidden`, or `not-found` (also if the path is a file) */
export function openFolder(roots: RealRoots, path: string): OpenedFolder {
  const { fd, realPath } = roots.openVerified(path, constants.O_RDONLY | constants.O_DIRECTORY);
  return new OpenedFolder(fd, realPath);
}

/** Opens a folder to reach members whose names are known. The folder need not be readable. @throws ServiceError as `openFolder` */
export function openFolderToPass(roots: RealRoots, path: string): OpenedFolder {
  const { fd, realPath } = roots.openVerified(path, openToLook | constants.O_DIRECTORY);
  return new OpenedFolder(fd, realPath);
}

/**
 * Inspects a path and follows symbolic links. The process needs no permission on the file itself.
 *
 * @returns undefined if nothing that the account can reach exists at the path
 * @throws ServiceError `forbidden` if the process may not search a folder of the path
 */
export function inspect(roots: RealRoots, path: string): { stats: Stats; realPath: string; isLink: boolean } | undefined {
  try {
    const { fd, realPath } = roots.openVerified(path, openToLook);
    try {
      const stats = fstatSync(fd);
      const isLink = basename(realPath) !== basename(path) || lstatSync(path).isSymbolicLink();
      return stats.isFile() || stats.isDirectory() ? { stats, realPath, isLink } : undefined;
    } finally {
      closeSync(fd);
    }
  } catch (error) {
    const meaning = asServiceError(error);
    if (meaning.code === 'not-found') return undefined;
    throw meaning;
  }
}

/** Finds the path of a folder after it was moved, even if another process moves it again. */
export class FollowedFolder {
  #folder: OpenedFolder | undefined;

  /** Must be called right before the folder is moved. @param path path of the folder; a path to anything else is not followed */
  open(roots: RealRoots, path: string): void {
    this.close();
    try {
      this.#folder = openFolderToPass(roots, path);
    } catch {
      this.#folder = undefined;
    }
  }

  /** The current real path of the folder; undefined if it was removed, or if the system does not report it. */
  get path(): string | undefined {
    if (!this.#folder || !descriptorsNameFiles || fstatSync(this.#folder.fd).nlink === 0) return undefined;
    return this.#folder.currentPath();
  }

  close(): void {
    this.#folder?.close();
    this.#folder = undefined;
  }
}

/** The error if another request, node or program moved a folder before a change in the folder was made. */
export function folderMoved(): ServiceError {
  return new ServiceError('unavailable', 'The folder was moved meanwhile; try again.');
}

/** Opens the parent folder of `path`. @throws ServiceError `parent-missing` */
export function openParent(roots: RealRoots, path: string): OpenedFolder {
  try {
    return openFolder(roots, dirname(path));
  } catch (error) {
    const meaning = asServiceError(error);
    if (meaning.code === 'not-found') throw new ServiceError('parent-missing', 'The parent folder does not exist.', { cause: error });
    throw meaning;
  }
}

/**
 * Changes a name in its verified parent folder. The change is on disk when the promise resolves, unless `durability` reports a fault.
 *
 * @param action receives a path that is bound to the opened parent
 * @throws ServiceError `parent-missing`, and the errors of `action`
 */
export async function changeInParent<T>(roots: RealRoots, path: string, durability: Durability, action: (member: string) => T): Promise<T> {
  const parent = openParent(roots, path);
  try {
    const result = action(parent.member(basename(path)));
    await durability.syncFolder(parent.fd);
    return result;
  } catch (error) {
    throw asServiceError(error);
  } finally {
    parent.close();
  }
}
