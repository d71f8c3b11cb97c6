import { closeSync, openSync, readdirSync, readFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type PassingUpload, PassingUploads, UploadHolds } from '../../files/uploads/upload-holds.ts';
import {
  changed,
  isEnding,
  isUploadId,
  newUploadRecord,
  refuseLost,
  refuseMoreThan,
  type UploadChange,
  type UploadHold,
  type UploadLimits,
  type UploadOrder,
  type UploadRecord,
  type UploadStore,
  uploadParty,
  uploadTarget,
} from '../../files/uploads/upload-store.ts';
import type { Clock } from '../../lib/clock.ts';
import { NamedCounts } from '../../lib/concurrency/slots.ts';
import { fdatasyncAsync } from '../../lib/disk/descriptors.ts';
import { makeFolders, removeDurably, writeFileAtomically } from '../../lib/disk/durable-files.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { isWithin } from '../../lib/virtual-path.ts';

/** Size in bytes of the first line of a record's file. This line has the members that change often, and is overwritten in place. */
const headBytes = 128;

type Head = Pick<UploadRecord, 'offsetBytes' | 'requests' | 'activeMs' | 'expiresMs'>;
const inHead: ReadonlySet<string> = new Set(['offsetBytes', 'requests', 'activeMs']);

interface FileUploadStoreOptions {
  dataFolderPath: string;
  folder?: string;
  limits: () => UploadLimits;
  clock: Clock;
  log: Log;
}

/** Stores unfinished uploads. Each record has its own file in the data folder, and is also in memory. */
export class FileUploadStore implements UploadStore {
  readonly #options: FileUploadStoreOptions;
  readonly #folder: string;
  readonly #records = new Map<string, UploadRecord>();
  /** The IDs of the uploads, by the real path that the finished file will get. */
  readonly #names = new Map<string, Set<string>>();
  readonly #counts = new NamedCounts();
  readonly #holds = new UploadHolds();
  readonly #passing = new PassingUploads();

