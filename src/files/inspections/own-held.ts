import { lstatSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { openParent } from '../disk/opened.ts';
import { type Entry, toEntry } from '../entry.ts';
import { checkReplaceable, type ReplacementRules } from '../operations/replacement.ts';
import type { HeldUpload } from './holding.ts';

/** A held upload of the account that sends the request, and the entry of its content. */
export interface OwnHeld {
  upload: HeldUpload;
  entry: Entry;
}

/**
 * Finds the account's own held upload for a path at which nothing exists. Clients need this, because right after an upload they read the
 * attributes of the file, set its time or rename it. With `server.held.answer: refuse`, the client was told that the upload failed, so the
 * result is undefined.
 */
export async function ownHeldAt(paths: AccountPaths, path: VirtualPath): Promise<OwnHeld | undefined> {
  const { account, environment, mounts } = paths;
  const { held } = environment;
  const location = mounts.locate(path);
  if (account.inspections.isEmpty || held.inspections.held.answer === 'refuse' || location.kind !== 'real') return undefined;
  if (paths.entryAt(path)) return undefined;
  const realPath = realTarget(paths, paths.real(location));
  const upload = realPath === undefined ? undefined : await held.at(realPath, account.uuid);
  const stats = upload && lstatSync(upload.contentPath, { throwIfNoEntry: false });
  return upload && stats?.isFile() ? { upload, entry: toEntry(baseName(path), stats) } : undefined;
}

/**
 * Gives a held upload another name in its folder, for clients that upload under a temporary name. The upload is inspected again if the
 * inspections saw a name other than the new one (for `a.csv.part`, they see `a.csv`), or if more inspections apply to the new path.
 *
 * @returns the error that tells the client that the file is held; undefined if there is no such upload
 * @throws ServiceError the errors of moving a file
 */
export async function renameHeld(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  { verify, ...rules }: ReplacementRules & { verify?: ((source: Entry) => void) | undefined },
): Promise<ServiceError | undefined> {
  const own = await ownHeldAt(paths, from);
  const target = paths.mounts.locate(to);
  if (!own || target.kind !== 'real' || target.isFixed) return undefined;
  const realTo = realTarget(paths, paths.writable(target));
  // The content of a held upload stays in the folder in which the file will appear.
  if (realTo === undefined || dirname(realTo) !== dirname(own.upload.contentPath))
    throw new ServiceError('unprocessable', 'The file is held for review, and stays in its folder until it is released.');
  verify?.(own.entry);
  await paths.requireUnlocked(to, 'tree');
  await checkReplaceable(paths, to, realTo, own.entry, rules);
  return paths.environment.held.rename(own.upload.id, paths, to, rules.mayReplace === 'nothing');
}

/** Resolves the symbolic links in the path of a file's folder. Returns undefined if the folder is missing. */
function realTarget({ mounts }: AccountPaths, realPath: string): string | undefined {
  try {
    const folder = openParent(mounts.roots, realPath);
    folder.close();
    return `${folder.realPath}/${basename(realPath)}`;
  } catch {
    return undefined;
  }
}
