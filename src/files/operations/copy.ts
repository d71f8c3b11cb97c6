import { basename } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import { readChunks } from '../../lib/disk/descriptors.ts';
import { ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter } from '../disk/file-writer.ts';
import { Durability } from '../disk/folder-sync.ts';
import { closeFile } from '../disk/freeing.ts';
import type { NameRules } from '../disk/new-names.ts';
import { inspect, lstatOrUndefined, type OpenedFile, openFile, openParent, openWriteTarget } from '../disk/opened.ts';
import { type Entry, toEntry } from '../entry.ts';
import { isHeld, uploadGate } from '../inspections/gate.ts';
import { neededRights } from '../needed-rights.ts';
import type { QuotaReservation } from '../quota.ts';
import { keepReplaced, reserveRoom } from '../trash/trash.ts';
import { setAside } from './folder-remover.ts';
import { checkNesting } from './move.ts';
import type { Replaced } from './relocate.ts';
import { checkFree, checkReplaceable, destinationExists, type ReplacementRules } from './replacement.ts';

export interface CopyOptions extends ReplacementRules {
  /** Whether the outcome reveals if the destination exists (`Overwrite: F`). If so, the account must be allowed to see the destination. */
  isConditional?: boolean | undefined;
  /** Modification time of the copy, Unix time in milliseconds; by default the current time. */
  modifiedMs?: number | undefined;
  /** Stops the copy when aborted. The reason of the abort is a `ServiceError`. */
  stop?: AbortSignal | undefined;
  /**
   * Called with the source before the copy begins, and again before the copy is renamed to its final name. Refuses the copy by throwing.
   */
  verify?: ((source: Entry) => void) | undefined;
}

/**
 * Copies a file. The destination always has either its old content or the complete copy, which is on disk when the promise resolves. If a
 * folder is to be replaced and the copy fails, the folder is restored.
 *
 * Permissions (docs/spec/authentication.md#permissions): `read` on the source, `write` or `create-file` on the destination, and those that
 * `checkReplaceable` requires. Emits `copyStarted`. Then emits `folderRemoved` for a replaced folder, and `fileCopied`; both are on disk
 * when the promise resolves. If the copy fails, emits `copyFailed`.
 *
 * @returns whether the destination was free before, or is not visible to the account
 * @throws ServiceError `forbidden`, `never-allowed` for a folder, `not-found`, `parent-missing`, `destination-exists`, `exists` for a
 *   folder at the destination, `too-large`, `storage-full`, `locked`
 */
export async function copyFile(
  paths: AccountPaths,
  from: VirtualPath,
  to: VirtualPath,
  options: CopyOptions,
): Promise<{ created: boolean }> {
  const durability = new Durability();
  let opened: OpenedFile | undefined;
  let replaced: Replaced;
  try {
    paths.require(from, 'readFile');
    paths.require(to, 'createFile');
    if (options.isConditional) paths.requireVisible(to);
    paths.environment.events.assertWritable();
    checkFree(paths, to, options);
    checkNesting(from, to);
    if (paths.entryAt(from)?.isFolder) throw new ServiceError('never-allowed', 'Folders cannot be copied; copy their files.');
    const target = paths.mounts.locate(to);
    if (target.isFixed) throw new ServiceError('fixed-folder', 'The home folder and virtual folders cannot be replaced.');
    opened = openFile(paths.mounts.roots, paths.real(paths.mounts.locate(from)));
    const source = toEntry(baseName(from), opened.stats);
    options.verify?.(source);
    openParent(paths.mounts.roots, paths.writable(target)).close();
    await paths.requireUnlocked(to, paths.entryAt(to)?.isFolder ? 'tree' : 'content');
    replaced = await copyOpened(paths, { from, to, realTo: paths.writable(target), opened, source, durability }, options);
  } catch (error) {
    if (isHeld(error)) throw error;
    throw paths.reported(eventIds.copyFailed, from, error, { destination: to });
  } finally {
    if (opened) void closeFile(opened.fd, opened.stats.size);
  }
  const { kind, trashed } = replaced;
  const drafts = [paths.draft(eventIds.fileCopied, from, { destination: to, replaced: kind && true, trashed })];
  if (kind === 'folder') drafts.unshift(paths.draft(eventIds.folderRemoved, to, { trashed }));
  await paths.emitDone(durability, drafts);
  return { created: !kind || !paths.isVisible(to) };
}

