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

/** Maximum number of uploads that end at the same time. They share the syncs of the journal. */
export const endsAtOnce = 32;

/** Facts about an upload that ends without becoming a file. */
interface UploadEnd {
  how?: UploadEnding['how'];
  /** Whether the client knows the URL of the upload. */
  isTold?: boolean;
  /** Event data; by default from the record. */
  data?: UploadEnding['data'] | undefined;
  /** Context of the events; by default the context of the request that began the upload. */
  context?: EventContext;
  /** Current path of the content, if its folder was moved. */
  contentPath?: string;
}

type Dependencies = Pick<FilesEnvironment, 'events' | 'clock'>;

/**
 * Ends an upload that does not become a file. Removes its content and emits `uploadFailed` with the reason. The record keeps the reason for
 * a while. If the upload was cancelled, or the client does not know its URL, the record is removed immediately.
 *
 * @returns the last state of the record
 * @throws ServiceError `unavailable` if the hold is lost; in that case, the upload is unchanged
 */
export async function endUpload(files: Dependencies, hold: UploadHold, reason: ServiceError, end: UploadEnd): Promise<UploadRecord> {
  const record = await decideEnd(files, hold, reason, end);
  removeContent(end.contentPath ?? record.contentPath);
  return emitEnd(files, hold, end.context);
}

/** Records that an upload ends without becoming a file. The caller then removes the content and calls `emitEnd`. @throws as `endUpload` */
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
 * Emits the events of a recorded end, and keeps the outcome of the upload for later requests. After a crash, the caller first checks
 * whether the events have already been emitted.
 *
 * @throws as `endUpload`
 */
export async function emitEnd({ events }: Pick<Dependencies, 'events'>, hold: UploadHold, given?: EventContext): Promise<UploadRecord> {
  const { record } = hold;
  if (!record?.ending) throw new Error('The end of the upload was not decided.');
  const { id, path, origin, contentPath, ending } = record;
  const { message, how, data } = ending;
  const context = given ?? origin;
  // The removal of the content can take long enough for the hold to be lost.
  await hold.confirm();
  const members = { ...pathData(path, `${dirname(contentPath)}/${baseName(path)}`), ...data, details: message };
  const { uploadFailed } = eventIds;
  const endedId = record.held ? eventIds.heldUploadEnded : eventIds.unfinishedUploadEnded;
  if (how) {
    const held_id = record.held ? id : undefined;
    events.emit({ id: endedId, context, data: { ...members, held_id, reason: how }, uuid: uploadEventUuid(id, endedId) });
  }
  await events.emitDurable({ id: uploadFailed, context, data: members, uuid: uploadEventUuid(id, uploadFailed) });
  return concludeEnd(hold, record, ending);
}

/** Keeps the outcome of an upload after its last event, or removes the record. @throws as `endUpload` */
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

/**
 * Cancels an upload at the request of an administrator. A request that sends content to the upload is ended first. Emits
 * `unfinishedUploadEnded` and `uploadFailed`. Does nothing if the upload is over or is being completed.
 */
export async function cancelUpload(files: Pick<FilesEnvironment, 'events' | 'uploads' | 'clock'>, id: string): Promise<void> {
  await whileHeld(files.uploads, id, async (hold, record) => {
    if (record.outcome || isEnding(record)) return;
    const reason = new ServiceError('not-found', 'An administrator cancelled the upload.');
    await endUpload(files, hold, reason, { how: 'cancelled' });
  });
}

/**
 * Ends the unfinished uploads into a folder that was removed or moved. Emits `uploadFailed` for each. Requests that send content to these
 * uploads are ended first. An upload that ends with its connection (`PassingUpload`) fails only if the folder was removed. If the folder
 * was moved, such an upload continues in the moved folder. Never rejects, because the folder is already removed or moved: an upload that
 * cannot be ended now ends with its next request, or when it expires.
 *
 * @param realPath former path of the folder, with symbolic links resolved
 * @param after `isGone`: whether the folder was removed; `contentIn`: returns the current real path of its content
 */
export async function endUploadsBelow(
  { environment, context }: AccountPaths,
  realPath: string,
  { isGone, contentIn }: { isGone: boolean; contentIn: () => string | undefined },
): Promise<void> {
  const { uploads, held, log } = environment;
  const attempt = (action: Promise<unknown>) =>
    action.catch((reason) => log.warn('uploads into a folder that was removed or moved could not be ended', { reason }));
  if (isGone) await attempt(uploads.dismiss(realPath));
  const end = async (hold: UploadHold, record: UploadRecord) => {
    if (record.outcome) return;
    const reason = new ServiceError('not-found', `The folder of the upload was ${isGone ? 'removed' : 'moved'}.`);
    const contentPath = (contentIn() ?? realPath) + record.contentPath.slice(realPath.length);
    // `UploadUpkeep` finishes uploads whose file already has its final name, or whose end is recorded.
    if (record.ending || (record.completion && inodeAt(contentPath) === undefined)) return;
    await endUpload(environment, hold, reason, { context: { ...record.origin, request: context.request }, contentPath });
  };
  const endAll = async () => forEachConcurrently(await uploads.within(realPath), endsAtOnce, ({ id }) => whileHeld(uploads, id, end));
  await attempt(endAll());
  if (isGone) await attempt(held.loseFolder(realPath, contentIn));
}

/**
 * Runs an action on an upload, if it exists. A request that sends content to the upload is ended first, so that only the action changes the
 * upload.
 */
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

/** Removes the content of an upload, if it still exists. */
export function removeContent(contentPath: string): void {
  // The name is checked, so that a damaged record cannot lead to the removal of other files.
  if (!isKeptName(basename(contentPath))) return;
  try {
    const stats = lstatSync(contentPath);
    if (stats.isFile()) freeInBackground(contentPath, stats, () => unlinkSync(contentPath));
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) throw error;
  }
}

/** The UUID of an event that an upload emits at most once. It is derived from both IDs, so a repetition after a crash has the same UUID. */
export function uploadEventUuid(uploadId: string, eventId: number): string {
  const bytes = createHash('sha256').update(`${uploadId} ${eventId}`).digest().subarray(0, 16);
  // RFC 9562 §5.8: version 8, for custom formats.
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Event data of an upload that may take several requests. @param requests number of requests that sent content */
export function resumedData(record: UploadRecord, requests = record.requests, sizeBytes = record.offsetBytes): Record<string, unknown> {
  return {
    ...transferData(record.activeMs / 1000, sizeBytes, 'write'),
    metadata: record.metadata,
    api_backend: record.backendUuid === undefined ? undefined : 'yes',
    resumed: Math.max(0, requests - 1),
  };
}
