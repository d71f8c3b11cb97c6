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
import { concludeEnd, emitEnd, endsAtOnce, endUpload, removeContent, uploadEventUuid, whileHeld } from './end-upload.ts';
import { putAside } from './take-over.ts';
import { isEnding, type UploadCompletion, type UploadHold, type UploadRecord } from './upload-store.ts';

/** How often somebody looks after uploads that no request looks after. */
const periodMs = 10_000;

/** What looks after unfinished uploads has of the server. */
interface UpkeepDependencies {
  files: Pick<FilesEnvironment, 'events' | 'uploads' | 'clock'>;
  /** Whether an event is in the journal. @param sinceMs when it was made at the earliest, Unix time in milliseconds */
  isJournalled: (uuid: string, sinceMs: number) => Promise<boolean>;
  clock: Clock;
  log: Log;
}

/**
 * Looks after uploads that no request looks after: those whose time is over, and those whose end a killed process left half-way, so that each
 * file is told of once.
 */
export class UploadUpkeep {
  readonly #dependencies: UpkeepDependencies;
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;

  constructor(dependencies: UpkeepDependencies) {
    this.#dependencies = dependencies;
  }

  /** Looks once, and from then on again and again. */
  async start(): Promise<void> {
    await this.run();
    this.#timer = this.#dependencies.clock.every(periodMs, () => void this.run());
  }

  /** Ends once what is under way is done. */
  async stop(): Promise<void> {
    this.#timer?.cancel();
    await this.#running;
  }

  /** Looks after all that there is now. Never rejects: what cannot be done is tried again. */
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
    // What was seen before may have changed until it is ours. A fault of one upload keeps no other from its end.
    const lookAfter = (records: UploadRecord[], action: (hold: UploadHold, record: UploadRecord) => Promise<void>) =>
      forEachConcurrently(records, endsAtOnce, async ({ id }) => {
        // No content goes whose end cannot be told.
        events.assertWritable();
        await whileHeld(uploads, id, action).catch((error) => faults.push(error));
      });
    try {
      await uploads.endLost?.((id, sinceMs) => isJournalled(uploadEventUuid(id, eventIds.fileUploaded), sinceMs));
      await lookAfter(await uploads.completing(), (hold, record) => this.#settle(hold, record));
      await lookAfter(await uploads.expired(), (hold, record) => this.#expire(hold, record));
    } catch (error) {
      faults.push(error);
    }
    if (faults.length === 0) return;
    const [reason] = faults;
    this.#dependencies.log.warn('unfinished uploads could not be looked after; this is tried again', { faults: faults.length, reason });
  }

  async #expire(hold: UploadHold, record: UploadRecord): Promise<void> {
    const { files, clock } = this.#dependencies;
    if (record.expiresMs > clock.nowMs() || isEnding(record)) return;
    if (record.outcome) {
      removeContent(record.contentPath);
      await hold.remove();
      return;
    }
    const reason = new ServiceError('not-found', 'Nobody went on with the upload in time.');
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
    // Whoever began the end may only sleep: from here on its rename finds nothing, or this one finds that it was done.
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
    const reason = new ServiceError('not-found', 'The content of the upload is gone.');
    await endUpload(files, hold, reason, { data: completion.data });
  }

  // Either its event is in the journal, or it has its name and its event is missing.
  async #isStored(
    hold: UploadHold,
    { path, origin }: UploadRecord,
    { eventUuid, atMs, target, inode, data }: UploadCompletion,
  ): Promise<boolean> {
    const { files, isJournalled } = this.#dependencies;
    if (await isJournalled(eventUuid, atMs)) return true;
    if (inodeAt(target) !== inode) return false;
    await hold.confirm();
    const members = { ...pathData(path, `${dirname(target)}/${baseName(path)}`), ...data };
    await files.events.emitDurable({ id: eventIds.fileUploaded, context: origin, data: members, uuid: eventUuid });
    return true;
  }
}
