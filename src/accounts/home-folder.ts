import { lchownSync, lstatSync, mkdirSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, sep } from 'node:path';
import { makeFolders, syncParentFolder } from '../lib/disk/durable-files.ts';
import { systemId } from '../lib/disk/system-id.ts';
import { isServiceError, ServiceError, systemErrorCode } from '../lib/errors.ts';
import { checkNewName } from '../lib/virtual-path.ts';
import type { Account } from './account.ts';

function ownerIds(account: Account): { uid: number; gid: number } | undefined {
  if (!account.homeFolderOwner && !account.homeFolderGroup) return undefined;
  return {
    uid: account.homeFolderOwner ? systemId('/etc/passwd', account.homeFolderOwner) : (process.getuid?.() ?? 0),
    gid: account.homeFolderGroup ? systemId('/etc/group', account.homeFolderGroup) : (process.getgid?.() ?? 0),
  };
}

/**
 * Splits an entry of `home_folder_structure` into names. The entry is relative to the home folder, even if it begins with `/`.
 *
 * @throws ServiceError `name-invalid` when the entry would leave the home folder, or a name has control characters
 */
export function structureSegments(entry: string): string[] {
  const segments = entry.split(sep === '\\' ? /[\\/]/ : '/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) throw new ServiceError('name-invalid', `home_folder_structure: "${entry}" would leave the home folder.`);
  segments.forEach(checkNewName);
  return segments;
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT' || systemErrorCode(error) === 'ENOTDIR') return false;
    throw error;
  }
}

/**
 * Ensures at each login that the home folder of the account exists. If the options of the account allow it, missing folders are created,
 * with the configured owner and group (docs/spec/authentication.md#effective-account).
 *
 * @param onUnsynced called when a folder was created, but the disk failed to sync it
 * @returns the real paths of the folders that were created
 * @throws ServiceError `unauthorized` with the reason when the home folder is missing and must not be created, or creating it failed
 */
export function prepareHomeFolder(account: Account, onUnsynced: (fault: unknown) => void): string[] {
  const home = account.homeFolderPath;
  if (!isAbsolute(home)) throw new ServiceError('unauthorized', `The home folder "${home}" is not an absolute path.`);
  try {
    const present = isFolder(home);
    if (!account.createHomeFolder) {
      if (present) return [];
      throw new ServiceError('unauthorized', `The home folder "${home}" does not exist and create_home_folder is not set.`);
    }
    if (present && account.homeFolderStructure.length === 0) return [];
    const owner = ownerIds(account);
    const created: string[] = [];
    const create = (path: string) => {
      if (!makeFolder(path, onUnsynced)) return;
      if (owner) lchownSync(path, owner.uid, owner.gid);
      created.push(path);
    };
    if (!present) {
      checkNewName(home);
      makeFolders(join(home, '..'));
      create(home);
    }
    for (const entry of account.homeFolderStructure) createBelow(realpathSync(home), structureSegments(entry), create);
    return created;
  } catch (error) {
    if (isServiceError(error, 'unauthorized')) throw error;
    throw new ServiceError('unauthorized', `The home folder "${home}" cannot be prepared: ${(error as Error).message}.`, { cause: error });
  }
}

/** Creates a folder. @returns false when it exists, because another node created it at the same time */
function makeFolder(path: string, onUnsynced: (fault: unknown) => void): boolean {
  try {
    mkdirSync(path);
  } catch (error) {
    if (systemErrorCode(error) === 'EEXIST' && isFolder(path)) return false;
    throw error;
  }
  try {
    syncParentFolder(path);
  } catch (error) {
    onUnsynced(error);
  }
  return true;
}

function createBelow(home: string, segments: string[], create: (path: string) => void): void {
  let path = home;
  for (const segment of segments) {
    path = join(path, segment);
    try {
      // A symbolic link in the home folder must not make the service create folders outside the home folder.
      if (lstatSync(path).isSymbolicLink() && !`${realpathSync(path)}${sep}`.startsWith(home + sep)) {
        throw new ServiceError('unauthorized', `home_folder_structure: "${path}" is a link that leaves the home folder.`);
      }
    } catch (error) {
      if (systemErrorCode(error) !== 'ENOENT') throw error;
      create(path);
    }
  }
}
