import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';

interface Folder {
  member(name: string): string;
}

export interface NameRules {
  mayReplace: boolean;
  /** If the existing file must not be replaced: whether the content is refused or gets a numbered name (`on_name_taken`). */
  ifTaken: 'refuse' | 'number';
  /** Whether the account may create a file with another name in the same folder. */
  mayCreate: (name: string) => boolean;
  /** Number of days for which the new file is retained; 0 if it is not retained. */
  retainDays: number;
}

/** Errors of link(2) on a file system that has no hard links, or for a file that has too many. */
const withoutLinks = ['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'];

/**
 * Renames a file unless the new name is taken. Uses link(2), which fails if the name exists. So nothing is replaced, even if another node
 * creates the name at the same moment. On a file system without hard links, lstat(2) looks for the name first, which protects only against
 * other renames by this process.
 *
 * @param isShared whether other processes may rename the file, too. If another process renamed it first, this rename is undone, because
 *   the file would have two names
 * @returns whether the file got the name
 * @throws Error ENOENT if the old name no longer exists
 */
export function renameToFree(from: string, to: string, isShared = false): boolean {
  try {
    linkSync(from, to);
  } catch (error) {
    const code = systemErrorCode(error) ?? '';
    if (code === 'EEXIST') return false;
    if (!withoutLinks.includes(code)) throw error;
    if (lstatSync(to, { throwIfNoEntry: false })) return false;
    renameSync(from, to);
    return true;
  }
  try {
    unlinkSync(from);
  } catch (error) {
    // If the old name is already gone, the file still has its new name.
    if (!isShared && systemErrorCode(error) === 'ENOENT') return true;
    unlinkSync(to);
    throw error;
  }
  return true;
}

/** Renames a file or folder to a name in a folder. If the name is taken, adds a number. */
export function renameToFreeOrNumber(from: string, folder: Folder, name: string): void {
  const isFolder = lstatSync(from).isDirectory();
  for (let to = name; ; to = freeName(folder, name)) {
    if (isFolder ? renameFolderToFree(from, folder.member(to)) : renameToFree(from, folder.member(to), true)) return;
  }
}

/**
 * Renames a folder unless the new name is taken. An empty folder that has the new name is replaced.
 *
 * @returns whether the folder got the name
 */
export function renameFolderToFree(from: string, to: string): boolean {
  try {
    renameSync(from, to);
    return true;
  } catch (error) {
    if (['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) return false;
    throw error;
  }
}

const longestNameBytes = 255;

/** A free numbered name, such as `a (2).csv` for `a.csv`. If the taken numbers have no gaps, the result has the lowest free number. */
export function freeName(folder: Folder, name: string): string {
  const isTaken = (number: number) => lstatSync(folder.member(numbered(name, number)), { throwIfNoEntry: false }) !== undefined;
  let high = 2;
  while (isTaken(high)) high *= 2;
  let low = high / 2;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (isTaken(middle)) low = middle;
    else high = middle;
  }
  return numbered(name, high);
}

function numbered(name: string, number: number): string {
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  const end = ` (${number})${extension}`;
  const characters = [...stem];
  while (characters.length > 1 && Buffer.byteLength(characters.join('') + end) > longestNameBytes) characters.pop();
  return characters.join('') + end;
}

/** The error if a name is taken and the account may only add files. */
export function nameTaken(): ServiceError {
  return new ServiceError('name-taken', 'The name is taken, and files may only be added here.');
}

/** Thrown if the name is taken. It ends the commit of the quota reservation, so that the bytes of the file are not counted. */
export class NameIsTaken extends Error {}