  /** Reads the records that a previous process left. Unreadable records are logged and skipped. */
  constructor(options: FileUploadStoreOptions) {
    this.#options = options;
    this.#folder = join(options.dataFolderPath, options.folder ?? 'uploads');
    makeFolders(this.#folder, { mode: 0o700 });
    for (const name of readdirSync(this.#folder)) {
      if (!isUploadId(name)) continue;
      try {
        this.#keep(readRecord(name, readFileSync(join(this.#folder, name), 'utf8')));
      } catch (error) {
        options.log.warn('the record of an unfinished upload cannot be read', { file: name.slice(0, 6), reason: error });
      }
    }
  }

  async add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord> {
    const { limits, clock } = this.#options;
    this.#requireRoom(uploadParty(order));
    const record = newUploadRecord(order, lengthBytes, clock.nowMs(), limits());
    // The record counts towards the limit even before it is written, so that concurrent uploads cannot exceed the limit.
    this.#keep(record);
    try {
      await this.#write(record);
    } catch (error) {
      this.#drop(record.id);
      throw error;
    }
    return record;
  }

  async find(id: string): Promise<UploadRecord | undefined> {
    return this.#records.get(id);
  }

  // `isTakeover` is always false, because a hold and its open files end with the process.
  async hold(id: string, onWanted: () => void): Promise<UploadHold> {
    const turn = await this.#holds.take(id, onWanted);
    const records = this.#records;
    let isReleased = false;
    const own = async <T>(action: () => Promise<T>): Promise<T> => (isReleased ? refuseLost() : action());
    const change = (asked: UploadChange) => own(() => this.#change(id, asked));
    return {
      get record() {
        return records.get(id);
      },
      get isWanted() {
        return turn.isWanted;
      },
      isTakeover: false,
      change,
      renewContent: (contentPath) => change({ contentPath }),
      confirm: () => own(async () => {}),
      remove: () => own(() => this.#remove(id)),
      release: () => {
        isReleased = true;
        turn.release();
      },
    };
  }

  quiet(id: string): Promise<void> {
    return this.#holds.quiet(id);
  }

  async enter(upload: PassingUpload): Promise<() => void> {
    this.#requireRoom(upload.accountUuid);
    return this.#passing.enter(upload);
  }

  async dismiss(realPath: string): Promise<void> {
    this.#passing.dismiss(realPath);
  }

  async within(realPath: string): Promise<UploadRecord[]> {
    return this.#all(({ contentPath, outcome }) => !outcome && isWithin(contentPath, realPath));
  }

  async named(target: string): Promise<UploadRecord[]> {
    const records = [...(this.#names.get(target) ?? [])].map((id) => this.#records.get(id));
    return records.filter((record) => record !== undefined && !record.outcome) as UploadRecord[];
  }

  async expired(): Promise<UploadRecord[]> {
    const nowMs = this.#options.clock.nowMs();
    return this.#all(({ id, expiresMs }) => expiresMs <= nowMs && !this.#holds.has(id));
  }

  async completing(): Promise<UploadRecord[]> {
    return this.#all((record) => isEnding(record) && !this.#holds.has(record.id));
  }

  async #change(id: string, change: UploadChange): Promise<UploadRecord> {
    const { limits, clock } = this.#options;
    const before = this.#records.get(id);
    if (!before) throw new ServiceError('not-found', 'The upload is gone.');
    const record = changed(before, change, clock.nowMs(), limits());
    const isHeadAlone = (Object.keys(change) as (keyof UploadChange)[]).every((name) => inHead.has(name) || record[name] === before[name]);
    if (isHeadAlone) await this.#writeHead(record);
    else await this.#write(record);
    this.#keep(record);
    return record;
  }

  async #remove(id: string): Promise<void> {
    if (!this.#records.has(id)) return;
    await removeDurably(this.#recordPath(id));
    this.#drop(id);
  }

  #all(isSuch: (record: UploadRecord) => boolean): UploadRecord[] {
    return this.#records.size === 0 ? [] : [...this.#records.values()].filter(isSuch);
  }

  #requireRoom(party: string): void {
    const { maxPerAccount } = this.#options.limits();
    if (this.#counts.get(party) + this.#passing.count(party) >= maxPerAccount) refuseMoreThan(maxPerAccount);
  }

  #keep(record: UploadRecord): void {
    this.#drop(record.id);
    this.#records.set(record.id, record);
    const target = uploadTarget(record);
    const same = this.#names.get(target) ?? new Set();
    this.#names.set(target, same.add(record.id));
    this.#count(record, 1);
  }

  #drop(id: string): void {
    const record = this.#records.get(id);
    if (!record) return;
    this.#records.delete(id);
    const target = uploadTarget(record);
    const same = this.#names.get(target);
    same?.delete(id);
    if (same?.size === 0) this.#names.delete(target);
    this.#count(record, -1);
  }

  // Finished uploads do not count towards the limit.
  #count(record: UploadRecord, by: 1 | -1): void {
    if (!record.outcome) this.#counts.add(uploadParty(record), by);
  }

  #recordPath(id: string): string {
    return join(this.#folder, id);
  }

  async #write(record: UploadRecord): Promise<void> {
    const { id: _, offsetBytes: __, requests: ___, activeMs: ____, expiresMs: _____, ...rest } = record;
    await writeFileAtomically(this.#recordPath(record.id), `${formatHead(record)}${JSON.stringify(rest)}\n`, { mode: 0o600 });
  }

  // An overwrite of existing bytes changes no file system metadata, so this small write reaches the disk completely or not at all.
  async #writeHead(record: UploadRecord): Promise<void> {
    const fd = openSync(this.#recordPath(record.id), 'r+');
    try {
      writeSync(fd, formatHead(record), 0);
      await fdatasyncAsync(fd);
    } finally {
      closeSync(fd);
    }
  }
}

function formatHead({ offsetBytes, requests, activeMs, expiresMs }: Head): string {
  return `${JSON.stringify({ offsetBytes, requests, activeMs: Math.round(activeMs), expiresMs: Math.round(expiresMs) })}`
    .padEnd(headBytes - 1)
    .concat('\n');
}

function readRecord(id: string, text: string): UploadRecord {
  const head = JSON.parse(text.slice(0, headBytes)) as Head;
  const rest = JSON.parse(text.slice(headBytes)) as Omit<UploadRecord, keyof Head | 'id'>;
  return { ...rest, ...head, id, lengthBytes: rest.lengthBytes, completion: rest.completion, ending: rest.ending, outcome: rest.outcome };
}
