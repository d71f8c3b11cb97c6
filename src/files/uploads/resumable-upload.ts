import { fstatSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import { readChunks, totalBytes } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter } from '../disk/file-writer.ts';
import { Durability } from '../disk/folder-sync.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { keptName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { isHeld, uploadGate } from '../inspections/gate.ts';
import type { Gate } from '../inspections/holding.ts';
import { transferData } from '../operations/file-download.ts';
import { digestData, emitUploaded, numberedPath, type UploadResult } from '../operations/file-upload.ts';
import type { QuotaReservation } from '../quota.ts';
import type { Transfer } from '../transfers.ts';
import { keepReplaced, reserveRoom } from '../trash/trash.ts';
import { decideEnd, emitEnd, removeContent, resumedData, uploadEventUuid } from './end-upload.ts';
import { takeOverContent } from './take-over.ts';
import type { UploadChange, UploadHold, UploadOutcome, UploadRecord } from './upload-store.ts';

/** Errors whose cause may pass, so a later request may continue the upload. For example, `internal` means that the disk failed. */
const passing = ['unavailable', 'locked', 'in-use', 'client-gone', 'too-many-requests', 'internal'] as const;

/** Whether an error ends an upload, because every later request would fail for the same reason. */
export function isFinal(error: unknown): boolean {
  return !isServiceError(asServiceError(error), ...passing);
}

/** Whether a request sent more content than the client announced. */
export function isOverrun(error: unknown): boolean {
  return isServiceError(error) && error.details.overrun === true;
}

interface Receiving extends Transfer {
  readonly writer: FileWriter;
  readonly reservation: QuotaReservation;
  /** Real path that the file will have. */
  readonly target: string;
}

/**
 * An upload that may take several requests. One request at a time holds the upload. At its end, that request calls `keep`, `end` or
 * `release`, or `commit` and then `conclude`. Then the next waiting request gets the upload.
 */
export class ResumableUpload {
  readonly #paths: AccountPaths;
  readonly #hold: UploadHold;
  readonly #realPath: () => Promise<string>;
  record: UploadRecord;
  #receiving: Receiving | undefined;
  #failure: unknown;
  #recorded: Promise<unknown> = Promise.resolve();
  #isReleased = false;
  /** Called during a request with the number of bytes on disk; never with the complete size. */
  onProgress: ((offsetBytes: number) => void) | undefined;
  /** Whether the client knows the upload's URL. If not, the client cannot continue the upload, so the first error ends it. */
  isKnownToClient = true;
  /**
   * Set if a held upload is released: the administrator who released it, or the gate that it passed. After an error, the upload stays held.
   */
  released: { administrator?: string; gate?: Gate } | undefined;

  /** @param realPath repeats all checks that may refuse the upload, and resolves with the real path that the file will have */
  constructor(paths: AccountPaths, hold: UploadHold, record: UploadRecord, realPath: () => Promise<string>) {
    this.#paths = paths;
    this.record = record;
    this.#hold = hold;
    this.#realPath = realPath;
  }

  /** Bytes received so far, including bytes that are not on disk yet. */
  get receivedBytes(): number {
    return this.#receiving?.writer.sizeBytes ?? this.record.offsetBytes;
  }

  /** Records the complete size of the upload. @throws ServiceError `too-large` for a file larger than the account may write */
  async setLength(lengthBytes: number): Promise<void> {
    this.#paths.checkFileSize(lengthBytes);
    if (this.record.lengthBytes === undefined) await this.#change({ lengthBytes });
  }

  /**
   * Begins to append content.
   *
   * @param announces whether bytes on disk may be confirmed before the end of the request. False if a digest covers the whole request
   * @throws ServiceError; `isFinal` says whether the error ended the upload
   */
  async open(announces: boolean): Promise<void> {
    try {
      await this.#open(announces);
    } catch (error) {
      await this.fail(error);
      throw asServiceError(error);
    }
  }

