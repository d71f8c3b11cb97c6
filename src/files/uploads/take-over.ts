import { constants, copyFile, ftruncateSync, lstatSync, openSync, renameSync, rmSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { closeAsync, fsyncAsync } from '../../lib/disk/descriptors.ts';
import { syncFolder } from '../../lib/disk/durable-files.ts';
import { isServiceError, ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { syncOpenedFolder } from '../disk/folder-sync.ts';
import type { OpenedFolder } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { inodeAt, isKeptName, keptName } from '../disk/temporaries.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { removeContent } from './end-upload.ts';
import { isLost, type UploadHold, type UploadRecord } from './upload-store.ts';

const copyFileAsync = promisify(copyFile);

const gone = () => new ServiceError('not-found', 'The content of the upload is gone.');

/**
 * Gives an upload a new content file that only its holder has open: a clone or copy of the confirmed part. If the earlier holder resumes
 * later, it changes only the old file, which no longer has a name.
 *
 * @param parent folder of the content
 * @returns the record with the new path
 * @throws ServiceError `not-found` if the content is gone; `unavailable` if the hold is lost or the content cannot be copied, for example
 *   because the disk is full
 */
export async function takeOverContent(
  { temporaries }: Pick<FilesEnvironment, 'temporaries'>,
  hold: UploadHold,
  { contentPath, offsetBytes }: UploadRecord,
  parent: OpenedFolder,
): Promise<UploadRecord> {
  const name = keptName();
  if (offsetBytes > 0) await copyBeginning(temporaries, parent, { from: basename(contentPath), to: name, sizeBytes: offsetBytes });
  const newPath = `${parent.realPath}/${name}`;
  let record: UploadRecord;
  try {
    record = await hold.renewContent(newPath);
  } catch (error) {
    // If the hold is lost, the new path was not recorded. After any other error, it may be recorded, so the new content must stay.
    if (isLost(error)) removeContent(newPath);
    throw error;
  }
  try {
    removeContent(contentPath);
  } catch {
    // The former content, which the upload no longer needs, is recorded, so that the next start of the service removes it.
    temporaries.add(contentPath);
  }
  return record;
}

async function copyBeginning(
  temporaries: FilesEnvironment['temporaries'],
  parent: OpenedFolder,
  { from, to, sizeBytes }: { from: string; to: string; sizeBytes: number },
): Promise<void> {
  const temporary = temporaries.take(parent.realPath);
  const member = parent.member(temporary);
  try {
    if (!lstatSync(parent.member(from), { throwIfNoEntry: false })?.isFile()) throw gone();
    await copyFileAsync(parent.member(from), member, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
    const fd = openSync(member, constants.O_RDWR | constants.O_NOFOLLOW);
    try {
      if (lstatSync(member).size < sizeBytes) throw gone();
      // Bytes beyond the size were never confirmed, so they are cut off.
      ftruncateSync(fd, sizeBytes);
      await fsyncAsync(fd);
    } finally {
      await closeAsync(fd);
    }
    renameSync(member, parent.member(to));
    temporaries.giveBack(parent.realPath, temporary);
    await syncOpenedFolder(parent.fd);
  } catch (error) {
    for (const name of [temporary, to]) rmSync(parent.member(name), { force: true });
    temporaries.delete(`${parent.realPath}/${temporary}`);
    if (systemErrorCode(error) === 'ENOENT') throw gone();
    const fault = asServiceError(error);
    if (isServiceError(fault, 'not-found', 'internal')) throw fault;
    throw new ServiceError('unavailable', 'The content of the upload cannot be copied; try again.', { cause: error });
  }
}

/**
 * Moves the content of an upload aside. If a suspended process had begun to complete the upload, that process will find no file to rename.
 *
 * @param inode inode of the content
 * @returns whether the content is aside; false if the content already has its final name, or is gone
 */
export function putAside(contentPath: string, asidePath: string, inode: string): boolean {
  try {
    if (inodeAt(contentPath) === inode && isKeptName(basename(contentPath))) renameSync(contentPath, asidePath);
    syncFolder(dirname(asidePath));
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) throw error;
  }
  // This also finds content that an earlier run moved aside without recording it.
  return inodeAt(asidePath) === inode;
}
