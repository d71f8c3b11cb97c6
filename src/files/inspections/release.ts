import { closeSync, constants, lstatSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { readChunks } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { baseName, memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter } from '../disk/file-writer.ts';
import { Durability } from '../disk/folder-sync.ts';
import { openWriteTarget } from '../disk/opened.ts';
import { ResumableUpload } from '../uploads/resumable-upload.ts';
import { isEnding, type UploadHold, type UploadRecord, type UploadStore } from '../uploads/upload-store.ts';
import { inspectionsOf, passedGate, stateAt } from './gate.ts';
import type { HeldContent, HeldUpload } from './holding.ts';

/** The administrator who decided, or the inspections that have accepted the file. */
export type ReleasedBy = { administrator: string } | { passed: ReadonlySet<string> };

/**
 * Gives a held upload its name, the same way as an upload of several requests is completed: rights, locks, quota and conditions are checked
 * again.
 *
 * @param hold is released
 * @throws ServiceError; the upload stays held then
 */
export async function releaseUpload(paths: AccountPaths, hold: UploadHold, record: HeldUpload, by: ReleasedBy): Promise<void> {
  const { path, contentPath, held } = record;
  const realPath = async () => {
    paths.require(path, held.movedFrom === undefined ? 'createFile' : 'rename');
    paths.environment.events.assertWritable();
    await paths.requireUnlocked(path, 'content');
    // The folder is the one of the content, even if the account reaches it by another path now.
    return `${dirname(contentPath)}/${baseName(path)}`;
  };
  const verify = () => {
    if (held.expected !== undefined && held.expected !== stateAt(`${dirname(contentPath)}/${baseName(path)}`))
      throw new ServiceError('destination-exists', 'The name was taken or changed meanwhile, which the conditions of the upload exclude.');
  };
  const upload = new ResumableUpload(paths, hold, record, realPath);
  // Administrators may release a file that no inspection has accepted.
  upload.released = 'administrator' in by ? by : { gate: passedGate(paths, path, by.passed) };
  await upload.open(false);
  try {
    await upload.commit(held.expected === undefined ? undefined : verify);
  } catch (error) {
    // The file has its name.
    if (!isServiceError(error, 'not-durable')) throw error;
  }
  await upload.forget();
}

/** Moves a held file that came from a MOVE back to its former folder, with a number if its name is taken. @returns its path */
export async function putBack(paths: AccountPaths, { contentPath, offsetBytes }: HeldUpload, movedFrom: VirtualPath): Promise<VirtualPath> {
  const path = freePath(paths, movedFrom);
  paths.environment.events.assertWritable();
  const target = openWriteTarget(paths.mounts.roots, paths.writable(paths.mounts.locate(path)));
  // With a number in its name, or through a link, more inspections may apply than before.
  const before = inspectionsOf(paths, movedFrom, `${target.parent.realPath}/${baseName(movedFrom)}`);
  const writer = new FileWriter(target, paths.environment);
  const fd = openSync(contentPath, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    for await (const chunk of readChunks(fd, offsetBytes)) await writer.write([chunk]);
    await writer.finish(new Durability(), {
      requireUnlocked: () => paths.requireUnlocked(path, 'content'),
      gate: passedGate(paths, path, before),
      rules: { ...paths.nameRules(path), mayReplace: false, ifTaken: 'refuse', retainDays: 0 },
      verify: (current) => {
        if (current) throw new ServiceError('exists', 'The name was taken meanwhile; try again.');
      },
    });
    return path;
  } catch (error) {
    await writer.discard();
    throw error;
  } finally {
    closeSync(fd);
  }
}

/** The name by which inspections judge a held upload. */
export function toldName({ path, held }: HeldUpload): string {
  return held.toldAs ?? baseName(path);
}

/** Removes the content of an upload whose end was begun before its content got its hidden name. @returns whether that was so */
export async function dropIfEnded(store: UploadStore, { id, contentPath }: UploadRecord): Promise<boolean> {
  const current = await store.find(id);
  if (current && !isEnding(current) && !current.outcome) return false;
  rmSync(contentPath, { force: true });
  return true;
}

/** The path, or if it is taken the path with the first free number. */
function freePath(paths: AccountPaths, path: VirtualPath): VirtualPath {
  const [, stem = '', extension = ''] = /^(.+?)(\.[^.]*)?$/.exec(baseName(path)) ?? [];
  for (let number = 1; ; number++) {
    const candidate = number === 1 ? path : memberPath(parentPath(path), `${stem} (${number})${extension}`);
    if (!paths.entryAt(candidate)) return candidate;
  }
}

/** The content of a held upload. @throws ServiceError `not-found` when it is gone */
export function contentOf({ path, contentPath, offsetBytes: sizeBytes }: HeldUpload): HeldContent {
  if (!lstatSync(contentPath, { throwIfNoEntry: false })?.isFile())
    throw new ServiceError('not-found', 'The content of the held upload is gone.');
  async function* chunks() {
    const fd = openSync(contentPath, constants.O_RDONLY | constants.O_NOFOLLOW);
    try {
      // Chunks are valid until the next one is read.
      for await (const chunk of readChunks(fd, sizeBytes)) yield Buffer.from(chunk);
    } finally {
      closeSync(fd);
    }
  }
  return { path, sizeBytes, chunks };
}
