import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { isWithin } from '../../lib/virtual-path.ts';
import { asServiceError } from './system-errors.ts';

const descriptorsFolder = '/proc/self/fd';
/** Whether a path through a descriptor names the open file: on Linux with /proc. */
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
 * The real folders that an account may reach. A file is first opened, then the kernel says what was opened, and only then is it used. So
 * no link, renamed parent or race between two requests leads outside (docs/spec/files.md#symbolic-links).
 */
export class RealRoots {
  readonly #roots: readonly string[];
  readonly #excluded: readonly string[];
  /** Roots on a disk that failed, so that it is not known whether they exist. */
  readonly #failed: readonly string[];

  /**
   * @param roots real folders; those that do not exist are left out
   * @param excluded real folders inside them that stay out of reach (the data folder)
   */
  constructor(roots: readonly string[], excluded: readonly string[]) {
    const failed: string[] = [];
    this.#roots = roots.flatMap((root) => existingRealPath(root, () => failed.push(root)));
    this.#excluded = excluded.flatMap((folder) => existingRealPath(folder));
    this.#failed = failed;
  }

  /** Real paths, links resolved, of the folders that exist. */
  get paths(): readonly string[] {
    return this.#roots;
  }

  /** Whether a resolved real path may be reached. */
  contains(realPath: string): boolean {
    return this.#roots.some((root) => isWithin(realPath, root)) && !this.#excluded.some((folder) => isWithin(realPath, folder));
  }

  /** Whether a root or an excluded folder is this path or below it, so that the path must not be moved or replaced. */
  isHeldBy(realPath: string): boolean {
    return [...this.#roots, ...this.#excluded].some((folder) => isWithin(folder, realPath));
  }

  /**
   * Opens a path, links followed, and verifies what was opened.
   *
   * @param path absolute path
   * @param flags as of open(2); `O_NONBLOCK` and `O_NOCTTY` are added, so that a FIFO or a terminal cannot stall the service
   * @returns the descriptor, to be closed by the caller, and its real path
   * @throws ServiceError `not-found` outside the roots, exactly as for what does not exist
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
        throw new ServiceError('unavailable', 'The file system cannot be read, try again.');
      }
      return { fd, realPath };
    } catch (error) {
      closeSync(fd);
      throw asServiceError(error);
    }
  }
}

/** @param onFailure called if the disk cannot tell whether the path exists */
function existingRealPath(path: string, onFailure?: () => void): string[] {
  try {
    // The other form calls lstat(2) for every folder of the path.
    return [realpathSync.native(path)];
  } catch (error) {
    if (isServiceError(asServiceError(error), 'internal', 'unavailable')) onFailure?.();
    return [];
  }
}

/** Whether a path, links followed, leads to a real path. */
export function resolvesTo(path: string, realPath: string): boolean {
  return existingRealPath(path)[0] === realPath;
}

function notFound(): ServiceError {
  return new ServiceError('not-found', 'Path not found.');
}

/** A path with the links of its folder resolved, and the last name as it is; unchanged if that folder is missing. */
export function resolveParent(path: string): string {
  try {
    return `${realpathSync.native(dirname(path))}/${basename(path)}`;
  } catch {
    return path;
  }
}

function openedPath(fd: number, path: string): string {
  if (descriptorsNameFiles) return readlinkSync(descriptorPath(fd));
  // Without /proc the target of the path must be the opened file.
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

/** Flag that opens a path without read permission, and without effect on devices (open(2), O_PATH). */
export const openToLook = descriptorsNameFiles ? 0o10000000 : constants.O_RDONLY;