interface Copy {
  from: VirtualPath;
  to: VirtualPath;
  realTo: string;
  opened: OpenedFile;
  source: Entry;
  durability: Durability;
}

async function copyOpened(paths: AccountPaths, copy: Copy, options: CopyOptions): Promise<Replaced> {
  const { to, realTo, opened, source } = copy;
  const { quotas } = paths.environment;
  const { roots } = paths.mounts;
  const existing = paths.entryAt(to);
  if (existing?.inode === source.inode && inspect(roots, realTo)?.realPath === opened.realPath)
    throw new ServiceError('destination-overlaps', 'Source and destination are the same.');
  paths.checkFileSize(source.sizeBytes);
  await checkReplaceable(paths, to, realTo, source, options);
  const reservation = await reserveRoom(paths, existing?.sizeBytes ?? 0, source.sizeBytes);
  try {
    paths.emit(eventIds.copyStarted, copy.from, { destination: to });
    const write = () => writeCopy(paths, copy, options, reservation);
    if (!existing?.isFolder) return await write();
    const trashed = await replaceFolder(paths, copy, write);
    quotas.usage(paths.mounts.accountRoots).removed();
    return { kind: 'folder', trashed };
  } finally {
    reservation.release();
  }
}

async function replaceFolder(
  paths: AccountPaths,
  { to, realTo, durability }: Copy,
  write: () => Promise<unknown>,
): Promise<Replaced['trashed']> {
  const parent = openParent(paths.mounts.roots, realTo);
  try {
    const name = basename(realTo);
    const existing = lstatOrUndefined(parent.member(name));
    const kept = existing?.isDirectory() ? await keepReplaced(paths, to)?.(parent, name, existing) : undefined;
    if (kept) {
      try {
        kept.take();
        await write();
      } catch (error) {
        kept.undo();
        throw error;
      }
      await kept.settle(durability);
      return true;
    }
    const replaced = setAside(parent, name, paths.mounts.roots, paths.environment.temporaries);
    try {
      await write();
    } catch (error) {
      replaced.putBack();
      throw error;
    }
    // After a disk fault, the replaced folder is not removed, because a power cut may undo the rename of the copy. The next start of the
    // service restores or removes the folder.
    if (durability.fault === undefined) await durability.attempt(() => replaced.remove());
    return undefined;
  } finally {
    parent.close();
  }
}

async function writeCopy(paths: AccountPaths, copy: Copy, options: CopyOptions, reservation: QuotaReservation): Promise<Replaced> {
  const writer = new FileWriter(openWriteTarget(paths.mounts.roots, copy.realTo), paths.environment);
  try {
    if (!(await writer.clone(copy.opened, paths.environment.temporaries))) {
      for await (const chunk of readChunks(copy.opened.fd)) {
        options.stop?.throwIfAborted();
        await reservation.take(chunk.length);
        await writer.write([chunk]);
      }
    }
    paths.environment.events.assertWritable();
    const verify = (current: Entry | undefined) => {
      if (current && options.mayReplace === 'nothing') throw destinationExists();
      options.verify?.(copy.source);
    };
    const requireUnlocked = () => paths.requireUnlocked(copy.to, 'content');
    const mayReplace = paths.account.permissions.allowsAny(copy.to, neededRights.replaceFile);
    const rules: NameRules = { ...paths.nameRules(copy.to), mayReplace, ifTaken: 'refuse' };
    const keep = keepReplaced(paths, copy.to);
    const gate = uploadGate(paths, () => copy.to, { isConditional: options.mayReplace === 'nothing' });
    const finish = { requireUnlocked, modifiedMs: options.modifiedMs, verify, reservation, rules, keep, gate };
    const { isReplacement, trashed } = await writer.finish(copy.durability, finish);
    return { kind: isReplacement ? 'file' : undefined, trashed };
  } catch (error) {
    await writer.discard();
    throw error;
  }
}
