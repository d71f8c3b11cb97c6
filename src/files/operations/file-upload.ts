import { createHash, randomUUID } from 'node:crypto';
import type { BackendDelivery } from '../../events/dispatcher.ts';
import type { EventDraft } from '../../events/event.ts';
import { eventIds } from '../../events/event-ids.ts';
import { totalBytes } from '../../lib/disk/descriptors.ts';
import { memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter } from '../disk/file-writer.ts';
import { Durability } from '../disk/folder-sync.ts';
import { asServiceError } from '../disk/system-errors.ts';
import type { Entry } from '../entry.ts';
import { isHeld, uploadGate } from '../inspections/gate.ts';
import type { QuotaReservation } from '../quota.ts';
import type { Transfer } from '../transfers.ts';
import { keepReplaced, reserveRoom } from '../trash/trash.ts';
import { transferData } from './file-download.ts';

export interface UploadOptions {
  /** Announced size, if the client gave it. */
  expectedSizeBytes?: number | undefined;
  /** Modification time to set, Unix time in milliseconds. */
  modifiedMs?: number | undefined;
  /** Parsed upload metadata, for `data.metadata` of the events. */
  metadata?: Record<string, string[]> | undefined;
  /** UUID of the event handler for whose reply the upload waits. */
  backendUuid?: string | undefined;
  /**
   * Called before the first byte, and again right before the rename, while the mutex of the path is locked. Refuses the upload by throwing.
   */
  verify?: ((current: Entry | undefined) => void) | undefined;
  /** Whether the result and the event include the digest of the content. */
  isDigested?: boolean | undefined;
}

export interface UploadResult {
  entry: Entry;
  /** Path of the file. It has a numbered name if the requested name was taken (`on_name_taken`). */
  path: VirtualPath;
  /** The reply of the back-end, if `backendUuid` was given. */
  delivery: BackendDelivery | undefined;
  /** UUID of the event `fileUploaded`. */
  eventUuid: string;
  /** SHA-256 of the content, if it was requested. */
  sha256: Buffer | undefined;
}

/** The event data with the digest of a file. */
export function digestData(sha256: Buffer | undefined): { digest?: { 'sha-256': string } } {
  return sha256 ? { digest: { 'sha-256': sha256.toString('base64') } } : {};
}

/** An upload in one request, as an entry in the list of running transfers. */
class ShownUpload implements Transfer {
  readonly direction = 'upload';
  readonly files: AccountPaths;
  readonly path: VirtualPath;
  readonly startedMs: number;
  readonly totalBytes: number | undefined;
  readonly #writer: FileWriter;

  constructor(files: AccountPaths, path: VirtualPath, startedMs: number, writer: FileWriter, totalBytes: number | undefined) {
    this.files = files;
    this.path = path;
    this.startedMs = startedMs;
    this.#writer = writer;
    this.totalBytes = totalBytes;
  }

  get bytes(): number {
    return this.#writer.sizeBytes;
  }
}

/** A running upload. The caller ends the upload with `commit` or `abort`. */
export interface FileUpload {
  /** Appends to the file. @throws ServiceError `too-large` or `storage-full` */
  write(chunks: readonly Buffer[]): Promise<void>;
  /** Renames the content to its final name. Emits `fileUploaded`, which is on disk when the promise resolves. */
  commit(): Promise<UploadResult>;
  /**
   * Drops the content; an existing file is unchanged. Emits `uploadFailed`. If the client went away, emits `clientWentAway` first. Does
   * nothing after `commit`.
   */
  abort(reason: unknown): Promise<void>;
}

/**
 * Begins to write a file. Emits `uploadStarted`. `AccountFiles` has checked the permission.
 *
 * @param realPath absolute path; symbolic links are not resolved
 * @throws ServiceError `parent-missing`, `is-folder`, `too-large`, `storage-full`, and the errors of `options.verify`
 */
