import { dirname } from 'node:path';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { forEachConcurrently } from '../../lib/concurrency/event-loop.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { baseName } from '../../lib/virtual-path.ts';
import { pathData } from '../account-paths.ts';
import { inodeAt } from '../disk/temporaries.ts';
import type { FilesEnvironment } from '../files-environment.ts';
import { numberedPath } from '../operations/file-upload.ts';
import { concludeEnd, emitEnd, endsAtOnce, endUpload, removeContent, uploadEventUuid, whileHeld } from './end-upload.ts';
import { putAside } from './take-over.ts';
import { isEnding, type UploadCompletion, type UploadHold, type UploadRecord, type UploadStore } from './upload-store.ts';

const periodMs = 10_000;

interface UpkeepDependencies {
  files: Pick<FilesEnvironment, 'events' | 'uploads' | 'clock'>;
  /** The store of held uploads; undefined if `files.uploads` is this store. */
  held?: UploadStore;
  /** Whether an event is in the journal. @param sinceMs the event is not older than this, Unix time in milliseconds */
  isJournalled: (uuid: string, sinceMs: number) => Promise<boolean>;
  clock: Clock;
  log: Log;
}

/** Ends expired uploads, and finishes uploads that a killed process began to complete or end. Each file gets exactly one event. */
export class UploadUpkeep {
  readonly #dependencies: UpkeepDependencies;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;

  constructor(dependencies: UpkeepDependencies) {
    this.#dependencies = dependencies;
  }

  /** Runs once, and then periodically. */
  async start(): Promise<void> {
    await this.run();
    this.#timer = this.#dependencies.clock.every(periodMs, () => void this.run());
  }

  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#running;
  }

  /** Ends expired uploads and finishes interrupted ones, once. Never rejects; after a failure, the next run tries again. */
  run(): Promise<void> {
    this.#running ??= this.#look().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #look(): Promise<void> {
    const { isJournalled } = this.#dependencies;
    const { events, uploads } = this.#dependencies.files;
    const faults: unknown[] = [];
    // Each record is read again after the hold on its upload was taken, because the record may have changed before. An error of one upload
    // must not stop the others.
    const forEach = (records: UploadRecord[], action: (hold: UploadHold, record: UploadRecord) => Promise<void>) =>
      forEachConcurrently(records, endsAtOnce, async ({ id }) => {
        // Content is not removed while events cannot be written.
        events.assertWritable();
        await whileHeld(uploads, id, action).catch((error) => faults.push(error));
      });
    try {
      await uploads.endLost?.((id, sinceMs) => isJournalled(uploadEventUuid(id, eventIds.fileUploaded), sinceMs));
      await forEach(await uploads.completing(), (hold, record) => this.#settle(hold, record));
      await forEach(await uploads.expired(), (hold, record) => this.#expire(hold, record));
    } catch (error) {
      faults.push(error);
    }
    if (faults.length === 0) return;
    const [reason] = faults;
    this.#dependencies.log.warn('unfinished uploads could not be completed or ended; this is tried again', {
      faults: faults.length,
      reason,
    });
  }

  async #expire(hold: UploadHold, record: UploadRecord): Promise<void> {
    const { files, clock } = this.#dependencies;
    if (record.expiresMs > clock.nowMs() || isEnding(record)) return;
    if (record.outcome) {
      removeContent(record.contentPath);
      await hold.remove();
      return;
    }
    const reason = new ServiceError('not-found', 'The upload was not continued in time.');
    await endUpload(files, hold, reason, { how: 'expired' });
  }

  async #settle(hold: UploadHold, record: UploadRecord): Promise<void> {
    const { completion, ending, outcome, contentPath } = record;
    const { files, isJournalled } = this.#dependencies;
    if (outcome) return;
    if (ending) {
      removeContent(contentPath);
      if (await isJournalled(uploadEventUuid(record.id, eventIds.uploadFailed), ending.atMs)) await concludeEnd(hold, record, ending);
      else await emitEnd(files, hold);
      return;
    }
    if (!completion) return;
    // The process that began the completion may only be suspended, and rename the content later. So the content is moved aside first: a
    // late rename then fails.
    const isAside = putAside(contentPath, completion.asidePath, completion.inode);
    if (isAside && inodeAt(completion.target) !== completion.inode) {
      await hold.change({ completion: undefined, contentPath: completion.asidePath });
      return;
    }
    if (await this.#isStored(hold, record, completion)) {
      const sizeBytes = completion.data.total_write as number;
      await hold.change({ offsetBytes: sizeBytes, lengthBytes: sizeBytes, outcome: { kind: 'stored', headers: [] } });
      if (isAside) removeContent(completion.asidePath);
      return;
    }
    const heldId = await this.#heldId(record, completion);
    if (heldId !== undefined) {
      await hold.change({ outcome: { kind: 'stored', headers: [['held', heldId]] } });
      return;
    }
    const reason = new ServiceError('not-found', 'The content of the upload is gone.');
    await endUpload(files, hold, reason, { data: completion.data });
  }

  async #heldId({ contentPath }: UploadRecord, { inode }: UploadCompletion): Promise<string | undefined> {
    const near = (await this.#dependencies.held?.within(dirname(contentPath))) ?? [];
    return near.find((held) => inodeAt(held.contentPath) === inode)?.id;
  }

  // Returns whether the upload has become a file. If the event of the upload is missing, emits the event.
  async #isStored(
    hold: UploadHold,
    { id, path, origin }: UploadRecord,
    { eventUuid, atMs, target, numberedName, inode, data, releasedBy }: UploadCompletion,
  ): Promise<boolean> {
    const { files, isJournalled } = this.#dependencies;
    if (await isJournalled(eventUuid, atMs)) return true;
    if (inodeAt(target) !== inode) return false;
    await hold.confirm();
    const releaseUuid = uploadEventUuid(id, eventIds.heldUploadReleased);
    if (releasedBy !== undefined && !(await isJournalled(releaseUuid, atMs))) {
      const told = { ...pathData(path, `${dirname(target)}/${baseName(path)}`), held_id: id, administrator: releasedBy || undefined };
      await files.events.emitDurable({ id: eventIds.heldUploadReleased, context: origin, data: told, uuid: releaseUuid });
    }
    const { path: stored, data: asked } = numberedPath(path, numberedName);
    const members = { ...pathData(stored, `${dirname(target)}/${baseName(stored)}`), ...data, ...asked };
    await files.events.emitDurable({ id: eventIds.fileUploaded, context: origin, data: members, uuid: eventUuid });
    return true;
  }
}
