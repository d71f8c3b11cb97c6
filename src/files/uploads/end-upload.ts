import { createHash } from 'node:crypto';
import { lstatSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { EventContext } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { forEachConcurrently } from '../../lib/concurrency/event-loop.ts';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { baseName } from '../../lib/virtual-path.ts';
import { type AccountPaths, pathData } from '../account-paths.ts';
import { freeInBackground } from '../disk/freeing.ts';
import { inodeAt, isKeptName } from '../disk/temporaries.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { transferData } from '../operations/file-download.ts';
import { isEnding, type UploadEnding, type UploadHold, type UploadRecord, type UploadStore } from './upload-store.ts';

/**
 * Ends the unfinished uploads into a folder that is not there any more; event `uploadFailed` each. A request that brings content to one of them is cut;
 * an upload that ends with its connection fails, unless its folder was moved, which takes it along.
 *
 * @param realPath where the folder was, links resolved
 * @param movedTo where it is now, when it was moved: the uploads do not move along
 */
export async function endUploadsBelow({ environment, context }: AccountPaths, realPath: string, movedTo?: string): Promise<void> {
  const { uploads } = environment;
  if (movedTo === undefined) await uploads.dismiss(realPath);
  const end = async (hold: UploadHold, record: UploadRecord) => {
    if (record.outcome) return;
    const reason = new ServiceError('not-found', `The folder of the upload was ${movedTo === undefined ? 'removed' : 'moved'}.`);
    const contentPath = movedTo === undefined ? record.contentPath : movedTo + record.contentPath.slice(realPath.length);
    // One that has its name already is done, and one whose end is decided has it: whoever looks after uploads tells of both.
    if (record.ending || (record.completion && inodeAt(contentPath) === undefined)) return;
    await endUpload(environment, hold, reason, { context: { ...record.origin, request: context.request }, contentPath });
  };
  await forEachConcurrently(await uploads.within(realPath), endsAtOnce, ({ id }) => whileHeld(uploads, id, end));
}

/**
 * The UUID of an event that an upload has once at most: made of its ID, so that one that a killed process may have told is the same event
 * when it is told again.
 */
export function uploadEventUuid(uploadId: string, eventId: number): string {
  const bytes = createHash('sha256').update(`${uploadId} ${eventId}`).digest().subarray(0, 16);
  // RFC 9562 §5.8: version 8, of an implementation's own making.
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** What the events of an upload carry that may take several requests. @param requests that brought content */
export function resumedData(record: UploadRecord, requests = record.requests, sizeBytes = record.offsetBytes): Record<string, unknown> {
  return {
    ...transferData(record.activeMs / 1000, sizeBytes, 'write'),
    metadata: record.metadata,
    api_backend: record.backendUuid === undefined ? undefined : 'yes',
    resumed: Math.max(0, requests - 1),
  };
}

/**
 * Cancels an upload for those who run the service; a request that brings content to it is cut. Events `unfinishedUploadEnded` and `uploadFailed`. Nothing happens to one that
 * is over, or that has been given its name.
 */
export async function cancelUpload(files: Pick<FilesEnvironment, 'events' | 'uploads' | 'clock'>, id: string): Promise<void> {
  await whileHeld(files.uploads, id, async (hold, record) => {
    if (record.outcome || isEnding(record)) return;
    const reason = new ServiceError('not-found', 'An administrator cancelled the upload.');
    await endUpload(files, hold, reason, { how: 'cancelled' });
  });
}

/** So many uploads are ended at once, where many end together: they share the syncs of the journal. */
export const endsAtOnce = 32;

/** How an upload comes to its end without a file. */
interface UploadEnd {
  how?: UploadEnding['how'];
  isTold?: boolean;
  /** Of the events; without it, what the record has. */
  data?: UploadEnding['data'] | undefined;
  /** Without it, that of the request that began the upload. */
  context?: EventContext;
  /** Where the content is by now, when its folder was moved. */
  contentPath?: string;
}

type Dependencies = Pick<FilesEnvironment, 'events' | 'clock'>;

/**
 * Ends an upload that comes to nothing: its content goes, event `uploadFailed` tells why, and so does the record for a while, unless it is forgotten. For
 * whoever holds it.
 *
 * @returns the record as it is kept, or was last
 * @throws ServiceError `unavailable` when the hold is lost: then nothing has happened
 */
export async function endUpload(files: Dependencies, hold: UploadHold, reason: ServiceError, end: UploadEnd): Promise<UploadRecord> {
  const record = await decideEnd(files, hold, reason, end);
  removeContent(end.contentPath ?? record.contentPath);
  return emitEnd(files, hold, end.context);
}

/** Decides that an upload comes to nothing, for all who may have it later, too. `tellEnd` follows, once its content is gone. @throws as `endUpload` */
export function decideEnd(
  { clock }: Dependencies,
  hold: UploadHold,
  { code, message }: ServiceError,
  { how, isTold = true, data }: UploadEnd,
): Promise<UploadRecord> {
  const eventData = data ?? (hold.record ? resumedData(hold.record) : {});
  return hold.change({ completion: undefined, ending: { code, message, how, isTold, data: eventData, atMs: clock.nowMs() } });
}

/**
 * Tells of the end that was decided, and keeps it for those who ask. Whoever does it for one that is gone looks whether it was told of before.
 *
 * @throws as `endUpload`
 */
export async function emitEnd({ events }: Pick<Dependencies, 'events'>, hold: UploadHold, given?: EventContext): Promise<UploadRecord> {
  const { record } = hold;
  if (!record?.ending) throw new Error('The end of the upload was not decided.');
  const { id, path, origin, contentPath, ending } = record;
  const { message, how, data } = ending;
  const context = given ?? origin;
  // It may have taken long to remove the content.
  await hold.confirm();
  const members = { ...pathData(path, `${dirname(contentPath)}/${baseName(path)}`), ...data, details: message };
  if (how)
    events.emit({
      id: eventIds.unfinishedUploadEnded,
      context,
      data: { ...members, reason: how },
      uuid: uploadEventUuid(id, eventIds.unfinishedUploadEnded),
    });
  await events.emitDurable({ id: eventIds.uploadFailed, context, data: members, uuid: uploadEventUuid(id, eventIds.uploadFailed) });
  return concludeEnd(hold, record, ending);
}

/** Keeps for those who ask how an upload ended whose end was told, or forgets it. @throws as `endUpload` */
export async function concludeEnd(
  hold: UploadHold,
  record: UploadRecord,
  { code, message, how, isTold }: UploadEnding,
): Promise<UploadRecord> {
  const outcome = { kind: 'failed', code, message } as const;
  if (isTold && how !== 'cancelled') return hold.change({ ending: undefined, outcome });
  await hold.remove();
  return { ...record, ending: undefined, outcome };
}

/** Does something about an upload that nobody else changes meanwhile, if it is still there; a request that brings content to it is cut. */
export async function whileHeld(
  uploads: UploadStore,
  id: string,
  action: (hold: UploadHold, record: UploadRecord) => Promise<unknown>,
): Promise<void> {
  const hold = await uploads.hold(id, () => {});
  try {
    if (hold.record) await action(hold, hold.record);
  } finally {
    hold.release();
  }
}

/** Removes the content of an upload; it may be gone already. */
export function removeContent(contentPath: string): void {
  // The record decides nothing alone: only what has the name of such content is ever touched.
  if (!isKeptName(basename(contentPath))) return;
  try {
    const stats = lstatSync(contentPath);
    // Somebody may have put something else there.
    if (!stats.isFile()) return;
    freeInBackground(contentPath, stats, () => unlinkSync(contentPath));
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) throw error;
  }
}
