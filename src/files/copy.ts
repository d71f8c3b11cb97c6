import { basename } from 'node:path';
import { ServiceError } from '../lib/errors.ts';
import { baseName, type VirtualPath } from '../lib/virtual-path.ts';
import type { AccountPaths } from './account-paths.ts';
import { type Entry, entryOf } from './entry.ts';
import { contentOf } from './file-content.ts';
import { FileWriter, openWriteTarget, type WriteTarget } from './file-writer.ts';
import { closeFile } from './freeing.ts';
import { checkNesting } from './move.ts';
import { type OpenedFile, openFile, openParent } from './opened.ts';
import type { QuotaReservation } from './quota.ts';
import { destinationExists } from './relocate.ts';
import { setAside } from './set-aside.ts';

export interface CopyOptions {
  /** Whether something at the destination may be replaced. */
  overwrite: boolean;
  /** Modification time of the copy, Unix time in milliseconds; else it is the time of the copy. */
  modifiedMs?: number | undefined;
  /** Refuses by throwing; runs with the source, and again before the copy gets its name. */
  verify?: ((source: Entry) => void) | undefined;
}

/**
 * Copies a file so that the destination is the old one or the whole copy, on disk when the promise resolves. A folder at the
 * destination is replaced as RFC 4918 §9.8.4 says, where its members may be deleted; it comes back when the copy fails.
 *
 * Permissions (decisions.md): `read` on the source, `write` on the destination. Events 40061, on disk before the copy
 * begins, and 40067 when it fails.
 *
 * @returns whether the destination was free before
 * @throws ServiceError `forbidden` (folders, too), `not-found`, `parent-missing`, `precondition-failed`, `too-large`,
 *   `storage-full`, `locked`
 */
export async function copyFile(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  options: CopyOptions,
): Promise<{ created: boolean }> {
  let opened: OpenedFile | undefined;
  try {
    paths.requireAll(from, ['read']);
    paths.requireAll(to, ['write']);
    paths.environment.events.assertWritable();
    checkNesting(from, to);
    if (paths.entryAt(from)?.isFolder) throw new ServiceError('forbidden', 'Folders cannot be copied; copy their files.');
    const target = paths.mounts.locate(to);
    if (target.isFixed) throw new ServiceError('forbidden', 'The home folder and virtual folders cannot be replaced.');
    opened = openFile(paths.mounts.roots, paths.real(paths.mounts.locate(from)));
    const source = entryOf(baseName(from), opened.stats);
    options.verify?.(source);
    openParent(paths.mounts.roots, paths.writable(target)).close();
    await paths.requireUnlocked(to, paths.entryAt(to)?.isFolder ? 'tree' : 'content');
    return await copyOpened(paths, { from, to, realTo: paths.writable(target), opened, source }, options);
  } catch (error) {
    throw paths.reported(40067, from, error, { destination: to });
  } finally {
    if (opened) void closeFile(opened.fd, opened.stats.size);
  }
}

interface Copy {
  from: VirtualPath;
  to: VirtualPath;
  realTo: string;
  opened: OpenedFile;
  source: Entry;
}

async function copyOpened(paths: AccountPaths, copy: Copy, options: CopyOptions): Promise<{ created: boolean }> {
  const { to, opened, source } = copy;
  const existing = paths.entryAt(to);
  if (existing && !options.overwrite) throw destinationExists();
  if (existing && existing.inode === source.inode && realPathOf(paths, to) === opened.realPath)
    throw new ServiceError('forbidden', 'Source and destination are the same.');
  const limitBytes = paths.account.fileWriteSizeBytes;
  if (limitBytes > 0 && source.sizeBytes > limitBytes)
    throw new ServiceError('too-large', `A file must not be larger than ${limitBytes} bytes.`);
  const isFolder = existing?.isFolder === true && !existing.isLink;
  if (isFolder) {
    if (paths.mounts.roots.isHeldBy(copy.realTo)) throw new ServiceError('forbidden', 'Virtual folders cannot be replaced.');
    paths.requireAll(to, ['delete-file', 'delete-folder']);
    await paths.deletableFolders(to, copy.realTo);
  }
  const { quotas } = paths.environment;
  const replacedBytes = existing?.sizeBytes ?? 0;
  const reservation = await quotas.reserve(paths.mounts.roots, paths.account.quotaSizeBytes, replacedBytes, source.sizeBytes);
  try {
    await paths.emitDurable(40061, copy.from, { destination: to });
    if (isFolder) {
      await replaceFolder(paths, copy.realTo, () => writeCopy(paths, copy, options, reservation));
      quotas.forget(paths.mounts.roots);
    } else {
      await writeCopy(paths, copy, options, reservation);
    }
    reservation.release(source.sizeBytes - replacedBytes);
  } finally {
    reservation.release(0);
  }
  return { created: !existing };
}

function realPathOf(paths: AccountPaths, to: VirtualPath): string {
  const file = openFile(paths.mounts.roots, paths.real(paths.mounts.locate(to)));
  void closeFile(file.fd, file.stats.size);
  return file.realPath;
}

async function replaceFolder(paths: AccountPaths, realTo: string, write: () => Promise<void>): Promise<void> {
  const parent = openParent(paths.mounts.roots, realTo);
  try {
    const replaced = setAside(parent, basename(realTo), paths.mounts.roots, paths.environment.temporaries);
    try {
      await write();
    } catch (error) {
      replaced.putBack();
      throw error;
    }
    await replaced.remove();
  } finally {
    parent.close();
  }
}

async function writeCopy(paths: AccountPaths, copy: Copy, options: CopyOptions, reservation: QuotaReservation): Promise<void> {
  const target: WriteTarget = openWriteTarget(paths.mounts.roots, copy.realTo);
  const writer = new FileWriter(target, paths.environment);
  try {
    for await (const chunk of contentOf(copy.opened.fd)) {
      await reservation.take(chunk.length);
      await writer.write([chunk]);
    }
    await paths.requireUnlocked(copy.to, 'content');
    const verify = (current: Entry | undefined) => {
      if (current && !options.overwrite) throw destinationExists();
      options.verify?.(copy.source);
    };
    await writer.finish({ modifiedMs: options.modifiedMs, verify });
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
