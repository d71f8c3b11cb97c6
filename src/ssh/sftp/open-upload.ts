import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import type { RandomUpload, RandomUploadOptions } from '../../files/operations/random-upload.ts';
import type { AttributeChange } from '../../files/operations/set-attributes.ts';
import type { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import { ServiceError } from '../../lib/errors.ts';
import { baseName, memberPath, parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { OpenHandle } from './open-handles.ts';

interface SharedUpload {
  upload: RandomUpload;
  /** Orders the requests for this upload, whether they use a handle or the path. */
  lock: ReadWriteLock;
  handles: number;
}

interface OpenOptions extends RandomUploadOptions {
  isAppending: boolean;
}

/** Decides which unfinished uploads are kept when their channel ends. */
export interface LostUploads {
  keepPartial: boolean;
  finalName: RandomUploadOptions['finalName'];
}

/** The uploads of one session. If a file is opened several times, all its handles belong to one upload. */
export class Uploads {
  readonly #lost: LostUploads;
  readonly #shared = new Set<SharedUpload>();

  constructor(lost: LostUploads) {
    this.#lost = lost;
  }

  /** Returns the running upload to a path. */
  at(path: VirtualPath): RandomUpload | undefined {
    return this.#sharedAt(path)?.upload;
  }

  /**
   * Opens a file for writing, or another handle of a running upload. Emits `sftpFileOpened` or `sftpOpenFailed`.
   *
   * @param lock lock of the upload, used if this call starts the upload
   */
  async open(files: AccountFiles, path: VirtualPath, options: OpenOptions, lock: ReadWriteLock): Promise<UploadHandle> {
    let shared = this.#sharedAt(path);
    if (!shared) {
      shared = { upload: await files.openRandomUpload(path, options), lock, handles: 0 };
      this.#shared.add(shared);
    } else if (options.exclusive) {
      throw new ServiceError('exists', 'The file already exists.');
    } else if (options.truncate) {
      await shared.upload.truncate(0);
    }
    return new UploadHandle(this, shared, files, options.isAppending);
  }

  /** Opens another handle of a running upload, to read the content written so far. */
  join(files: AccountFiles, path: VirtualPath): UploadHandle | undefined {
    const shared = this.#sharedAt(path);
    return shared && new UploadHandle(this, shared, files, false);
  }

  #sharedAt(path: VirtualPath): SharedUpload | undefined {
    for (const shared of this.#shared) if (shared.upload.path === path && !shared.upload.isRemoved) return shared;
    return undefined;
  }

  /** Closes a handle. @param end called to end the upload if this was its last handle */
  async leave(shared: SharedUpload, end: () => Promise<void>): Promise<void> {
    if (--shared.handles > 0) return;
    await end().finally(() => this.#shared.delete(shared));
  }

  async drop(files: AccountFiles, upload: RandomUpload): Promise<void> {
    const keepAs = this.#keptPath(upload.path);
    const keep = keepAs && files.may(keepAs, 'createFile') ? { path: keepAs, realPath: files.realPath(keepAs) } : undefined;
    await upload.abort(new ServiceError('client-gone', 'The client went away.'), keep);
  }

  #keptPath(path: VirtualPath): VirtualPath | undefined {
    if (this.#lost.finalName(baseName(path)) !== undefined) return path;
    return this.#lost.keepPartial ? memberPath(parentPath(path), `${baseName(path)}.filepart`) : undefined;
  }
}

export class UploadHandle implements OpenHandle {
  readonly kind = 'file';
  readonly upload: RandomUpload;
  readonly lock: ReadWriteLock;
  readonly #uploads: Uploads;
  readonly #shared: SharedUpload;
  readonly #files: AccountFiles;
  readonly #isAppending: boolean;
  readonly #mayRead: boolean;

  constructor(uploads: Uploads, shared: SharedUpload, files: AccountFiles, isAppending: boolean) {
    shared.handles++;
    this.upload = shared.upload;
    this.lock = shared.lock;
    this.#uploads = uploads;
    this.#shared = shared;
    this.#files = files;
    this.#isAppending = isAppending;
    this.#mayRead = files.may(shared.upload.path, 'readFile');
  }

  get path(): VirtualPath {
    return this.upload.path;
  }

  async read(offset: number, target: Buffer): Promise<number> {
    if (!this.#mayRead) throw new ServiceError('forbidden', 'Permission denied.');
    return this.upload.read(offset, target);
  }

  write(offset: number, chunks: readonly Buffer[]): Promise<void> {
    return this.upload.write(this.#isAppending ? 'end' : offset, chunks);
  }

  entry(): Promise<Entry> {
    return this.upload.entry();
  }

  truncate(sizeBytes: number): Promise<void> {
    return this.upload.truncate(sizeBytes);
  }

  setAttributes(change: AttributeChange): Promise<void> {
    return this.upload.setAttributes(change);
  }

  sync(): Promise<void> {
    return this.upload.sync();
  }

  close(): Promise<void> {
    return this.#uploads.leave(this.#shared, () => this.upload.commit());
  }

  async lose(): Promise<void> {
    await this.#uploads.leave(this.#shared, () => this.#uploads.drop(this.#files, this.upload)).catch(() => {});
  }
}
