import { readSync } from 'node:fs';
import { eventIds } from '../../events/event-ids.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import { closeFile } from '../../files/disk/freeing.ts';
import type { OpenedFolder } from '../../files/disk/opened.ts';
import { gatherMembers, type ZipMember } from '../../files/operations/archive-members.ts';
import { readAsync } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { contentDisposition } from '../../lib/headers/header-fields.ts';
import { PagedBody, takeSendBuffers } from '../../lib/send-buffers.ts';
import { baseName, memberPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { hasDescriptor, localHeaderLength, type ZipEntry, ZipWriter, zipLength } from '../../lib/zip/zip-records.ts';
import { BodyWriter } from '../reply/body-writer.ts';
import { isHttp2 } from '../reply/outgoing.ts';
import { stream } from '../reply/respond.ts';
import type { Exchange } from '../request/exchange.ts';
import { selectedPath } from '../request/request-target.ts';

/** Up to this size, in bytes, a synchronous read is faster than the thread pool (docs/design/costs.md). */
const atOnceBytes = 128 * 1024;

/** Minimum free space in the send buffer, in bytes, for which a read is worthwhile. */
const leastReadBytes = 64 * 1024;

/**
 * Streams a folder, or some of its members, as a ZIP archive. It is not compressed, so its exact length is known before the first byte.
 * Links and unreadable members are omitted (docs/spec/files.md#archives).
 *
 * @param names the members, relative to the folder; without them, the whole folder is sent, with full virtual paths as names
 */
export async function sendZip(exchange: Exchange, names?: readonly string[]): Promise<Response> {
  const { path: folder, files } = exchange;
  const { clock } = exchange.service;
  const startedMs = clock.monotonicMs();
  const writer = new BodyWriter(exchange);
  let body: PagedBody | undefined;
  const eventData = () => ({
    duration: Math.round((clock.monotonicMs() - startedMs) * 1000) / 1e6,
    total_read: body?.sentBytes ?? 0,
    files: names,
  });
  try {
    const { visit } = exchange;
    const endTurn = await visit?.takeTurn();
    const topName = visit ? [baseName(folder)] : folder.slice(1).split('/');
    const selection = names && { names, pathOf: (name: string) => selectedPath(folder, name) };
    const members = await gatherMembers(files, folder, selection, topName, () => writer.checkClient()).finally(endTurn);
    if (!exchange.isHead) await visit?.countDownload();
    files.events.emit(eventIds.zipStarted, folder, { files: names });
    const lengthBytes = zipLength(members.map((member) => member.entry));
    const headers = {
      'content-type': 'application/zip',
      'content-length': lengthBytes,
      'content-disposition': contentDisposition('attachment', `${archiveName(folder, names)}.zip`),
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    };
    return await stream(exchange, 200, headers, async () => {
      const zip = new ZipWriter();
      const buffers = takeSendBuffers(isHttp2(exchange.outgoing));
      body = new PagedBody(writer, buffers.pair);
      let isWhole = false;
      const hide = files.showDownload(folder, lengthBytes, () => body?.sentBytes ?? 0);
      try {
        await sendMembers(files, zip, members, body);
        for (const bytes of zip.finish()) await body.add(bytes);
        await body.end();
        isWhole = true;
      } finally {
        hide();
        buffers.release(isWhole);
      }
      files.events.emit(eventIds.zipDone, folder, eventData());
    });
  } catch (error) {
    files.events.emit(eventIds.zipFailed, folder, {
      ...eventData(),
      details: error instanceof ServiceError ? error.message : 'The archive could not be created.',
    });
    throw error;
  }
}

interface OpenFolder {
  path: VirtualPath;
  opened?: OpenedFolder;
  foreignNames?: ReadonlySet<string>;
}

async function sendMembers(files: AccountFiles, zip: ZipWriter, members: readonly ZipMember[], body: PagedBody): Promise<void> {
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
      await sendMember(files, zip, member, body);
      at++;
    }
  } finally {
    folder?.opened?.close();
  }
}

/** Whether a member is read faster synchronously. */
function isQuick(entry: ZipEntry): boolean {
  return entry.sizeBytes <= atOnceBytes && !entry.isFolder;
}

/**
 * Adds as many small members of one folder as fit into the current buffer.
 *
 * @param start index of the first member, for which there must be room
 * @param readInto reads a member of the folder
 * @param foreignNames names of members that are mounted from elsewhere
 * @returns the number of added members; 0 if the first one must be sent separately
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

async function sendMember(files: AccountFiles, zip: ZipWriter, { entry, folder, name }: ZipMember, body: PagedBody): Promise<void> {
  if (entry.isFolder || entry.sizeBytes === 0) {
    await body.add(zip.begin(entry));
    zip.end();
    return;
  }
  const { fd } = files.openQuietly(memberPath(folder, name));
  try {
    if (hasDescriptor(entry)) await sendLargeMember(zip, entry, fd, body);
    else await sendSmallMember(zip, entry, fd, body);
  } finally {
    void closeFile(fd, entry.sizeBytes);
  }
}

// The header contains the CRC of the content that follows it. So the content is read first, to a place behind the space for the header.
async function sendSmallMember(zip: ZipWriter, entry: ZipEntry, fd: number, body: PagedBody): Promise<void> {
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

async function sendLargeMember(zip: ZipWriter, entry: ZipEntry, fd: number, body: PagedBody): Promise<void> {
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

/** Returns the name of the archive, which is the name of its only member or of the folder. */
function archiveName(folder: VirtualPath, names: readonly string[] | undefined): string {
  const [only = '', ...others] = names ?? [];
  return (others.length === 0 && only) || baseName(folder) || 'home';
}

function becameShorter(): ServiceError {
  return new ServiceError('unavailable', 'A file became shorter while it was archived.');
}
