import type { AccountFiles } from '../../files/account-files.ts';
import type { ListedEntry } from '../../files/entry.ts';
import { archiveNames, safeName } from '../../files/operations/zip-names.ts';
import { ServiceError } from '../../lib/errors.ts';
import { inTurns } from '../../lib/turns/in-turns.ts';
import { memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { ZipEntry } from '../../lib/zip/zip-records.ts';
import { selectedPath } from '../request/request-target.ts';

/** One member of the archive to be: its name there, and where it is. */
export interface ZipMember {
  entry: ZipEntry;
  folder: VirtualPath;
  /** Name in that folder. */
  name: string;
}

/**
 * What an archive of a folder, or of some of its members, is to hold, without what may not be read and what is a link.
 *
 * @param names members, named relative to the folder; without it the whole folder, under full virtual paths
 * @param checkClient asked between members; throws when nobody waits for the archive any more
 * @throws ServiceError `not-found` for a name that is not there, `name-invalid` for one that is no member's
 */
export async function gatherMembers(
  files: AccountFiles,
  folder: VirtualPath,
  names: readonly string[] | undefined,
  checkClient: () => void,
): Promise<ZipMember[]> {
  const members: ZipMember[] = [];
  if (names === undefined) {
    await gatherFolder(files, folder, folder.slice(1).split('/').map(safeName).join('/'), members, checkClient);
    return members;
  }
  const chosen = new Set(names);
  const changed = archiveNames([...chosen]);
  for await (const name of inTurns(chosen)) {
    checkClient();
    const path = selectedPath(folder, name);
    const nameInArchive = changed.get(name) ?? name;
    const entry = files.look(path);
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    if (entry.isLink) continue;
    if (entry.isFolder) await gatherFolder(files, path, nameInArchive, members, checkClient);
    else if (files.may(path, 'readFile')) members.push(memberOf(nameInArchive, parentPath(path), entry));
  }
  return members;
}

async function gatherFolder(
  files: AccountFiles,
  top: VirtualPath,
  topName: string,
  members: ZipMember[],
  checkClient: () => void,
): Promise<void> {
  const waiting: { path: VirtualPath; name: string }[] = [{ path: top, name: topName }];
  for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
    if (folder.path !== top && !files.may(folder.path, 'listWholeFolder')) continue;
    const entries: ListedEntry[] = [];
    for await (const batch of files.listQuietly(folder.path)) {
      checkClient();
      for (const entry of batch) {
        if (!entry.isLink && (entry.isFolder || files.may(memberPath(folder.path, entry.name), 'readFile'))) entries.push(entry);
      }
    }
    const changed = archiveNames(entries.map(({ name }) => name));
    const below: typeof waiting = [];
    for (const entry of entries) {
      const ownName = changed.get(entry.name) ?? entry.name;
      const name = folder.name === '' ? ownName : `${folder.name}/${ownName}`;
      members.push(memberOf(name, folder.path, entry));
      if (entry.isFolder) below.push({ path: memberPath(folder.path, entry.name), name });
    }
    waiting.push(...below.reverse());
  }
}

function memberOf(nameInArchive: string, folder: VirtualPath, { name, isFolder, sizeBytes, modifiedMs }: ListedEntry): ZipMember {
  return { folder, name, entry: { name: isFolder ? `${nameInArchive}/` : nameInArchive, isFolder, sizeBytes, modifiedMs } };
}
