import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { isWithin } from '../../lib/virtual-path.ts';
import { asServiceError } from './system-errors.ts';

const descriptorsFolder = '/proc/self/fd';
/** Whether a path such as `/proc/self/fd/3` leads to the open file of descriptor 3. It does on Linux with /proc. */
export const descriptorsNameFiles = process.platform === 'linux' && canReadDescriptors();

function canReadDescriptors(): boolean {
  try {
    const fd = openSync('/', constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      return readlinkSync(descriptorPath(fd)) === '/';
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
}

/**
 * The real folders that an account may reach. A file is opened first; then the kernel reports the path of the opened file, and the file is
 * used only if that path is allowed. So no link, renamed parent or race between two requests can lead outside these folders
 * (docs/spec/files.md#symbolic-links).
 */
export class RealRoots {
  readonly #roots: readonly string[];
  readonly #excluded: readonly string[];
  /** Roots whose existence is unknown because of a disk failure. */
  readonly #failed: readonly string[];

  /**
   * @param roots real folders; missing ones are left out
   * @param excluded real folders inside the roots that the account cannot reach (the data folder)
   */
  constructor(roots: readonly string[], excluded: readonly string[]) {
    const failed: string[] = [];
    this.#roots = roots.flatMap((root) => existingRealPath(root, () => failed.push(root)));
    this.#excluded = excluded.flatMap((folder) => existingRealPath(folder));
    this.#failed = failed;
  }

  /** Real paths of the roots that exist, with symbolic links resolved. */
  get paths(): readonly string[] {
    return this.#roots;
  }

  /** Whether the account may reach a real path. @param realPath real path with symbolic links resolved */
  contains(realPath: string): boolean {
    return this.#roots.some((root) => isWithin(realPath, root)) && !this.#excluded.some((folder) => isWithin(realPath, folder));
  }

  /** Whether a root or an excluded folder is at or below this path. If so, the path must not be moved or replaced. */
  isHeldBy(realPath: string): boolean {
    return [...this.#roots, ...this.#excluded].some((folder) => isWithin(folder, realPath));
  }

  /**
   * Opens a path, follows symbolic links, and verifies that the opened file is inside the roots.
   *
   * @param path absolute path
   * @param flags flags of open(2). `O_NONBLOCK` and `O_NOCTTY` are added, so that a FIFO or a terminal cannot block the service
   * @returns the descriptor, to be closed by the caller, and its real path
   * @throws ServiceError `not-found` for a path outside the roots, exactly as for a missing path
   */
  openVerified(path: string, flags: number): { fd: number; realPath: string } {
    let fd: number;
    try {
      fd = openSync(path, flags | constants.O_NONBLOCK | constants.O_NOCTTY);
    } catch (error) {
      throw asServiceError(error);
    }
    try {
      const realPath = openedPath(fd, path);
      if (!this.contains(realPath)) {
        if (!this.#failed.some((root) => isWithin(path, root))) throw notFound();
        throw new ServiceError('unavailable', 'The file system cannot be read; try again.');
      }
      return { fd, realPath };
    } catch (error) {
      closeSync(fd);
      throw asServiceError(error);
    }
  }
}

/** @param onFailure called if a disk failure makes it unknown whether the path exists */
function existingRealPath(path: string, onFailure?: () => void): string[] {
  try {
    // `realpathSync` without `native` would call lstat(2) for every folder of the path.
    return [realpathSync.native(path)];
  } catch (error) {
    if (isServiceError(asServiceError(error), 'internal', 'unavailable')) onFailure?.();
    return [];
  }
}

/** Whether a path leads to a real path when links are followed. */
export function resolvesTo(path: string, realPath: string): boolean {
  return existingRealPath(path)[0] === realPath;
}

function notFound(): ServiceError {
  return new ServiceError('not-found', 'Path not found.');
}

/** Resolves the symbolic links in the folder of a path, but not the last name. Returns the path unchanged if the folder is missing. */
export function resolveParent(path: string): string {
  try {
    return `${realpathSync.native(dirname(path))}/${basename(path)}`;
  } catch {
    return path;
  }
}

function openedPath(fd: number, path: string): string {
  if (descriptorsNameFiles) return readlinkSync(descriptorPath(fd));
  // Without /proc, the path is resolved again, and must still lead to the opened file.
  const realPath = realpathSync(path);
  const opened = fstatSync(fd, { bigint: true });
  const found = lstatSync(realPath, { bigint: true });
  if (opened.ino !== found.ino || opened.dev !== found.dev) throw notFound();
  return realPath;
}

/** A path to the open file of a descriptor; only if `descriptorsNameFiles`. */
export function descriptorPath(fd: number): string {
  return `${descriptorsFolder}/${fd}`;
}

/**
 * The flag O_PATH of open(2): it opens a path even without read permission, and does not affect devices. On systems without the flag,
 * O_RDONLY is used.
 */
export const openToLook = descriptorsNameFiles ? 0o10000000 : constants.O_RDONLY;
