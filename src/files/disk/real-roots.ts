import { closeSync, constants, fstatSync, lstatSync, openSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, sep } from 'node:path';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { asServiceError } from './system-errors.ts';

const descriptorsFolder = '/proc/self/fd';
/** Whether a path through a descriptor names what is open: on Linux with /proc. */
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

/** Whether a real path is a folder or lies below it. */
export function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep);
}

/**
 * The real folders that an account may reach. Nothing is checked before it is opened and then opened:
 * a file is opened first, then the kernel is asked what was opened, and only then is it used. So no
 * link, renamed parent or race between two requests leads outside (docs/spec/files.md#symbolic-links).
 */
export class RealRoots {
  readonly #roots: readonly string[];
  readonly #excluded: readonly string[];
  /** Roots on a disk that failed: whether they exist is not known. */
  readonly #failed: readonly string[];

  /**
   * @param roots real folders; those that do not exist are left out
   * @param excluded real folders inside them that stay out of reach all the same (the data folder)
   */
  constructor(roots: readonly string[], excluded: readonly string[]) {
    const failed: string[] = [];
    this.#roots = roots.flatMap((root) => existingRealPath(root, () => failed.push(root)));
    this.#excluded = excluded.flatMap((folder) => existingRealPath(folder));
    this.#failed = failed;
  }

  /** The real paths, links resolved, of the folders that exist. */
  get paths(): readonly string[] {
    return this.#roots;
  }

  /** Whether a resolved real path may be reached. */
  contains(realPath: string): boolean {
    return this.#roots.some((root) => isBelow(realPath, root)) && !this.#excluded.some((folder) => isBelow(realPath, folder));
  }

  /** Whether a root, or a folder that is out of reach, is this very path or lies below it: then it must stay where it is. */
  isHeldBy(realPath: string): boolean {
    return [...this.#roots, ...this.#excluded].some((folder) => isBelow(folder, realPath));
  }

  /**
   * Opens a path, links followed, and verifies what was opened.
   *
   * @param path absolute path
   * @param flags as of open(2); `O_NONBLOCK` and `O_NOCTTY` are added, so that a FIFO or a terminal cannot stall the service
   * @returns the descriptor and the real path behind it; the caller closes the descriptor
   * @throws ServiceError `not-found` for what is outside the roots, exactly as for what does not exist
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
      if (!this.contains(realPath)) throw this.#failed.some((root) => isBelow(path, root)) ? unreachable() : notFound();
      return { fd, realPath };
    } catch (error) {
      closeSync(fd);
      throw asServiceError(error);
    }
  }
}

/** @param onFailure told that the disk cannot say whether the path exists */
function existingRealPath(path: string, onFailure?: () => void): string[] {
  try {
    // The native form: the other one asks lstat(2) about every folder on the way.
    return [realpathSync.native(path)];
  } catch (error) {
    if (isServiceError(asServiceError(error), 'internal', 'unavailable')) onFailure?.();
    return [];
  }
}

function notFound(): ServiceError {
  return new ServiceError('not-found', 'Path not found.');
}

function unreachable(): ServiceError {
  return new ServiceError('unavailable', 'The file system cannot be read, try again.');
}

/** A path with the links of its folder resolved, and the last name as it is; as it was given where that folder is missing. */
export function resolveParent(path: string): string {
  try {
    return `${realpathSync.native(dirname(path))}/${basename(path)}`;
  } catch {
    return path;
  }
}

function openedPath(fd: number, path: string): string {
  if (descriptorsNameFiles) return readlinkSync(descriptorPath(fd));
  // Elsewhere than on Linux: the path's target must be the very file that was opened.
  const realPath = realpathSync(path);
  const opened = fstatSync(fd, { bigint: true });
  const found = lstatSync(realPath, { bigint: true });
  if (opened.ino !== found.ino || opened.dev !== found.dev) throw notFound();
  return realPath;
}

/** A path to what a descriptor of this process has open, where `descriptorsNameFiles`. */
export function descriptorPath(fd: number): string {
  return `${descriptorsFolder}/${fd}`;
}

/** Flags that open a path for looking only: no read permission needed, no effect on devices (open(2), O_PATH). */
export const openToLook = descriptorsNameFiles ? 0o10000000 : constants.O_RDONLY;

/**
 * A path to member `name` of an opened folder that keeps meaning that very folder, even when somebody
 * renames it or puts a link in its place meanwhile (what openat(2) does in other languages).
 *
 * @param folder a descriptor of the folder and its real path, from `RealRoots.openVerified`
 */
export function memberOfOpened(folder: { fd: number; realPath: string }, name: string): string {
  return descriptorsNameFiles ? `${descriptorPath(folder.fd)}/${name}` : `${folder.realPath}${sep}${name}`;
}
