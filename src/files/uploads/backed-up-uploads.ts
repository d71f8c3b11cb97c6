import { lstatSync, readdirSync, readFileSync, type Stats } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { makeFolders, removeDurably, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { systemErrorCode } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { inodeAt } from '../disk/temporaries.ts';
import { removeContent, resumedData } from './end-upload.ts';
import type { PassingUpload } from './upload-holds.ts';
import {
  isUploadId,
  type SharedUploadStore,
  type UploadHold,
  type UploadOrder,
  type UploadRecord,
  type UploadStore,
} from './upload-store.ts';

interface Backup {
  record: UploadRecord;
  /** Unix time in milliseconds. */
  atMs: number;
}

/**
 * The unfinished uploads of several nodes. In its data folder, this node backs up the records of uploads that it began or continued. When
 * the shared store has lost a record, the backup is used: if the file already has its final name, the upload ends with `fileUploaded`; if
 * not, the upload ends with `uploadFailed`, and its content is removed. But an upload that was held for review stays held.
 */
export class BackedUpUploads implements UploadStore {
  readonly #store: SharedUploadStore;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #log: Log;
  /** The state (`stateKey`) of each backup, by upload ID. */
  readonly #backups = new Map<string, string>();

  /** @param name name of the backup folder in the data folder */
  constructor(store: SharedUploadStore, dataFolderPath: string, { clock, log }: { clock: Clock; log: Log }, name = 'upload-notes') {
    this.#store = store;
    this.#folder = join(dataFolderPath, name);
    this.#clock = clock;
    this.#log = log;
    makeFolders(this.#folder, { mode: 0o700 });
    for (const id of readdirSync(this.#folder).filter(isUploadId)) {
      const backup = this.#read(id);
      if (backup) this.#backups.set(id, stateKey(backup.record));
    }
  }

  async add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord> {
    return this.#backUp(await this.#store.add(order, lengthBytes));
  }

  async hold(id: string, onWanted: () => void): Promise<UploadHold> {
    const hold = await this.#store.hold(id, onWanted);
    return {
      get record() {
        return hold.record;
      },
      get isWanted() {
        return hold.isWanted;
      },
      get isTakeover() {
        return hold.isTakeover;
      },
      change: async (change) => this.#backUp(await hold.change(change)),
      renewContent: async (contentPath) => this.#backUp(await hold.renewContent(contentPath)),
      confirm: () => hold.confirm(),
      remove: async () => {
        await hold.remove();
        await this.#forget(id);
      },
      release: () => hold.release(),
    };
  }

  async endLost(isStored: (id: string, sinceMs: number) => Promise<boolean>): Promise<void> {
    for (const id of await this.#store.missing([...this.#backups.keys()])) {
      const backup = this.#read(id);
      if (backup) await this.#restore(backup, () => isStored(id, backup.atMs));
      await this.#forget(id);
    }
  }

  async #restore({ record }: Backup, isStored: () => Promise<boolean>): Promise<void> {
    const content = statsAt(record.contentPath);
    if (content?.isFile()) {
      // A request that takes over an upload writes to a copy of its content. So the earlier content may still exist, although the upload
      // was completed from the copy.
      if (await isStored()) removeContent(record.contentPath);
      // A held upload has all its content, so it stays held.
      else await this.#store.restore(record.held && !record.ending ? record : this.#ended(record, content.size));
    } else if (hasItsName(record) && !(await isStored())) await this.#store.restore(record);
  }

  find = (id: string): Promise<UploadRecord | undefined> => this.#store.find(id);
  quiet = (id: string): Promise<void> => this.#store.quiet(id);
  within = (realPath: string): Promise<UploadRecord[]> => this.#store.within(realPath);
  named = (target: string): Promise<UploadRecord[]> => this.#store.named(target);
  enter = (upload: PassingUpload): Promise<() => void> => this.#store.enter(upload);
  dismiss = (realPath: string): Promise<void> => this.#store.dismiss(realPath);
  expired = (): Promise<UploadRecord[]> => this.#store.expired();
  completing = (): Promise<UploadRecord[]> => this.#store.completing();

  #ended(record: UploadRecord, offsetBytes: number): UploadRecord {
    const message = 'Redis has lost the record of the upload.';
    const data = resumedData({ ...record, offsetBytes });
    const ending = { code: 'not-found', message, how: undefined, isTold: true, data, atMs: this.#clock.nowMs() };
    return { ...record, offsetBytes, completion: undefined, outcome: undefined, ending };
  }

  // A failed backup is only logged, because Redis has already accepted the change.
  async #backUp(record: UploadRecord): Promise<UploadRecord> {
    const { id, outcome } = record;
    if (outcome) await this.#forget(id);
    else if (this.#backups.get(id) !== stateKey(record)) {
      const backup: Backup = { record, atMs: this.#clock.nowMs() };
      try {
        await writeFileAtomically(join(this.#folder, id), JSON.stringify(backup), { mode: 0o600 });
        this.#backups.set(id, stateKey(record));
      } catch (error) {
        this.#log.warn('an unfinished upload was not recorded on disk; if Redis loses the record, no event reports it', { reason: error });
      }
    }
    return record;
  }

  async #forget(id: string): Promise<void> {
    if (!this.#backups.delete(id)) return;
    await removeDurably(join(this.#folder, id)).catch((error) =>
      this.#log.warn('the record of an upload could not be removed', { reason: error }),
    );
  }

  #read(id: string): Backup | undefined {
    try {
      const { record, atMs } = JSON.parse(readFileSync(join(this.#folder, id), 'utf8')) as Backup;
      if (record.id !== id || typeof record.contentPath !== 'string') throw new TypeError('The record belongs to another upload.');
      return { record, atMs };
    } catch (error) {
      this.#log.warn('the record of an unfinished upload cannot be read', { file: id.slice(0, 6), reason: error });
      return undefined;
    }
  }
}

/**
 * The parts of a record that require a new backup when they change: the path of the content, the path to which `putAside` would rename it,
 * and the state of a held upload.
 */
function stateKey({ contentPath, completion, held }: UploadRecord): string {
  return `${contentPath}\0${completion?.asidePath ?? ''}\0${held?.state ?? ''}`;
}

function hasItsName({ completion }: UploadRecord): boolean {
  return completion !== undefined && inodeAt(completion.target) === completion.inode;
}

function statsAt(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) return undefined;
    throw error;
  }
}