  /** Ends a request after an error. If a later request can continue the upload, keeps it; otherwise ends the upload. */
  async fail(error: unknown): Promise<void> {
    if (!this.released && (!this.isKnownToClient || isFinal(error))) await this.end(error);
    else if (this.#receiving) await this.#goBack();
    else this.release();
  }

  async #goBack(): Promise<void> {
    try {
      if (this.record.completion) await this.#change({ completion: undefined });
    } finally {
      await this.keep(this.released !== undefined);
    }
  }

  async #open(announces: boolean): Promise<void> {
    const { environment } = this.#paths;
    const { offsetBytes, lengthBytes } = this.record;
    const target = this.#paths.openUploadTarget(this.record.path, await this.#realPath());
    let reservation: QuotaReservation;
    let name: string;
    try {
      if (target.parent.realPath !== dirname(this.record.contentPath))
        throw new ServiceError('not-found', 'The folder of the upload was replaced meanwhile.');
      if (this.#hold.isTakeover) this.record = await takeOverContent(environment, this.#hold, this.record, target.parent);
      name = basename(this.record.contentPath);
      const kept = { name, sizeBytes: offsetBytes };
      const replacedBytes = target.existing?.size ?? 0;
      reservation = await reserveRoom(this.#paths, replacedBytes, lengthBytes ?? 0, kept);
    } catch (error) {
      target.parent.close();
      throw error;
    }
    const onSynced = (sizeBytes: number) => {
      if (announces) this.#confirm(sizeBytes);
    };
    try {
      const writer = new FileWriter(target, environment, undefined, { name, sizeBytes: offsetBytes, onSynced });
      this.#receiving = {
        direction: 'upload',
        files: this.#paths,
        path: this.record.path,
        startedMs: environment.clock.monotonicMs(),
        formerBytes: offsetBytes,
        get bytes() {
          return writer.sizeBytes;
        },
        totalBytes: lengthBytes,
        writer,
        reservation,
        target: `${target.parent.realPath}/${target.name}`,
      };
      environment.transfers.enter(this.#receiving);
    } catch (error) {
      reservation.release();
      throw error;
    }
  }

  #stopReceiving(): void {
    if (this.#receiving) this.#paths.environment.transfers.leave(this.#receiving);
    this.#receiving = undefined;
  }

  // The complete size is not confirmed here. If the client learned that all bytes are stored, it would not send the request that completes
  // the upload.
  #confirm(sizeBytes: number): void {
    const { lengthBytes } = this.record;
    if (lengthBytes !== undefined && sizeBytes >= lengthBytes) return;
    this.#recorded = this.#recorded.then(async () => {
      try {
        await this.#change({ offsetBytes: sizeBytes });
        this.onProgress?.(sizeBytes);
      } catch (error) {
        this.#failure ??= error;
      }
    });
  }

  /**
   * Appends content.
   *
   * @throws ServiceError `too-large`, `storage-full`, `length-mismatch` beyond the announced size, `not-found` for an ended upload
   */
  async write(chunks: readonly Buffer[]): Promise<void> {
    const { writer, reservation } = this.#opened;
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = totalBytes(chunks);
    const sizeBytes = writer.sizeBytes + bytes;
    const { lengthBytes } = this.record;
    if (lengthBytes !== undefined && sizeBytes > lengthBytes)
      throw new ServiceError('length-mismatch', `The upload was announced with ${lengthBytes} bytes, but more arrived.`, {
        details: { overrun: true },
      });
    this.#paths.checkFileSize(sizeBytes);
    await reservation.take(bytes);
    await writer.write(chunks);
  }

  /** Reads all content received so far, in order. */
  async read(onChunk: (chunk: Buffer) => void): Promise<void> {
    const { fd, sizeBytes } = this.#opened.writer;
    let readBytes = 0;
    for await (const chunk of readChunks(fd, sizeBytes)) {
      onChunk(chunk);
      readBytes += chunk.length;
    }
    if (readBytes < sizeBytes) throw new ServiceError('not-found', 'The content of the upload is gone.');
  }

  /** Drops the content of this request. */
  async rollBack(): Promise<void> {
    await this.#opened.writer.truncate(this.record.offsetBytes);
  }

  /**
   * Ends the request, and keeps its content for another request. The content is on disk when the promise resolves.
   *
   * @param mayBeWhole whether the complete announced length may be confirmed. If not, the last byte is not confirmed, and the request that
   *   completes the upload has to send it again
   */
  async keep(mayBeWhole: boolean): Promise<void> {
    const { writer, reservation, startedMs } = this.#opened;
    const { lengthBytes, offsetBytes, requests, activeMs } = this.record;
    const came = writer.sizeBytes > offsetBytes;
    this.#stopReceiving();
    try {
      await writer.suspend();
      await this.#recorded;
      if (this.#failure !== undefined) throw this.#failure;
      const isTooMuch = !mayBeWhole && lengthBytes !== undefined && writer.sizeBytes >= lengthBytes;
      const sizeBytes = isTooMuch ? Math.max(offsetBytes, lengthBytes - 1) : writer.sizeBytes;
      await this.#change({
        offsetBytes: sizeBytes,
        requests: requests + (came ? 1 : 0),
        activeMs: activeMs + this.#paths.environment.clock.monotonicMs() - startedMs,
      });
      await reservation.keep(sizeBytes);
    } catch (error) {
      await reservation.keep(writer.sizeBytes);
      throw asServiceError(error);
    } finally {
      this.release();
    }
  }

  /**
   * Renames the content to its final name. Emits `fileUploaded`, which is on disk when the promise resolves. The caller then calls
   * `conclude`.
   *
   * @param verify called right before the rename, while the final path is locked; refuses the upload by throwing
   * @param sha256 digest of the content, for the event
   * @throws ServiceError; `isFinal` says whether the error ended the upload
   */
  async commit(verify: ((current: Entry | undefined) => void) | undefined, sha256?: Buffer): Promise<UploadResult> {
    try {
      return await this.#commit(verify, sha256);
    } catch (error) {
      // After `not-durable`, the file has its final name. If its event is missing, `UploadUpkeep` emits it later.
      if (isServiceError(error, 'not-durable') && error.details.recorded)
        await this.conclude({ kind: 'stored', headers: [] }).catch(() => {});
      // If the outcome cannot be recorded, `UploadUpkeep` finds the held upload and records the outcome.
      else if (isHeld(error)) await this.#concludeHeld(error).catch(() => {});
      else if (!this.#receiving) this.release();
      else await this.fail(error);
      throw asServiceError(error);
    }
  }

  // The outcome is kept. If the client lost the reply, it gets the same reply when it asks again.
  async #concludeHeld({ details }: ServiceError): Promise<void> {
    this.#stopReceiving();
    await this.conclude({ kind: 'stored', headers: [['held', String(details.held_id)]] });
  }

  async #commit(verify: ((current: Entry | undefined) => void) | undefined, sha256: Buffer | undefined): Promise<UploadResult> {
    const { events, clock } = this.#paths.environment;
    const { writer, reservation, target } = this.#opened;
    const { id, lengthBytes, path, contentPath, backendUuid, modifiedMs, metadata } = this.record;
    events.assertWritable();
    await this.#recorded;
    if (this.#failure !== undefined) throw this.#failure;
    if (lengthBytes !== undefined && writer.sizeBytes !== lengthBytes)
      throw new ServiceError('length-mismatch', `The upload was announced with ${lengthBytes} bytes, but ${writer.sizeBytes} arrived.`);
    const { dev, ino } = fstatSync(writer.fd, { bigint: true });
    const data = { ...this.#eventData(), held_id: this.released && id, ...digestData(sha256 ?? this.#digestOfHeld) };
    const eventUuid = uploadEventUuid(id, eventIds.fileUploaded);
    const asidePath = `${dirname(contentPath)}/${keptName()}`;
    const releasedBy = this.released && (this.released.administrator ?? '');
    const completion = { inode: `${dev}-${ino}`, target, eventUuid, atMs: clock.nowMs(), data, asidePath, releasedBy };
    await this.#change({ completion });
    const durability = new Durability();
    const { entry, isReplacement, trashed, numberedName } = await writer.finish(durability, {
      requireUnlocked: () => this.#paths.requireUnlocked(path, 'content'),
      modifiedMs,
      verify,
      reservation,
      rules: this.#paths.nameRules(path),
      gate: this.released
        ? this.released.gate
        : uploadGate(this.#paths, () => path, { metadata, backendUuid, isConditional: this.#isConditional }),
      onNumbered: (name) => this.#change({ completion: { ...completion, target: `${dirname(target)}/${name}`, numberedName: name } }),
      keep: keepReplaced(this.#paths, path),
    });
    this.#stopReceiving();
    // If this process was suspended, another process may have taken over the upload and emitted the event.
    await this.#hold.confirm();
    if (releasedBy !== undefined) {
      const released = this.#paths.draft(eventIds.heldUploadReleased, path, { held_id: id, administrator: releasedBy || undefined });
      await events.emitDurable({ ...released, uuid: uploadEventUuid(id, eventIds.heldUploadReleased) });
    }
    const { path: stored, data: asked } = numberedPath(path, numberedName);
    const draft = this.#paths.draft(eventIds.fileUploaded, stored, { ...data, ...asked, replaced: isReplacement || undefined, trashed });
    const delivery = await emitUploaded(this.#paths, durability, { ...draft, uuid: eventUuid }, backendUuid);
    return { entry, path: stored, delivery, eventUuid, sha256 };
  }

  /** Keeps the outcome for later requests. */
  async conclude(outcome: UploadOutcome): Promise<void> {
    try {
      const { lengthBytes } = this.record;
      const sizeBytes = lengthBytes ?? (this.record.completion?.data.total_write as number);
      await this.#change({ offsetBytes: sizeBytes, lengthBytes: sizeBytes, outcome });
    } finally {
      this.release();
    }
  }

  /**
   * Ends the upload, which does not become a file. Removes its content; an existing file is unchanged. Emits `uploadFailed`.
   *
   * @param reason error for the event and for later requests
   * @param how `cancelled` if the client cancelled the upload. In that case, also emits `unfinishedUploadEnded`, and removes the record
   *   immediately
   */
  async end(reason: unknown, how?: 'cancelled'): Promise<void> {
    const { environment, mounts, context } = this.#paths;
    const receiving = this.#receiving;
    this.#stopReceiving();
    try {
      await this.#recorded;
      receiving?.reservation.release();
      const { inspection } = asServiceError(reason).details;
      const data = receiving && { ...this.#eventData(receiving), inspection };
      await decideEnd(environment, this.#hold, asServiceError(reason), { how, isTold: this.isKnownToClient, data });
      await receiving?.writer.discard();
      removeContent(this.record.contentPath);
      this.record = await emitEnd(environment, this.#hold, context);
      environment.quotas.usage(mounts.accountRoots).removed();
    } finally {
      await receiving?.writer.leave();
      this.release();
    }
  }

  async forget(): Promise<void> {
    try {
      await this.#hold.remove();
    } finally {
      this.release();
    }
  }

  /** Passes the upload to the next request. Further calls do nothing. */
  release(): void {
    if (!this.#isReleased) this.#hold.release();
    this.#isReleased = true;
  }

  /** The digest of a held upload that came through a shared link; the visitor's receipt shows it. Undefined for other uploads. */
  get #digestOfHeld(): Buffer | undefined {
    const { held, origin } = this.record;
    return held && origin.link !== undefined ? Buffer.from(held.digest, 'base64') : undefined;
  }

  /** Whether the request that began the upload set conditions (`notes` has the headers). */
  get #isConditional(): boolean {
    return Object.keys(this.record.notes).some((name) => name.startsWith('if'));
  }

  async #change(change: UploadChange): Promise<void> {
    this.record = await this.#hold.change(change);
  }

  get #opened(): Receiving {
    if (!this.#receiving) throw new Error('The upload was not opened.');
    return this.#receiving;
  }

  #eventData(receiving = this.#opened): Record<string, unknown> {
    const { requests, activeMs, offsetBytes } = this.record;
    const { writer, startedMs } = receiving;
    const elapsedMs = activeMs + this.#paths.environment.clock.monotonicMs() - startedMs;
    return {
      ...resumedData(this.record, requests + (writer.sizeBytes > offsetBytes ? 1 : 0), writer.sizeBytes),
      ...transferData(elapsedMs / 1000, writer.sizeBytes, 'write'),
    };
  }
}
