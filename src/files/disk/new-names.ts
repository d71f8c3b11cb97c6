import { linkSync, lstatSync, renameSync, unlinkSync } from 'node:fs';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import type { OpenedFolder } from './opened.ts';

/** The rules for the name that new content gets. */
export interface NameRules {
  /** Whether an existing file may be replaced. */
  mayReplace: boolean;
  /** Whether the content is refused or numbered if the file must not be replaced (`on_name_taken`). */
  ifTaken: 'refuse' | 'number';
  /** Whether the account may create a file of another name in the same folder. */
  mayCreate: (name: string) => boolean;
  /** For how long the new file is retained; 0 for not at all. */
  retainDays: number;
}

/** Errors of link(2) that do not mean that the name is taken: no hard links, or their limit is reached. */
const withoutLinks = ['EPERM', 'EOPNOTSUPP', 'ENOTSUP', 'ENOSYS', 'EMLINK'];

/**
 * Renames a file unless the new name is taken, even if other nodes want it at the same moment: link(2) fails for a name that exists, and
 * rename(2) does not. Without hard links the check protects only against this process, not against other nodes.
 *
 * @param isShared whether others know the old name too. If one of them moved the file away first, this rename is undone: otherwise the file
 *   would have two names.
 * @returns whether it got the name
 * @throws Error ENOENT when the old name was taken away meanwhile
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
    // Another node may have renamed the temporary file: the file has its final name anyway.
    if (!isShared && systemErrorCode(error) === 'ENOENT') return true;
    unlinkSync(to);
    throw error;
  }
  return true;
}

const longestNameBytes = 255;

/** `a (2).csv` for `a.csv`: the first name of this kind that is free. */
export function freeName(folder: OpenedFolder, name: string): string {
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

/** The error for a name that is taken, for an account that may only add files. */
export function nameTaken(): ServiceError {
  return new ServiceError('name-taken', 'The name is taken, and files may only be added here.');
}
