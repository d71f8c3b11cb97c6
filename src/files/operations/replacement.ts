import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { nameTaken } from '../disk/new-names.ts';
import type { Entry } from '../entry.ts';
import { neededRights } from '../needed-rights.ts';

/** Rules for the destinations that COPY and MOVE may replace (docs/spec/webdav.md#replacing). */
export interface ReplacementRules {
  /** `anything` includes a folder with all its members. */
  mayReplace: 'nothing' | 'file' | 'anything';
  /** Whether a file may replace a folder, and a folder may replace a file, as in RFC 4918 §9.8.4. */
  acrossKinds: boolean;
}

/** @throws ServiceError `destination-exists` if the destination exists and must not be replaced */
export function checkFree(paths: AccountPaths, to: VirtualPath, { mayReplace }: ReplacementRules): void {
  if (mayReplace === 'nothing' && paths.entryAt(to)) throw destinationExists();
}

/**
 * Checks that `source` may replace the destination. The rules must allow the replacement, and the account needs the rights to remove the
 * destination and all its members.
 *
 * @param realTo real path of the destination
 * @throws ServiceError `destination-exists`, `exists` if only one of source and destination is a folder, `name-taken` without the right to
 *   replace the file, `retained`, `fixed-folder`, `forbidden`
 */
export async function checkReplaceable(
  paths: AccountPaths,
  to: VirtualPath,
  realTo: string,
  source: Entry,
  rules: ReplacementRules,
): Promise<void> {
  const existing = paths.entryAt(to);
  if (!existing) return;
  if (rules.mayReplace === 'nothing') throw destinationExists();
  if (source.isFolder !== existing.isFolder && !rules.acrossKinds)
    throw new ServiceError('exists', existing.isFolder ? 'A folder has this name.' : 'A file has this name.');
  if (!existing.isFolder) {
    if (!paths.account.permissions.allowsAny(to, neededRights.replaceFile)) throw nameTaken();
    paths.environment.retention.requireFree(realTo);
    return;
  }
  if (rules.mayReplace !== 'anything')
    throw new ServiceError('destination-exists', 'A folder has this name; it is replaced only with "Overwrite: T".');
  if (paths.mounts.accountRoots.isHeldBy(realTo)) throw new ServiceError('fixed-folder', 'Virtual folders cannot be replaced.');
  await paths.deletableFolders(to, realTo, existing);
}

/** The error for a destination that must not be replaced. */
export function destinationExists(): ServiceError {
  return new ServiceError('destination-exists', 'The destination exists and must not be overwritten.');
}
