import { lstatSync, unlinkSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { EventContext } from '../../events/event.ts';
import { type ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { baseName } from '../../lib/virtual-path.ts';
import { pathData } from '../account-paths.ts';
import { freeInBackground } from '../disk/freeing.ts';
import { isKeptName } from '../disk/temporaries.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { eventUuidOf, resumedData } from './upload-events.ts';
import type { UploadRecord, UploadStore } from './upload-store.ts';

/** So many uploads are ended at once, where many end together: they share the syncs of the journal. */
export const endsAtOnce = 32;

/** How an upload comes to its end without a file. */
interface UploadEnd {
  /** `expired` or `cancelled` give event 40069 besides; a cancelled one is forgotten at once. */
  how?: 'expired' | 'cancelled' | undefined;
  /** Whether its client knows its URL. Of one that nobody will ask for, nothing is kept. */
  isTold?: boolean;
  /** Of the events; without it, what the record has. */
  data?: Readonly<Record<string, unknown>> | undefined;
  /** Without it, that of the request that began the upload. */
  context?: EventContext;
  /** Where the content is by now, when its folder was moved. */
  contentPath?: string;
}

/**
 * Ends an upload that comes to nothing: its content goes, event 40022 tells why, and so does the record for a while, unless it is forgotten. For
 * whoever holds it.
 *
 * @returns the record as it is kept, or was last
 */
export async function endUpload(
  { events, uploads }: Pick<FilesEnvironment, 'events' | 'uploads'>,
  record: UploadRecord,
  reason: ServiceError,
  { how, isTold = true, data = resumedData(record), context = record.origin, contentPath = record.contentPath }: UploadEnd,
): Promise<UploadRecord> {
  const { id, path } = record;
  removeContent(contentPath);
  const members = { ...pathData(path, `${dirname(record.contentPath)}/${baseName(path)}`), ...data, details: reason.message };
  if (how) events.emit({ id: 40069, context, data: { ...members, reason: how }, uuid: eventUuidOf(id, 40069) });
  await events.emitDurable({ id: 40022, context, data: members, uuid: eventUuidOf(id, 40022) });
  const end = { completion: undefined, outcome: { kind: 'failed', code: reason.code, message: reason.message } } as const;
  if (isTold && how !== 'cancelled') return uploads.change(id, end);
  await uploads.remove(id);
  return { ...record, ...end };
}

/** Does something about an upload that nobody else changes meanwhile, if it is still there; a request that brings content to it is cut. */
export async function whileHeld(uploads: UploadStore, id: string, action: (record: UploadRecord) => Promise<unknown>): Promise<void> {
  const hold = await uploads.hold(id, () => {});
  try {
    const record = await uploads.find(id);
    if (record) await action(record);
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
