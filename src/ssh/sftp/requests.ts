import { eventIds } from '../../events/event-ids.ts';
import type { AccountFiles } from '../../files/account-files.ts';
import type { Entry } from '../../files/entry.ts';
import type { RandomUploadOptions } from '../../files/operations/random-upload.ts';
import { ReadWriteLock } from '../../lib/concurrency/read-write-lock.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { SshClient } from '../ssh-client.ts';
import { hasChange, toAttributes, toChange } from './attributes.ts';
import { checkFileReply, copyData, isAboutPath, limitsReply, readCheckRequest, readCopyRequest, spaceReply } from './extensions.ts';
import { Listing, OpenFile } from './open-file.ts';
import { type OpenHandle, OpenHandles, RequestOrder, type RequestPaths } from './open-handles.ts';
import { Uploads } from './open-upload.ts';
import { type Attributes, type Handle, openFlags, statusCodes } from './packets/packets.ts';
import type { SftpRequest } from './packets/read-request.ts';
import { attributesReply, handleReply, namesReply, statusReply } from './packets/replies.ts';
import { requestedPath } from './request-operations.ts';

type RequestOf<Kind extends SftpRequest['kind']> = Extract<SftpRequest, { kind: Kind }>;

/** Requests about open files and folders, and requests about paths. The session itself handles READ and WRITE. */
export type HandleRequest = RequestOf<'close' | 'fstat' | 'readdir' | 'fsetstat'>;
export type PathRequest = RequestOf<
  'open' | 'stat' | 'lstat' | 'opendir' | 'remove' | 'rmdir' | 'realpath' | 'readlink' | 'setstat' | 'mkdir' | 'rename' | 'symlink'
>;
type ExtendedRequest = RequestOf<'extended'>;

/** Requests that do not affect anything below their path. */
const shallow: ReadonlySet<PathRequest['kind']> = new Set(['open', 'stat', 'lstat', 'realpath']);

/** Executes the requests of one session. All methods return a promise of the reply, and throw or reject on errors. */
export class SftpRequests {
  readonly #client: SshClient;
  readonly #uploads: Uploads;
  readonly #finalName: RandomUploadOptions['finalName'];
  readonly #order = new RequestOrder();
  readonly #handles: OpenHandles;

  /** @param finalName returns the final name of an upload with a temporary name */
  constructor(client: SshClient, finalName: RandomUploadOptions['finalName']) {
    this.#client = client;
    this.#handles = new OpenHandles(client);
    this.#finalName = finalName;
    this.#uploads = new Uploads({ keepPartial: client.options.partial_uploads === 'keep', finalName });
  }

