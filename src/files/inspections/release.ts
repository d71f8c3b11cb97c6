import { closeSync, constants, lstatSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { readChunks } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, isWithin, memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { AccountPaths } from '../account-paths.ts';
import { FileWriter } from '../disk/file-writer.ts';
import { Durability } from '../disk/folder-sync.ts';
import { openWriteTarget } from '../disk/opened.ts';
import { inodeAt } from '../disk/temporaries.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { LockGuard } from '../locks/lock-guard.ts';
import { resolveMounts } from '../mounts.ts';
import { ResumableUpload } from '../uploads/resumable-upload.ts';
import { isEnding, type UploadHold, type UploadRecord, type UploadStore, uploadTarget } from '../uploads/upload-store.ts';
import { neededInspections, passedGate, stateAt } from './gate.ts';
import { accountOfSnapshot } from './held-facts.ts';
import type { HeldContent, HeldUpload, Place } from './holding.ts';

/** The administrator who releases an upload, or the inspections that have accepted it. */
export type ReleasedBy = { administrator: string } | { passed: ReadonlySet<string> };

/** The paths of the account as it was at the time of the upload. */
export function heldPaths(environment: FilesEnvironment, { held, origin }: HeldUpload): AccountPaths {
  const account = accountOfSnapshot(held.account);
  const mounts = resolveMounts(account, environment.excludedPaths);
  return new AccountPaths(account, mounts, environment, origin, new LockGuard(environment.locks, account.uuid));
}

/** The item that has the name of a held upload, and the result of a release: it is replaced, the upload gets a number, or stays held. */
export interface ReleaseTarget {
  sizeBytes: number;
  modifiedMs: number;
  outcome: 'replaced' | 'numbered' | 'refused';
}

/** Returns what has the name of a held upload; undefined if the name is free. Another request may change that before a release. */
export function releaseTarget(paths: AccountPaths, record: HeldUpload): ReleaseTarget | undefined {
  const realPath = uploadTarget(record);
  const found = lstatSync(realPath, { throwIfNoEntry: false });
  if (!found) return undefined;
  const { expected } = record.held;
  const told = ({ size: sizeBytes, mtimeMs: modifiedMs }: typeof found, outcome: ReleaseTarget['outcome']) => ({
    sizeBytes,
    modifiedMs,
    outcome,
  });
  if (expected !== undefined && expected !== stateAt(realPath)) return told(found, 'refused');
  try {
    const { parent, existing } = paths.openUploadTarget(record.path, realPath);
    parent.close();
    if (parent.realPath !== dirname(record.contentPath)) return told(existing ?? found, 'refused');
    // A link that leads nowhere is replaced itself.
    return told(existing ?? found, existing || found.isSymbolicLink() ? 'replaced' : 'numbered');
  } catch (error) {
    if (!isServiceError(error)) throw error;
    return told(found, 'refused');
  }
}

/**
 * Renames the content of a held upload to its final name. The upload is completed like one that took several requests, so rights, locks,
 * quota and conditions are checked again.
 *
 * @param hold released by this function
 * @throws ServiceError; in that case, the upload stays held
 */
export async function releaseUpload(paths: AccountPaths, hold: UploadHold, record: HeldUpload, by: ReleasedBy): Promise<void> {
  const { path, contentPath, held } = record;
  const realPath = async () => {
    paths.require(path, held.movedFrom === undefined ? 'createFile' : 'rename');
    paths.environment.events.assertWritable();
    await paths.requireUnlocked(path, 'content');
    // The file appears in the folder of its content, even if `path` now leads to another folder.
    return `${dirname(contentPath)}/${baseName(path)}`;
  };
  const verify = () => {
    if (held.expected !== undefined && held.expected !== stateAt(`${dirname(contentPath)}/${baseName(path)}`))
      throw new ServiceError(
        'destination-exists',
        'The conditions of the upload are no longer met: the name was taken, or its file was changed.',
      );
  };
  const upload = new ResumableUpload(paths, hold, record, realPath);
  // If an administrator releases the upload, there is no gate, because administrators may release a file that no inspection has accepted.
  upload.released = 'administrator' in by ? by : { gate: passedGate(paths, path, by.passed) };
  await upload.open(false);
  try {
    await upload.commit(held.expected === undefined ? undefined : verify);
  } catch (error) {
    // The error `not-durable` means that the file has its final name, so the release has succeeded.
    if (!isServiceError(error, 'not-durable')) throw error;
  }
  // If the record cannot be removed, `UploadUpkeep` finds that the file is stored.
  await upload.forget().catch(() => {});
}

/**
 * Moves a held file back to the folder from which it was moved. If the name is taken, adds a number. @returns the path of the file
 *
 * @throws ServiceError `not-durable` if a power cut may undo the move; the held content is then still needed
 */
export async function putBack(paths: AccountPaths, { contentPath, offsetBytes }: HeldUpload, movedFrom: VirtualPath): Promise<VirtualPath> {
  const path = freePath(paths, movedFrom);
  paths.environment.events.assertWritable();
  const fd = openSync(contentPath, constants.O_RDONLY | constants.O_NOFOLLOW);
  let writer: FileWriter | undefined;
  try {
    const target = openWriteTarget(paths.mounts.roots, paths.writable(paths.mounts.locate(path)));
    // If more inspections than `before` apply to the name with a number, or to a path through a symbolic link, the gate refuses the move.
    const before = neededInspections(paths, movedFrom, `${target.parent.realPath}/${baseName(movedFrom)}`);
    writer = new FileWriter(target, paths.environment);
    for await (const chunk of readChunks(fd, offsetBytes)) await writer.write([chunk]);
    const durability = new Durability();
    await writer.finish(durability, {
      requireUnlocked: () => paths.requireUnlocked(path, 'content'),
      gate: passedGate(paths, path, before),
      rules: { ...paths.nameRules(path), mayReplace: false, ifTaken: 'refuse', retainDays: 0 },
      verify: (current) => {
        if (current) throw new ServiceError('exists', 'The name was taken meanwhile; try again.');
      },
    });
    if (durability.fault !== undefined) throw paths.notDurable(durability.fault, path);
    return path;
  } catch (error) {
    await writer?.discard();
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** Returns the name under which inspections see a held upload. */
export function toldName({ path, held }: HeldUpload): string {
  return held.toldAs ?? baseName(path);
}

/** If an upload was ended before its content was renamed to the hidden name, removes the content. @returns whether the upload was ended */
export async function dropIfEnded(store: UploadStore, { id, contentPath }: UploadRecord): Promise<boolean> {
  const current = await store.find(id);
  if (current && !isEnding(current) && !current.outcome) return false;
  rmSync(contentPath, { force: true });
  return true;
}

/**
 * Updates the path of a held upload whose folder was moved.
 *
 * @param moved the folder's former real path (`realPath`) and former virtual path (`from`). The function `now` returns the current place of
 *   the folder, because other requests may move it again
 */
export async function followFolder(
  hold: UploadHold,
  { contentPath, path }: UploadRecord,
  { realPath, from, now }: { realPath: string; from: VirtualPath; now: () => Place },
): Promise<void> {
  if (!isWithin(contentPath, realPath)) return;
  // Until the new path is recorded, another move of the folder cannot find the upload. So the folder's place is checked again after that.
  for (let place = now(), told = ''; place.realPath !== told; place = now()) {
    told = place.realPath;
    const inFolder = told + contentPath.slice(realPath.length);
    // If the content is not found, another request has created a new folder at this path, and the upload is not in it.
    if (inodeAt(inFolder) === undefined) continue;
    const moved = path.startsWith(`${from}/`) ? (`${place.path}${path.slice(from.length)}` as VirtualPath) : path;
    await hold.change({ contentPath: inFolder, path: moved });
  }
}

/** Returns the path if it is free, otherwise the path with the first free number. */
function freePath(paths: AccountPaths, path: VirtualPath): VirtualPath {
  const [, stem = '', extension = ''] = /^(.+?)(\.[^.]*)?$/.exec(baseName(path)) ?? [];
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? path : memberPath(parentPath(path), `${stem} (${number})${extension}`);
    if (!paths.entryAt(candidate)) return candidate;
  }
}

/** Returns the content of a held upload. @throws ServiceError `not-found` if the content is missing */
export function heldContent({ path, contentPath, offsetBytes: sizeBytes }: HeldUpload): HeldContent {
  if (!lstatSync(contentPath, { throwIfNoEntry: false })?.isFile())
    throw new ServiceError('not-found', 'The content of the held upload is gone.');
  async function* chunks() {
    const fd = openSync(contentPath, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      // Each chunk is copied, because the next read overwrites it.
      for await (const chunk of readChunks(fd, sizeBytes)) yield Buffer.from(chunk);
    } finally {
      closeSync(fd);
    }
  }
  return { path, sizeBytes, chunks };
}
