import type { PassingUpload } from '../../files/uploads/passing-uploads.ts';
import type { UploadHold, UploadOrder, UploadProgress, UploadRecord, UploadStore } from '../../files/uploads/upload-store.ts';
import type { ToPrimary } from './protocol.ts';

/** Unfinished uploads in a worker: the primary process keeps them, and looks after them. */
export class UploadClient implements UploadStore {
  readonly #primary: ToPrimary;
  /** What newer requests want, by the number of the hold. */
  readonly #onWanted = new Map<number, () => void>();
  #lastHold = 0;
  /** Those that end with their connection, by their number. */
  readonly #passing = new Map<number, PassingUpload>();
  #lastPassing = 0;

  constructor(primary: ToPrimary) {
    this.#primary = primary;
  }

  add(order: UploadOrder, lengthBytes: number | undefined): Promise<UploadRecord> {
    return this.#primary.call('addUpload', order, lengthBytes);
  }

  find(id: string): Promise<UploadRecord | undefined> {
    return this.#primary.call('findUpload', id);
  }

  change(id: string, change: Partial<UploadProgress>): Promise<UploadRecord> {
    return this.#primary.call('changeUpload', id, change);
  }

  remove(id: string): Promise<void> {
    return this.#primary.call('removeUpload', id);
  }

  async hold(id: string, onWanted: () => void): Promise<UploadHold> {
    const hold = ++this.#lastHold;
    let isWanted = false;
    this.#onWanted.set(hold, () => {
      isWanted = true;
      onWanted();
    });
    await this.#primary.call('holdUpload', id, hold);
    return {
      get isWanted() {
        return isWanted;
      },
      release: () => {
        this.#onWanted.delete(hold);
        this.#primary.tell('releaseUpload', hold);
      },
    };
  }

  /** A newer request, here or in another worker, wants what one of this worker has. */
  want(hold: number): void {
    this.#onWanted.get(hold)?.();
  }

  within(realPath: string): Promise<UploadRecord[]> {
    return this.#primary.call('uploadsWithin', realPath);
  }

  async enter(upload: PassingUpload): Promise<() => void> {
    const number = ++this.#lastPassing;
    await this.#primary.call('enterUpload', upload.accountUuid, upload.folder, number);
    this.#passing.set(number, upload);
    return () => {
      if (this.#passing.delete(number)) this.#primary.tell('leaveUpload', number);
    };
  }

  dismiss(realPath: string): Promise<void> {
    return this.#primary.call('dismissUploads', realPath);
  }

  /** The folder of an upload of this worker is gone. */
  gone(number: number): void {
    this.#passing.get(number)?.onGone();
  }

  async expired(): Promise<UploadRecord[]> {
    return [];
  }

  async completing(): Promise<UploadRecord[]> {
    return [];
  }
}