  get #files(): AccountFiles {
    return this.#client.files;
  }

  /** Executes a read or write. @see OpenHandles.shared */
  onOpened<T>(handle: Handle, action: (opened: OpenHandle) => T | Promise<T>): Promise<T> {
    return this.#handles.shared(handle, action);
  }

  get hasOpen(): boolean {
    return this.#handles.count > 0;
  }

  lose(): Promise<void> {
    return this.#handles.lose();
  }

  onHandle(request: HandleRequest): Promise<Buffer> {
    const { id, handle } = request;
    switch (request.kind) {
      case 'close':
        return done(id, this.#handles.close(handle));
      case 'fstat':
        return this.#handles.shared(handle, (opened) => this.#attributesReply(id, this.#files, opened.path, opened.entry()));
      case 'readdir':
        return this.#handles.alone([handle], (opened) => this.#readdir(id, opened));
      case 'fsetstat':
        return done(
          id,
          this.#handles.alone([handle], (opened) => this.#setOpened(opened, request.attributes)),
        );
      default:
        return request satisfies never;
    }
  }

  onPath(request: PathRequest): Promise<Buffer> {
    if (request.kind === 'readlink' || request.kind === 'symlink') throw new ServiceError('method-not-allowed', 'Links are not supported.');
    const path = requestedPath(request.path);
    const paths = request.kind === 'rename' ? [path, requestedPath(request.otherPath)] : [path];
    const isDeep = !shallow.has(request.kind);
    return this.#inOrder({ paths, isDeep }, (own) => this.#onPath(request, path, own));
  }

  #inOrder<T>(request: RequestPaths, action: (own: ReadWriteLock) => Promise<T>): Promise<T> {
    const own = new ReadWriteLock();
    return this.#order.onPath(request, own, this.#handles.locksFor(request), () => action(own));
  }

  async #onPath(request: Exclude<PathRequest, { kind: 'readlink' | 'symlink' }>, path: VirtualPath, own: ReadWriteLock): Promise<Buffer> {
    const { id } = request;
    if (request.kind === 'open') return handleReply(id, await this.#open(path, request, own));
    const files = this.#files.forRequest({ requested_path: request.path });
    switch (request.kind) {
      case 'stat':
      case 'lstat':
        return this.#attributesReply(id, files, path, this.#entry(path));
      case 'opendir':
        return handleReply(id, await this.#handles.open(() => new Listing(files, path)));
      case 'remove': {
        const upload = this.#uploads.at(path);
        return done(id, upload ? files.removeUpload(upload) : files.deleteFile(path));
      }
      case 'rmdir':
        return done(id, files.deleteEmptyFolder(path));
      case 'realpath':
        return namesReply(id, [{ name: path, longName: path, attributes: {} }]);
      case 'setstat':
        return done(id, this.#setPath(files, path, request.attributes));
      case 'mkdir':
        return done(id, files.createFolder(path, this.#newMode(request.attributes)));
      case 'rename':
        return done(id, this.#rename(files, path, requestedPath(request.otherPath), 'nothing'));
      default:
        return request satisfies never;
    }
  }

  async onExtension(request: ExtendedRequest): Promise<Buffer> {
    return isAboutPath(request.name) ? this.#onExtendedPath(request) : this.#onExtendedHandle(request);
  }

  async #onExtendedPath({ id, name, fields }: ExtendedRequest): Promise<Buffer> {
    const text = fields.text();
    const path = requestedPath(name === 'expand-path@openssh.com' ? text.replace(/^~[^/]*/, '') : text);
    const files = this.#files.forRequest({ requested_path: text });
    switch (name) {
      case 'posix-rename@openssh.com': {
        const to = requestedPath(fields.text());
        return done(
          id,
          this.#inOrder({ paths: [path, to], isDeep: true }, () => this.#rename(files, path, to, 'file')),
        );
      }
      case 'lsetstat@openssh.com': {
        const attributes = fields.attributes();
        return done(
          id,
          this.#inOrder({ paths: [path], isDeep: true }, () => this.#setPath(files, path, attributes)),
        );
      }
      case 'statvfs@openssh.com':
        return this.#inOrder({ paths: [path], isDeep: false }, () => this.#space(id, path));
      case 'expand-path@openssh.com':
        return namesReply(id, [{ name: path, longName: path, attributes: {} }]);
      case 'check-file-name': {
        const check = readCheckRequest(fields);
        const reading = this.#files.forRequest({ requested_path: text, mode: 'read' });
        const file = await this.#inOrder({ paths: [path], isDeep: false }, async () => new OpenFile(reading, path));
        return this.#order.long(() => checkFileReply(id, file, check, this.#client.ended)).finally(() => file.close());
      }
      default:
        throw unknownExtension(name);
    }
  }

  /** Executes extensions that refer to handles, or to no file at all. */
  async #onExtendedHandle({ id, name, fields }: ExtendedRequest): Promise<Buffer> {
    const { ended } = this.#client;
    switch (name) {
      case 'limits@openssh.com':
        return limitsReply(id, this.#client.options.maximum_handles);
      case 'fsync@openssh.com':
        return done(
          id,
          this.#handles.shared(fields.handle(), (opened) => opened.sync()),
        );
      case 'fstatvfs@openssh.com':
        return this.#handles.alone([fields.handle()], (opened) => this.#space(id, opened.path));
      case 'check-file':
      case 'check-file-handle': {
        const handle = fields.handle();
        const check = readCheckRequest(fields);
        return this.#handles.alone([handle], (opened) => this.#order.long(() => checkFileReply(id, opened, check, ended)));
      }
      case 'copy-data': {
        const copy = readCopyRequest(fields);
        const isWhole = await this.#handles.alone([copy.from, copy.to], (from, to) =>
          this.#order.long(() => copyData(from, to, copy, ended)),
        );
        return isWhole ? statusReply(id, statusCodes.ok, 'Done.') : statusReply(id, statusCodes.eof, 'End of file.');
      }
      default:
        throw unknownExtension(name);
    }
  }

  async #open(path: VirtualPath, { path: requested, flags, attributes }: RequestOf<'open'>, own: ReadWriteLock): Promise<Handle> {
    const { read, write, append, create, truncate, exclusive } = openFlags;
    const isWriting = (flags & (write | append | create | truncate)) !== 0;
    const mode = isWriting ? (flags & read ? 'read-write' : flags & append ? 'append' : 'write') : 'read';
    const files = this.#files.forRequest({ requested_path: requested, mode });
    if (!isWriting)
      return this.#handles.open(
        () => (files.may(path, 'readFile') ? this.#uploads.join(files, path) : undefined) ?? new OpenFile(files, path),
      );
    const options = {
      create: (flags & create) !== 0,
      exclusive: (flags & create) !== 0 && (flags & exclusive) !== 0,
      truncate: (flags & truncate) !== 0,
      mode: this.#newMode(attributes),
      copyLimitBytes: this.#client.options.copy_on_resume_limit,
      finalName: this.#finalName,
      isAppending: (flags & append) !== 0,
    };
    return this.#handles.open(() => this.#uploads.open(files, path, options, own));
  }

  async #readdir(id: number, opened: OpenHandle): Promise<Buffer> {
    if (!(opened instanceof Listing)) throw new ServiceError('exists', 'The handle refers to a file.');
    const names = await opened.names(this.#client.clock.nowMs());
    return names.length > 0 ? namesReply(id, names) : statusReply(id, statusCodes.eof, 'End of folder.');
  }

  // The file of a running upload does not exist yet, so the space of its folder is returned.
  async #space(id: number, path: VirtualPath): Promise<Buffer> {
    return spaceReply(id, await this.#files.space(this.#uploads.at(path) ? parentPath(path) : path));
  }

  async #rename(files: AccountFiles, path: VirtualPath, to: VirtualPath, mayReplace: 'nothing' | 'file'): Promise<void> {
    // As with rename(2), a rename of a file to its own name does nothing.
    if (path === to && mayReplace === 'file' && files.inspect(path)) return;
    const options = { mayReplace, acrossKinds: false, finalName: this.#finalName, mayNumber: true };
    const upload = this.#uploads.at(path);
    if (upload) await files.renameUpload(upload, to, options);
    else await files.move(path, to, options);
  }

  /** Returns the entry at a path, including the entries of running uploads and of held files. */
  async #entry(path: VirtualPath): Promise<Entry> {
    const upload = this.#uploads.at(path);
    const { files } = this.#client;
    const entry = files.inspect(path) ?? (upload ? undefined : await files.inspectHeld(path));
    if (upload) return upload.entry();
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    return entry;
  }

  /** Builds the reply to a request for attributes. Emits `sftpAttributesRead` or `sftpAttributesReadFailed` if `attribute_events` is on. */
  async #attributesReply(id: number, files: AccountFiles, path: VirtualPath, entry: Promise<Entry>): Promise<Buffer> {
    const isReported = this.#client.options.attribute_events;
    try {
      const reply = attributesReply(id, toAttributes(await entry));
      if (isReported) files.events.emit(eventIds.sftpAttributesRead, path);
      return reply;
    } catch (error) {
      throw isReported ? files.events.reported(eventIds.sftpAttributesReadFailed, path, error) : error;
    }
  }

  async #setPath(files: AccountFiles, path: VirtualPath, attributes: Attributes): Promise<void> {
    const upload = this.#uploads.at(path);
    const change = toChange(attributes);
    if (attributes.sizeBytes !== undefined)
      await (upload ? upload.truncate(attributes.sizeBytes) : this.#resize(files, path, attributes.sizeBytes));
    if (hasChange(change)) await (upload ? upload.setAttributes(change) : files.setAttributes(path, change));
  }

  async #setOpened(opened: OpenHandle, attributes: Attributes): Promise<void> {
    const { mode, ...others } = toChange(attributes);
    const change = this.#client.options.ignore_create_permissions ? others : { mode, ...others };
    if (attributes.sizeBytes !== undefined) await opened.truncate(attributes.sizeBytes);
    if (hasChange(change)) await opened.setAttributes(change);
  }

  /** Returns the mode of a new file or folder; undefined if the client's mode is ignored. */
  #newMode({ mode }: Attributes): number | undefined {
    return mode === undefined || this.#client.options.ignore_create_permissions ? undefined : mode & 0o777;
  }

  async #resize(files: AccountFiles, path: VirtualPath, sizeBytes: number): Promise<void> {
    const upload = await files.openRandomUpload(path, {
      create: false,
      exclusive: false,
      truncate: sizeBytes === 0,
      copyLimitBytes: this.#client.options.copy_on_resume_limit,
      finalName: this.#finalName,
    });
    // If truncating fails, the commit fails as well.
    await upload.truncate(sizeBytes).catch(() => {});
    await upload.commit();
  }
}

async function done(id: number, action: Promise<unknown>): Promise<Buffer> {
  await action.catch((error: unknown) => {
    // SFTP has no status for a file that is held for review, so the request counts as successful.
    if (!isServiceError(error, 'held')) throw error;
  });
  return statusReply(id, statusCodes.ok, 'Done.');
}

function unknownExtension(name: string): ServiceError {
  return new ServiceError('method-not-allowed', `The extension "${name}" is not supported.`);
}
