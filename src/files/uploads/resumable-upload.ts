import { fstatSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import { readAsync, totalBytes } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { AccountPaths } from '../account-paths.ts';
import { FileWriter } from '../disk/file-writer.ts';
import { Durability } from '../disk/folder-sync.ts';
import { openWriteTarget } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { keptName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { transferData } from '../operations/file-download.ts';
import { emitUploaded, type UploadResult } from '../operations/file-upload.ts';
import type { QuotaReservation } from '../quota.ts';
import type { Transfer } from '../transfers.ts';
import { decideEnd, emitEnd, removeContent, resumedData, uploadEventUuid } from './end-upload.ts';
import { takeOverContent } from './take-over.ts';
import type { UploadChange, UploadHold, UploadOutcome, UploadRecord } from './upload-store.ts';

/** Faults after which a later request may still go on: nothing is wrong with the upload itself. `internal` is a disk that fails, for example. */
const passing = ['unavailable', 'locked', 'in-use', 'client-gone', 'too-many-requests', 'internal'] as const;

/** Whether a fault is the end of an upload: every later request would meet it again, or must not begin. */
export function isFinal(error: unknown): boolean {
  return !isServiceError(asServiceError(error), ...passing);
}

/** So much of the content is read at a time. */
const readBytes = 1024 * 1024;

const overrun = { details: { overrun: true } };

/** Whether a fault is that more came than was announced. */
export function isOverrun(error: unknown): boolean {
  return isServiceError(error) && error.details.overrun === true;
}

/** What one request brings, or brought. */
interface Receiving extends Transfer {
  readonly writer: FileWriter;
  readonly reservation: QuotaReservation;
  /** Real path that the file will have. */
  readonly target: string;
}

/**
 * An upload that may take several requests, in the hands of one of them. It ends with `keep`, `commit` and then `conclude`, `end` or
 * `release`; whoever waits for it gets it then.
 */
export class ResumableUpload {
  readonly #paths: AccountPaths;
  readonly #hold: UploadHold;
  readonly #realPath: () => Promise<string>;
  #record: UploadRecord;
  #receiving: Receiving | undefined;
  #failure: unknown;
  #noted: Promise<unknown> = Promise.resolve();
  #isReleased = false;
  /** Told when so much of it is on disk while a request brings more; not of all there is. */
  onProgress: ((offsetBytes: number) => void) | undefined;
  /** Whether its client knows its URL. What nobody can go on with ends with the first fault. */
  isKnownToClient = true;

  /** @param realPath asks anew whatever may refuse the upload, and resolves with where it will be written */
  constructor(paths: AccountPaths, hold: UploadHold, record: UploadRecord, realPath: () => Promise<string>) {
    this.#paths = paths;
    this.#record = record;
    this.#hold = hold;
    this.#realPath = realPath;
  }

  get record(): UploadRecord {
    return this.#record;
  }

  /** Bytes that have come, on disk or not yet. */
  get receivedBytes(): number {
    return this.#receiving?.writer.sizeBytes ?? this.#record.offsetBytes;
  }

  /** Notes the size of the whole. @throws ServiceError `too-large` for more than a file of this account may have */
  async setLength(lengthBytes: number): Promise<void> {
    this.#paths.checkFileSize(lengthBytes);
    if (this.#record.lengthBytes === undefined) await this.#change({ lengthBytes });
  }

  /**
   * Begins to take content behind what is there.
   *
   * @param announces whether what is on disk may be told and kept before the request has ended; not where a digest decides about all of it
   * @throws ServiceError what may refuse any upload; then the upload is over, unless it may pass
   */
  async open(announces: boolean): Promise<void> {
    try {
      await this.#open(announces);
    } catch (error) {
      await this.fail(error);
      throw asServiceError(error);
    }
  }

  /** Ends a request that met a fault: the upload is over with it, or kept for another request where the fault may pass. */
  async fail(error: unknown): Promise<void> {
    if (!this.isKnownToClient || isFinal(error)) await this.end(error);
    else if (this.#receiving) await this.#goBack();
    else this.release();
  }

  async #goBack(): Promise<void> {
    try {
      if (this.#record.completion) await this.#change({ completion: undefined });
    } finally {
      await this.keep(false);
    }
  }

  async #open(announces: boolean): Promise<void> {
    const { environment, mounts, account } = this.#paths;
    const { offsetBytes, lengthBytes } = this.#record;
    const target = openWriteTarget(mounts.roots, await this.#realPath());
    let reservation: QuotaReservation;
    let name: string;
    try {
      if (target.parent.realPath !== dirname(this.#record.contentPath))
        throw new ServiceError('not-found', 'The folder of the upload is another one by now.');
      if (this.#hold.isTakeover) this.#record = await takeOverContent(environment, this.#hold, this.#record, target.parent);
      name = basename(this.#record.contentPath);
      const kept = { name, sizeBytes: offsetBytes };
      const replacedBytes = target.existing?.size ?? 0;
      reservation = await environment.quotas.reserve(mounts.roots, account.quotaSizeBytes, replacedBytes, lengthBytes ?? 0, kept);
    } catch (error) {
      target.parent.close();
      throw error;
    }
    const onSynced = (sizeBytes: number) => {
      if (announces) this.#note(sizeBytes);
    };
    try {
      const writer = new FileWriter(target, environment, undefined, { name, sizeBytes: offsetBytes, onSynced });
      this.#receiving = {
        direction: 'upload',
        files: this.#paths,
        path: this.#record.path,
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

  // The whole is never noted before it is done: a client that is told so would not ask for the end any more.
  #note(sizeBytes: number): void {
    const { lengthBytes } = this.#record;
    if (lengthBytes !== undefined && sizeBytes >= lengthBytes) return;
    this.#noted = this.#noted.then(async () => {
      try {
        await this.#change({ offsetBytes: sizeBytes });
        this.onProgress?.(sizeBytes);
      } catch (error) {
        this.#failure ??= error;
      }
    });
  }

  /** Appends. @throws ServiceError `too-large`, `storage-full`, `length-mismatch` behind the announced end, `not-found` when it was ended meanwhile */
  async write(chunks: readonly Buffer[]): Promise<void> {
    const { writer, reservation } = this.#opened;
    if (this.#failure !== undefined) throw this.#failure;
    const bytes = totalBytes(chunks);
    const sizeBytes = writer.sizeBytes + bytes;
    const { lengthBytes } = this.#record;
    if (lengthBytes !== undefined && sizeBytes > lengthBytes)
      throw new ServiceError('length-mismatch', `The upload was announced with ${lengthBytes} bytes, and more came.`, overrun);
    this.#paths.checkFileSize(sizeBytes);
    await reservation.take(bytes);
    await writer.write(chunks);
  }

  /** Reads all that has come, in order. */
  async read(onChunk: (chunk: Buffer) => void): Promise<void> {
    const { fd, sizeBytes } = this.#opened.writer;
    const buffer = Buffer.allocUnsafe(Math.min(readBytes, sizeBytes));
    for (let done = 0; done < sizeBytes; ) {
      const { bytesRead } = await readAsync(fd, buffer, 0, buffer.length, done);
      if (bytesRead === 0) throw new ServiceError('not-found', 'The content of the upload is gone.');
      onChunk(buffer.subarray(0, bytesRead));
      done += bytesRead;
    }
  }

  /** Drops what this request brought. */
  async rollBack(): Promise<void> {
    await this.#opened.writer.truncate(this.#record.offsetBytes);
  }

  /**
   * Ends the request, and keeps what it brought for another one to go on; all of it is on disk then.
   *
   * @param mayBeWhole whether all of the announced length may be told; else the last byte has to come again, so that somebody completes it
   */
  async keep(mayBeWhole: boolean): Promise<void> {
    const { writer, reservation, startedMs } = this.#opened;
    const { lengthBytes, offsetBytes, requests, activeMs } = this.#record;
    const came = writer.sizeBytes > offsetBytes;
    this.#stopReceiving();
    try {
      await writer.suspend();
      await this.#noted;
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
      reservation.release();
      throw asServiceError(error);
    } finally {
      this.release();
    }
  }

  /**
   * Makes the upload the file's content; event `fileUploaded`, on disk when the promise resolves. `conclude` follows.
   *
   * @param verify refuses by throwing, in the turn of the rename
   * @throws ServiceError; the upload is over then, unless the fault may pass
   */
  async commit(verify: ((current: Entry | undefined) => void) | undefined): Promise<UploadResult> {
    try {
      return await this.#commit(verify);
    } catch (error) {
      // The file has its name: where its event is missing, who looks after uploads tells of it as soon as that can be done.
      if (isServiceError(error, 'not-durable') && error.details.recorded)
        await this.conclude({ kind: 'stored', headers: [] }).catch(() => {});
      else if (!this.#receiving) this.release();
      else await this.fail(error);
      throw asServiceError(error);
    }
  }

  async #commit(verify: ((current: Entry | undefined) => void) | undefined): Promise<UploadResult> {
    const { events, clock } = this.#paths.environment;
    const { writer, reservation, target } = this.#opened;
    const { id, lengthBytes, path, contentPath, backendUuid, modifiedMs } = this.#record;
    events.assertWritable();
    await this.#noted;
    if (this.#failure !== undefined) throw this.#failure;
    if (lengthBytes !== undefined && writer.sizeBytes !== lengthBytes)
      throw new ServiceError('length-mismatch', `The upload was announced with ${lengthBytes} bytes, ${writer.sizeBytes} came.`);
    const { dev, ino } = fstatSync(writer.fd, { bigint: true });
    const data = this.#eventData();
    const asidePath = `${dirname(contentPath)}/${keptName()}`;
    const completion = {
      inode: `${dev}-${ino}`,
      target,
      eventUuid: uploadEventUuid(id, eventIds.fileUploaded),
      atMs: clock.nowMs(),
      data,
      asidePath,
    };
    await this.#change({ completion });
    const durability = new Durability();
    const { entry, isReplacement } = await writer.finish(durability, {
      requireUnlocked: () => this.#paths.requireUnlocked(path, 'content'),
      modifiedMs,
      verify,
      reservation,
    });
    this.#stopReceiving();
    // After a sleep others may have told of it.
    await this.#hold.confirm();
    const draft = {
      ...this.#paths.draft(eventIds.fileUploaded, path, { ...data, replaced: isReplacement || undefined }),
      uuid: completion.eventUuid,
    };
    return { entry, delivery: await emitUploaded(this.#paths, durability, draft, backendUuid) };
  }

  /** Keeps how the end was answered, and lets the next request have that. */
  async conclude(outcome: UploadOutcome): Promise<void> {
    try {
      const { lengthBytes } = this.#record;
      const sizeBytes = lengthBytes ?? (this.#record.completion?.data.total_write as number);
      await this.#change({ offsetBytes: sizeBytes, lengthBytes: sizeBytes, outcome });
    } finally {
      this.release();
    }
  }

  /**
   * Gives the upload up: its content goes, the old file stays as it was. Event `uploadFailed`.
   *
   * @param reason why; later requests are told
   * @param how `cancelled` by its client: event `unfinishedUploadEnded` besides, and it is forgotten at once
   */
  async end(reason: unknown, how?: 'cancelled'): Promise<void> {
    const { environment, mounts, context } = this.#paths;
    const receiving = this.#receiving;
    this.#stopReceiving();
    try {
      await this.#noted;
      receiving?.reservation.release();
      const data = receiving && this.#eventData(receiving);
      await decideEnd(environment, this.#hold, asServiceError(reason), { how, isTold: this.isKnownToClient, data });
      await receiving?.writer.discard();
      removeContent(this.#record.contentPath);
      this.#record = await emitEnd(environment, this.#hold, context);
      environment.quotas.usage(mounts.roots).removed();
    } finally {
      await receiving?.writer.leave();
      this.release();
    }
  }

  /** Forgets an upload that is over. */
  async forget(): Promise<void> {
    try {
      await this.#hold.remove();
    } finally {
      this.release();
    }
  }

  /** Lets the next request have it. Does nothing when that has happened. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#hold.release();
  }

  async #change(change: UploadChange): Promise<void> {
    this.#record = await this.#hold.change(change);
  }

  get #opened(): Receiving {
    if (!this.#receiving) throw new Error('The upload was not opened.');
    return this.#receiving;
  }

  #eventData(receiving = this.#opened): Record<string, unknown> {
    const { requests, activeMs, offsetBytes } = this.#record;
    const { writer, startedMs } = receiving;
    const elapsedMs = activeMs + this.#paths.environment.clock.monotonicMs() - startedMs;
    return {
      ...resumedData(this.#record, requests + (writer.sizeBytes > offsetBytes ? 1 : 0), writer.sizeBytes),
      ...transferData(elapsedMs / 1000, writer.sizeBytes, 'write'),
    };
  }
}
