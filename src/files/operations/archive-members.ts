import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { ServiceError } from '../../lib/errors.ts';
import { memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { archiveNames, safeName, type ZipEntry } from '../../lib/zip/zip-records.ts';
import type { AccountFiles } from '../account-files.ts';
import type { ListedEntry } from '../entry.ts';

/** One member of an archive. */
export interface ZipMember {
  entry: ZipEntry;
  folder: VirtualPath;
  /** Name of the member in `folder`. */
  name: string;
}

/**
 * Collects the members of an archive. Links and unreadable members are omitted.
 *
 * @param selection the members, as names in the folder, and the path of each; without it, the whole folder
 * @param topName names of the path under which the archive contains the members of a whole folder
 * @param checkClient called between members; throws once the client is gone
 * @throws ServiceError `not-found` for a name that does not exist, `name-invalid`
 */
export async function gatherMembers(
  files: AccountFiles,
  folder: VirtualPath,
  selection: { names: readonly string[]; pathOf: (name: string) => VirtualPath } | undefined,
  topName: readonly string[],
  checkClient: () => void,
): Promise<ZipMember[]> {
  const members: ZipMember[] = [];
  if (selection === undefined) {
    await gatherFolder(files, folder, topName.map(safeName).join('/'), members, checkClient);
    return members;
  }
  const chosen = new Set(selection.names);
  const changed = archiveNames([...chosen]);
  for await (const name of cooperatively(chosen)) {
    checkClient();
    const path = selection.pathOf(name);
    const nameInArchive = changed.get(name) ?? name;
    const entry = files.inspect(path);
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    if (entry.isLink) continue;
    if (entry.isFolder) await gatherFolder(files, path, nameInArchive, members, checkClient);
    else if (files.may(path, 'readFile')) members.push(zipMember(nameInArchive, parentPath(path), entry));
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
      members.push(zipMember(name, folder.path, entry));
      if (entry.isFolder) below.push({ path: memberPath(folder.path, entry.name), name });
    }
    waiting.push(...below.reverse());
  }
}

function zipMember(nameInArchive: string, folder: VirtualPath, { name, isFolder, sizeBytes, modifiedMs }: ListedEntry): ZipMember {
  return { folder, name, entry: { name: isFolder ? `${nameInArchive}/` : nameInArchive, isFolder, sizeBytes, modifiedMs } };
}
