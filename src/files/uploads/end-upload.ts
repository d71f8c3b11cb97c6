import { lstatSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { EventContext } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { type ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { baseName } from '../../lib/virtual-path.ts';
import { pathData } from '../account-paths.ts';
import { freeInBackground } from '../disk/freeing.ts';
import { isKeptName } from '../disk/temporaries.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { eventUuidOf, resumedData } from './upload-events.ts';
import type { UploadEnding, UploadHold, UploadRecord, UploadStore } from './upload-store.ts';

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
  return tellEnd(files, hold, end.context);
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
export async function tellEnd({ events }: Pick<Dependencies, 'events'>, hold: UploadHold, given?: EventContext): Promise<UploadRecord> {
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
      uuid: eventUuidOf(id, eventIds.unfinishedUploadEnded),
    });
  await events.emitDurable({ id: eventIds.uploadFailed, context, data: members, uuid: eventUuidOf(id, eventIds.uploadFailed) });
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
