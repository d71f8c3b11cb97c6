import { eventIds } from '../../events/event-ids.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { keptName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { reserveRoom } from '../trash/trash.ts';
import { ResumableUpload } from './resumable-upload.ts';
import { isEnding, isUploadId, type UploadHold, type UploadOrder, type UploadRecord } from './upload-store.ts';

export interface ResumableOptions extends Pick<UploadOrder, 'metadata' | 'backendUuid' | 'modifiedMs' | 'notes'> {
  /** Size in bytes, if the client announced it. */
  lengthBytes: number | undefined;
  /** Called before the upload begins; throws an error to refuse it. The request that completes the upload verifies again. */
  verify: ((current: Entry | undefined) => void) | undefined;
}

/**
 * Begins an upload that may take several requests. Emits `uploadStarted`. `AccountFiles` has checked the permission.
 *
 * @param realPath absolute path; symbolic links are not resolved
 * @throws ServiceError as `startUpload`, `too-many-requests`, and `unavailable` if Redis was emptied meanwhile
 */
export async function beginUpload(
  paths: AccountPaths,
  path: VirtualPath,
  realPath: string,
  { lengthBytes, verify, ...order }: ResumableOptions,
  request: { realPath: () => Promise<string>; onWanted: () => void },
): Promise<ResumableUpload> {
  const { account, environment, context } = paths;
  const { uploads, events } = environment;
  paths.checkFileSize(lengthBytes ?? 0);
  const target = paths.openUploadTarget(path, realPath, verify);
  target.parent.close();
  const reservation = await reserveRoom(paths, target.existing?.size ?? 0, lengthBytes ?? 0);
  reservation.release();
  const { request: _, ...origin } = context;
  const contentPath = `${target.parent.realPath}/${keptName()}`;
  const record = await uploads.add({ ...order, accountUuid: account.uuid, path, contentPath, origin }, lengthBytes);
  const hold = await uploads.hold(record.id, request.onWanted);
  if (!hold.record) {
    hold.release();
    throw new ServiceError('unavailable', 'The record of the upload was lost; try again.');
  }
  const data = { metadata: order.metadata, api_backend: order.backendUuid === undefined ? undefined : 'yes' };
  events.emitGrouped(paths.draft(eventIds.uploadStarted, path, data));
  const upload = new ResumableUpload(paths, hold, hold.record, request.realPath);
  upload.isKnownToClient = false;
  return upload;
}

/** @see AccountFiles.resumable */
export async function findUpload(
  paths: AccountPaths,
  id: string,
  request: { realPath: (path: VirtualPath) => Promise<string>; onWanted: (() => void) | undefined },
): Promise<ResumableUpload> {
  const { uploads, clock } = paths.environment;
  // The owner is checked first, so that uploads of other accounts are neither revealed nor interrupted.
  await findRecord(paths, id);
  const hold: UploadHold = await uploads.hold(id, request.onWanted ?? (() => {}));
  try {
    if (request.onWanted && hold.isWanted) throw new ServiceError('client-gone', 'A newer request continues the upload.');
    const record = requireSettled(requireOwner(paths, hold.record), clock);
    return new ResumableUpload(paths, hold, record, () => request.realPath(record.path));
  } catch (error) {
    hold.release();
    throw error;
  }
}

/** @see AccountFiles.inspectResumable */
export async function inspectUpload(paths: AccountPaths, id: string): Promise<UploadRecord> {
  const { uploads, clock } = paths.environment;
  await findRecord(paths, id);
  await uploads.quiet(id);
  return requireSettled(await findRecord(paths, id), clock);
}

async function findRecord(paths: AccountPaths, id: string): Promise<UploadRecord> {
  return requireOwner(paths, isUploadId(id) ? await paths.environment.uploads.find(id) : undefined);
}

function requireOwner(paths: AccountPaths, record: UploadRecord | undefined): UploadRecord {
  const { account } = paths;
  if (record?.accountUuid !== account.uuid) throw unknownUpload();
  // A client with a token or shared link can continue only uploads to paths at which it may create files.
  if (account.grant && !paths.may(record.path, 'createFile')) throw unknownUpload();
  // Visitors of a shared link can continue only uploads that visitors of the same link began.
  if (account.grant?.link !== undefined && record.origin.link !== account.grant.link) throw unknownUpload();
  return record;
}

function requireSettled(record: UploadRecord, clock: Clock): UploadRecord {
  if (record.expiresMs <= clock.nowMs()) throw unknownUpload();
  if (isEnding(record)) throw new ServiceError('unavailable', 'The upload is being completed; try again.');
  return record;
}

function unknownUpload(): ServiceError {
  return new ServiceError('not-found', 'The upload does not exist, or has ended.');
}
