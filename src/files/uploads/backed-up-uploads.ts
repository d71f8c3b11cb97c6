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

/** What a note says. */
interface Note {
  record: UploadRecord;
  /** Unix time in milliseconds. */
  atMs: number;
}

/**
 * The unfinished uploads of several nodes, with a note in this node's data folder of each that it began or went on with: where the shared store loses
 * one, it is ended with `uploadFailed` and its content goes, in place of being forgotten in silence; one that has become a file is told of with `fileUploaded`.
 */
export class BackedUpUploads implements UploadStore {
  readonly #store: SharedUploadStore;
  readonly #folder: string;
  readonly #clock: Clock;
  readonly #log: Log;
  /** What each note says of its upload, as `stateOf`. */
  readonly #noted = new Map<string, string>();

  constructor(store: SharedUploadStore, dataFolderPath: string, { clock, log }: { clock: Clock; log: Log }) {
    this.#store = store;
    this.#folder = join(dataFolderPath, 'upload-notes');
    this.#clock = clock;
    this.#log = log;
    makeFolders(this.#folder, { mode: 0o700 });
    for (const id of readdirSync(this.#folder).filter(isUploadId)) {
      const note = this.#read(id);
      if (note) this.#noted.set(id, stateOf(note.record));
    }
  }

  async add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord> {
    const record = await this.#store.add(order, lengthBytes);
    await this.#note(record);
    return record;
  }

  async hold(id: string, onWanted: () => void): Promise<UploadHold> {
    const hold = await this.#store.hold(id, onWanted);
    const noted = async (record: UploadRecord) => {
      await this.#note(record);
      return record;
    };
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
      change: async (change) => noted(await hold.change(change)),
      renewContent: async (contentPath) => noted(await hold.renewContent(contentPath)),
      confirm: () => hold.confirm(),
      remove: async () => {
        await hold.remove();
        await this.#forget(id);
      },
      release: () => hold.release(),
    };
  }

  async endLost(isStored: (id: string, sinceMs: number) => Promise<boolean>): Promise<void> {
    for (const id of await this.#store.missing([...this.#noted.keys()])) {
      const note = this.#read(id);
      const content = note && statsOf(note.record.contentPath);
      // An upload that is over has no content, but perhaps one that somebody went on with in a clone.
      if (content?.isFile() && (await isStored(id, note?.atMs ?? 0))) removeContent(note?.record.contentPath ?? '');
      else if (note && content?.isFile()) await this.#store.restore(this.#ended(note.record, content.size));
      else if (note && hasItsName(note.record) && !(await isStored(id, note.atMs))) await this.#store.restore(note.record);
      await this.#forget(id);
    }
  }

  find(id: string): Promise<UploadRecord | undefined> {
    return this.#store.find(id);
  }

  quiet(id: string): Promise<void> {
    return this.#store.quiet(id);
  }

  within(realPath: string): Promise<UploadRecord[]> {
    return this.#store.within(realPath);
  }

  enter(upload: PassingUpload): Promise<() => void> {
    return this.#store.enter(upload);
  }

  dismiss(realPath: string): Promise<void> {
    return this.#store.dismiss(realPath);
  }

  expired(): Promise<UploadRecord[]> {
    return this.#store.expired();
  }

  completing(): Promise<UploadRecord[]> {
    return this.#store.completing();
  }

  #ended(record: UploadRecord, offsetBytes: number): UploadRecord {
    const message = 'What the nodes knew of the upload was lost with Redis.';
    const data = resumedData({ ...record, offsetBytes });
    const ending = { code: 'not-found', message, how: undefined, isTold: true, data, atMs: this.#clock.nowMs() };
    return { ...record, offsetBytes, completion: undefined, outcome: undefined, ending };
  }

  // A note that cannot be written is no reason to refuse what Redis has taken.
  async #note(record: UploadRecord): Promise<void> {
    const { id, outcome } = record;
    if (outcome) return this.#forget(id);
    if (this.#noted.get(id) === stateOf(record)) return;
    const note: Note = { record, atMs: this.#clock.nowMs() };
    try {
      await writeFileAtomically(join(this.#folder, id), JSON.stringify(note), { mode: 0o600 });
      this.#noted.set(id, stateOf(record));
    } catch (error) {
      this.#log.warn('an unfinished upload could not be noted; should Redis lose it, nobody tells', { reason: error });
    }
  }

  async #forget(id: string): Promise<void> {
    if (!this.#noted.delete(id)) return;
    await removeDurably(join(this.#folder, id)).catch((error) =>
      this.#log.warn('the note of an upload could not be removed', { reason: error }),
    );
  }

  #read(id: string): Note | undefined {
    try {
      const { record, atMs } = JSON.parse(readFileSync(join(this.#folder, id), 'utf8')) as Note;
      if (record.id !== id || typeof record.contentPath !== 'string') throw new TypeError('It is of another upload.');
      return { record, atMs };
    } catch (error) {
      this.#log.warn('the note of an unfinished upload cannot be read', { file: id.slice(0, 6), reason: error });
      return undefined;
    }
  }
}

/** A note is written anew when this changes: where the content is, and where the end that was begun would put it. */
function stateOf({ contentPath, completion }: UploadRecord): string {
  return `${contentPath}\0${completion?.asidePath ?? ''}`;
}

/** Whether the content of an upload is the file that it was to become. Its event may be missing. */
function hasItsName({ completion }: UploadRecord): boolean {
  return completion !== undefined && inodeAt(completion.target) === completion.inode;
}

function statsOf(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(systemErrorCode(error) ?? '')) return undefined;
    throw error;
  }
}
