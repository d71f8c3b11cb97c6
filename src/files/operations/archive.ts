import { readSync } from 'node:fs';
import { cooperatively } from '../../lib/concurrency/event-loop.ts';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { PagedBody } from '../../lib/send-buffers.ts';
import { memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { archiveNames, hasDescriptor, localHeaderLength, safeName, type ZipEntry, ZipWriter } from '../../lib/zip/zip-records.ts';
import type { AccountFiles } from '../account-files.ts';
import { closeFile } from '../disk/freeing.ts';
import type { OpenedFolder } from '../disk/opened.ts';
import type { ListedEntry } from '../entry.ts';

/** One member of an archive. */
interface ZipMember {
  entry: ZipEntry;
  folder: VirtualPath;
  /** Name of the member in `folder`. */
  name: string;
}

/**
 * Collects the members of an archive. Symbolic links and unreadable members are omitted.
 *
 * @param selection names of the members in the folder, and a function that returns their paths; if undefined, the whole folder is archived
 * @param topName path in the archive (as segments) under which the members of a whole folder are placed
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

/** Up to this size, in bytes, a synchronous read is faster than the thread pool (docs/design/costs.md). */
const atOnceBytes = 128 * 1024;

/** Minimum free space in the send buffer, in bytes, for which a read is worthwhile. */
const leastReadBytes = 64 * 1024;

interface OpenFolder {
  path: VirtualPath;
  opened?: OpenedFolder;
  foreignNames?: ReadonlySet<string>;
}

/** Writes an archive with the given members. @throws ServiceError `unavailable` if a file became shorter */
export async function writeArchive(files: AccountFiles, members: readonly ZipMember[], body: PagedBody): Promise<void> {
  const zip = new ZipWriter();
  let folder: OpenFolder | undefined;
  try {
    for (let at = 0; at < members.length; ) {
      const member = members[at] as ZipMember;
      if (isQuick(member.entry)) {
        await body.free(localHeaderLength(member.entry) + member.entry.sizeBytes);
        if (member.folder !== folder?.path) {
          folder?.opened?.close();
          folder = { path: member.folder, ...files.openFolderQuietly(member.folder) };
        }
        const { opened, foreignNames } = folder;
        const sent = opened?.readMembers((readInto) => putQuick(zip, body, members, at, readInto, foreignNames)) ?? 0;
        at += sent;
        if (sent > 0) continue;
      }
      await writeMember(files, zip, member, body);
      at++;
    }
  } finally {
    folder?.opened?.close();
  }
  for (const bytes of zip.finish()) await body.add(bytes);
}

/** Whether the member is so small that a synchronous read is faster than the thread pool. */
function isQuick(entry: ZipEntry): boolean {
  return entry.sizeBytes <= atOnceBytes && !entry.isFolder;
}

/**
 * Adds as many small members of one folder as fit into the current buffer.
 *
 * @param start index of the first member, for which there must be room
 * @param readInto reads a member of the folder
 * @param foreignNames names of members that belong to virtual folders
 * @returns the number of added members; 0 if the first one must be written separately
 */
function putQuick(
  zip: ZipWriter,
  body: PagedBody,
  members: readonly ZipMember[],
  start: number,
  readInto: (name: string, target: Buffer) => number,
  foreignNames: ReadonlySet<string> | undefined,
): number {
  const { folder } = members[start] as ZipMember;
  let at = start;
  for (; at < members.length; at++) {
    const member = members[at] as ZipMember;
    const { entry } = member;
    if (member.folder !== folder || !isQuick(entry) || foreignNames?.has(member.name)) break;
    const headerBytes = localHeaderLength(entry);
    const { rest } = body;
    if (rest.length < headerBytes + entry.sizeBytes) break;
    const content = rest.subarray(headerBytes, headerBytes + entry.sizeBytes);
    if (content.length > 0 && readInto(member.name, content) < content.length) throw becameShorter();
    zip.begin(entry, content).copy(rest);
    zip.end();
    body.use(headerBytes + entry.sizeBytes);
  }
  return at - start;
}

async function writeMember(files: AccountFiles, zip: ZipWriter, { entry, folder, name }: ZipMember, body: PagedBody): Promise<void> {
  if (entry.isFolder || entry.sizeBytes === 0) {
    await body.add(zip.begin(entry));
    zip.end();
    return;
  }
  const { fd } = files.openQuietly(memberPath(folder, name));
  try {
    if (hasDescriptor(entry)) await writeLargeMember(zip, entry, fd, body);
    else await writeSmallMember(zip, entry, fd, body);
  } finally {
    void closeFile(fd, entry.sizeBytes);
  }
}

// The header contains the CRC of the content that follows it. So the content is read first, into the buffer after the space for the header.
async function writeSmallMember(zip: ZipWriter, entry: ZipEntry, fd: number, body: PagedBody): Promise<void> {
  const headerBytes = localHeaderLength(entry);
  const free = await body.free(headerBytes + entry.sizeBytes);
  const content = free.subarray(headerBytes, headerBytes + entry.sizeBytes);
  for (let position = 0; position < content.length; ) {
    const wanted = content.length - position;
    const bytesRead =
      entry.sizeBytes <= atOnceBytes
        ? readSync(fd, content, position, wanted, position)
        : (await readAsync(fd, content, position, wanted, position)).bytesRead;
    if (bytesRead === 0) throw becameShorter();
    position += bytesRead;
  }
  zip.begin(entry, content).copy(free);
  zip.end();
  body.use(headerBytes + entry.sizeBytes);
}

async function writeLargeMember(zip: ZipWriter, entry: ZipEntry, fd: number, body: PagedBody): Promise<void> {
  await body.add(zip.begin(entry));
  for (let position = 0; position < entry.sizeBytes; ) {
    const free = await body.free(leastReadBytes);
    const { bytesRead } = await readAsync(fd, free, 0, Math.min(free.length, entry.sizeBytes - position), position);
    if (bytesRead === 0) throw becameShorter();
    zip.data(free.subarray(0, bytesRead));
    body.use(bytesRead);
    position += bytesRead;
  }
  await body.add(zip.end());
}

function becameShorter(): ServiceError {
  return new ServiceError('unavailable', 'A file became shorter while it was archived.');
}