export async function startUpload(files: AccountPaths, path: VirtualPath, realPath: string, options: UploadOptions): Promise<FileUpload> {
  const { clock, events, transfers } = files.environment;
  const neededBytes = options.expectedSizeBytes ?? 0;
  files.checkFileSize(neededBytes);
  const target = files.openUploadTarget(path, realPath, options.verify);
  let reservation: QuotaReservation;
  try {
    reservation = await reserveRoom(files, target.existing?.size ?? 0, neededBytes);
  } catch (error) {
    target.parent.close();
    throw error;
  }
  const startedMs = clock.monotonicMs();
  const members = files.pathMembers(path);
  const shared = { metadata: options.metadata, api_backend: options.backendUuid === undefined ? undefined : 'yes' };
  let writer: FileWriter;
  try {
    // This event need not be on disk immediately, because the client gets no reply before the event of the upload's end is on disk.
    events.emitGrouped(files.sharedDraft(eventIds.uploadStarted, members, shared));
    writer = new FileWriter(target, files.environment);
  } catch (error) {
    reservation.release();
    throw error;
  }
  const transfer = new ShownUpload(files, path, startedMs, writer, options.expectedSizeBytes);
  transfers.enter(transfer);
  let isDone = false;
  const { metadata, backendUuid, verify } = options;
  const hash = options.isDigested ? createHash('sha256') : undefined;
  const gate = uploadGate(files, () => path, { metadata, backendUuid, isConditional: verify !== undefined });
  const end = () => {
    isDone = true;
    transfers.leave(transfer);
  };
  // Object.assign is used here and below, because an object spread costs ten times as much.
  const eventData = (more: object) =>
    Object.assign(
      transferData((clock.monotonicMs() - startedMs) / 1000, writer.sizeBytes, 'write') as Record<string, unknown>,
      shared,
      more,
    );

  return {
    async write(chunks) {
      const bytes = totalBytes(chunks);
      files.checkFileSize(writer.sizeBytes + bytes);
      await reservation.take(bytes);
      for (const chunk of hash ? chunks : []) hash?.update(chunk);
      await writer.write(chunks);
    },
    async commit() {
      events.assertWritable();
      const durability = new Durability();
      const { entry, isReplacement, trashed, numberedName } = await writer
        .finish(durability, {
          requireUnlocked: () => files.requireUnlocked(path, 'content'),
          modifiedMs: options.modifiedMs,
          verify: options.verify,
          reservation,
          rules: files.nameRules(path),
          keep: keepReplaced(files, path),
          gate,
        })
        .catch((error: unknown) => {
          if (isHeld(error)) end();
          throw error;
        });
      end();
      const { path: stored, data: asked } = numberedPath(path, numberedName);
      const sha256 = hash?.digest();
      const data = eventData(Object.assign(asked, { replaced: isReplacement || undefined, trashed }, digestData(sha256)));
      const told = stored === path ? members : files.pathMembers(stored);
      const draft = Object.assign(files.sharedDraft(eventIds.fileUploaded, told, data), { uuid: randomUUID() });
      const delivery = await emitUploaded(files, durability, draft, options.backendUuid);
      return { entry, path: stored, delivery, eventUuid: draft.uuid, sha256 };
    },
    async abort(reason) {
      if (isDone) return;
      const meaning = asServiceError(reason);
      transfers.leave(transfer);
      reservation.release();
      await writer.discard();
      const data = eventData({ details: meaning.message, inspection: meaning.details.inspection });
      if (meaning.code === 'client-gone') files.emit(eventIds.clientWentAway, path, data);
      files.emit(eventIds.uploadFailed, path, data);
    },
  };
}

/** The path of a file that may have a numbered name, and the event data with the requested path. @param name the numbered name, if any */
export function numberedPath(path: VirtualPath, name: string | undefined): { path: VirtualPath; data: { requested_path?: string } } {
  return name === undefined ? { path, data: {} } : { path: memberPath(parentPath(path), name), data: { requested_path: path } };
}

/**
 * Emits the event of an uploaded file. If `backendUuid` is given, waits for the reply of that back-end.
 *
 * @throws ServiceError `not-durable`, as `AccountPaths.emitDone`
 */
export async function emitUploaded(
  paths: AccountPaths,
  durability: Durability,
  draft: EventDraft,
  backendUuid: string | undefined,
): Promise<BackendDelivery | undefined> {
  const { events } = paths.environment;
  let delivery: BackendDelivery | undefined;
  await paths.emitDone(durability, [draft], async (told) => {
    if (backendUuid === undefined) await events.emitDurable(told);
    else ({ delivery } = await events.emitAndWait(told, backendUuid));
  });
  return delivery;
}
