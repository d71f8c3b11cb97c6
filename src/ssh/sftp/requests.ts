import type { AccountFiles } from '../../files/account-files.ts';
import type { RandomUploadOptions } from '../../files/operations/random-upload.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { SshClient } from '../ssh-client.ts';
import { attributesOf, changeOf, hasChange } from './attributes.ts';
import { checkFileReply, copyData, limitsReply, readCheckRequest, readCopyRequest, spaceReply } from './extensions.ts';
import { Listing } from './listing.ts';
import { OpenFile } from './open-file.ts';
import type { OpenHandle } from './open-handle.ts';
import { Uploads } from './open-upload.ts';
import { type Attributes, type Handle, openFlags, type SftpRequest, statusCodes } from './packets.ts';
import { attributesReply, handleReply, namesReply, statusReply } from './replies.ts';
import { requestedPath } from './requested-path.ts';

type RequestOf<Kind extends SftpRequest['kind']> = Extract<SftpRequest, { kind: Kind }>;

/** Requests that are about open files and folders, and those that are about paths; data is read and written by the session itself. */
export type HandleRequest = RequestOf<'close' | 'fstat' | 'readdir' | 'fsetstat'>;
export type PathRequest = RequestOf<
  'open' | 'stat' | 'lstat' | 'opendir' | 'remove' | 'rmdir' | 'realpath' | 'readlink' | 'setstat' | 'mkdir' | 'rename' | 'symlink'
>;
type ExtendedRequest = RequestOf<'extended'>;

/** What the requests of one session do. All methods resolve to the reply, or reject with a fault. */
export class SftpRequests {
  readonly #client: SshClient;
  readonly #files: AccountFiles;
  readonly #uploads: Uploads;
  readonly #isTemporaryName: (name: string) => boolean;
  readonly #handles = new Map<Handle, { opened: OpenHandle; free: () => void }>();
  #lastHandle = 0;

  /** @param isTemporaryName which names files have only until they are whole */
  constructor(client: SshClient, isTemporaryName: (name: string) => boolean) {
    this.#client = client;
    this.#files = client.files;
    this.#isTemporaryName = isTemporaryName;
    this.#uploads = new Uploads({ keepPartial: client.options.partial_uploads === 'keep', isTemporaryName });
  }

  /** What a handle stands for. @throws ServiceError `precondition-failed` for one that is not open */
  opened(handle: Handle): OpenHandle {
    return this.#kept(handle).opened;
  }

  /** Whether the client has a file or folder open. */
  get hasOpen(): boolean {
    return this.#handles.size > 0;
  }

  /** Drops everything that is open: the connection is gone. */
  async lose(): Promise<void> {
    const handles = [...this.#handles.values()];
    this.#handles.clear();
    await Promise.all(handles.map(({ opened, free }) => opened.lose().finally(free)));
  }

  async onHandle(request: HandleRequest): Promise<Buffer> {
    const { id, handle } = request;
    const { opened, free } = this.#kept(handle);
    switch (request.kind) {
      case 'close':
        this.#handles.delete(handle);
        await opened.close().finally(free);
        return ok(id);
      case 'fstat':
        return attributesReply(id, attributesOf(await opened.entry()));
      case 'readdir':
        return this.#readdir(id, opened);
      case 'fsetstat':
        await this.#setOpened(opened, request.attributes);
        return ok(id);
      default:
        return request satisfies never;
    }
  }

  /** In the order of the requests, one after the other. */
  async onPath(request: PathRequest): Promise<Buffer> {
    const { id } = request;
    if (request.kind === 'readlink' || request.kind === 'symlink') throw new ServiceError('method-not-allowed', 'There are no links here.');
    const path = requestedPath(request.path);
    const files = this.#files.forRequest({ requested_path: request.path });
    await this.#uploads.settled(path, !['open', 'stat', 'lstat', 'realpath'].includes(request.kind));
    switch (request.kind) {
      case 'open':
        return handleReply(id, await this.#open(path, request));
      case 'stat':
      case 'lstat':
        return attributesReply(id, attributesOf(await this.#entry(path)));
      case 'opendir':
        return handleReply(id, await this.#keep(() => new Listing(files, path)));
      case 'remove': {
        const upload = this.#uploads.at(path);
        await (upload ? files.removeUpload(upload) : files.deleteFile(path));
        return ok(id);
      }
      case 'rmdir':
        await files.deleteEmptyFolder(path);
        return ok(id);
      case 'realpath':
        return namesReply(id, [{ name: path, longName: path, attributes: {} }]);
      case 'setstat':
        await this.#setPath(files, path, request.attributes);
        return ok(id);
      case 'mkdir':
        await files.createFolder(path, this.#newMode(request.attributes));
        return ok(id);
      case 'rename':
        await this.#rename(files, path, request.otherPath, 'nothing');
        return ok(id);
      default:
        return request satisfies never;
    }
  }

  /** Extensions that are about paths; in order with the other requests about paths. */
  async onExtendedPath({ id, name, fields }: ExtendedRequest): Promise<Buffer> {
    const text = fields.text();
    const path = requestedPath(name === 'expand-path@openssh.com' ? text.replace(/^~[^/]*/, '') : text);
    await this.#uploads.settled(path, name === 'posix-rename@openssh.com');
    switch (name) {
      case 'posix-rename@openssh.com':
        await this.#rename(this.#files.forRequest({ requested_path: text }), path, fields.text(), 'file');
        return ok(id);
      case 'lsetstat@openssh.com':
        await this.#setPath(this.#files.forRequest({ requested_path: text }), path, fields.attributes());
        return ok(id);
      case 'statvfs@openssh.com':
        return spaceReply(id, await this.#files.space(path));
      case 'expand-path@openssh.com':
        return namesReply(id, [{ name: path, longName: path, attributes: {} }]);
      case 'check-file-name': {
        const file = new OpenFile(this.#files.forRequest({ requested_path: text, mode: 'read' }), path);
        try {
          return await checkFileReply(id, file, readCheckRequest(fields), this.#client.ended);
        } finally {
          await file.close();
        }
      }
      default:
        throw unknownExtension(name);
    }
  }

  /** Extensions that are about handles, or about nothing. */
  async onExtendedHandle({ id, name, fields }: ExtendedRequest): Promise<Buffer> {
    switch (name) {
      case 'limits@openssh.com':
        return limitsReply(id, this.#client.options.maximum_handles);
      case 'fsync@openssh.com':
        await this.opened(fields.handle()).sync();
        return ok(id);
      case 'fstatvfs@openssh.com':
        this.opened(fields.handle());
        return spaceReply(id, await this.#files.space('/' as VirtualPath));
      case 'check-file':
      case 'check-file-handle':
        return checkFileReply(id, this.opened(fields.handle()), readCheckRequest(fields), this.#client.ended);
      case 'copy-data': {
        const copy = readCopyRequest(fields);
        await copyData(this.opened(copy.from), this.opened(copy.to), copy, this.#client.ended);
        return ok(id);
      }
      default:
        throw unknownExtension(name);
    }
  }

  async #open(path: VirtualPath, { path: requested, flags, attributes }: RequestOf<'open'>): Promise<Handle> {
    const { read, write, append, create, truncate, exclusive } = openFlags;
    const isWriting = (flags & (write | append | create | truncate)) !== 0;
    const mode = isWriting ? (flags & read ? 'read-write' : flags & append ? 'append' : 'write') : 'read';
    const files = this.#files.forRequest({ requested_path: requested, mode });
    if (!isWriting)
      return this.#keep(() => (files.may(path, 'readFile') ? this.#uploads.join(files, path) : undefined) ?? new OpenFile(files, path));
    const options: RandomUploadOptions = {
      create: (flags & create) !== 0,
      exclusive: (flags & create) !== 0 && (flags & exclusive) !== 0,
      truncate: (flags & truncate) !== 0,
      mode: this.#newMode(attributes),
      copyLimitBytes: this.#client.options.copy_on_resume_limit,
      isTemporaryName: this.#isTemporaryName,
    };
    return this.#keep(() => this.#uploads.open(files, path, options, (flags & append) !== 0));
  }

  async #readdir(id: number, opened: OpenHandle): Promise<Buffer> {
    if (!(opened instanceof Listing)) throw new ServiceError('exists', 'The handle is that of a file.');
    const names = await opened.names(this.#client.clock.nowMs());
    return names.length > 0 ? namesReply(id, names) : statusReply(id, statusCodes.eof, 'End of folder.');
  }

  async #entry(path: VirtualPath) {
    const upload = this.#uploads.at(path);
    const entry = this.#files.look(path);
    if (upload) return upload.entry();
    if (!entry) throw new ServiceError('not-found', 'Path not found.');
    return entry;
  }

  async #rename(files: AccountFiles, path: VirtualPath, otherPath: string, mayReplace: 'nothing' | 'file'): Promise<void> {
    const to = requestedPath(otherPath);
    await this.#uploads.settled(to, true);
    // rename(2) of a file to itself does nothing.
    if (path === to && mayReplace === 'file' && files.look(path)) return;
    const options = { mayReplace, acrossKinds: false, isTemporaryName: this.#isTemporaryName };
    const upload = this.#uploads.at(path);
    if (upload) await files.renameUpload(upload, to, options);
    else await files.move(path, to, options);
  }

  async #setPath(files: AccountFiles, path: VirtualPath, attributes: Attributes): Promise<void> {
    const upload = this.#uploads.at(path);
    const change = changeOf(attributes);
    if (attributes.sizeBytes !== undefined)
      await (upload ? upload.truncate(attributes.sizeBytes) : this.#resize(files, path, attributes.sizeBytes));
    if (hasChange(change)) await (upload ? upload.setAttributes(change) : files.setAttributes(path, change));
  }

  async #resize(files: AccountFiles, path: VirtualPath, sizeBytes: number): Promise<void> {
    const upload = await files.openRandomUpload(path, {
      create: false,
      exclusive: false,
      truncate: sizeBytes === 0,
      copyLimitBytes: this.#client.options.copy_on_resume_limit,
      isTemporaryName: this.#isTemporaryName,
    });
    // A failure fails the commit, too.
    await upload.truncate(sizeBytes).catch(() => {});
    await upload.commit();
  }

  async #setOpened(opened: OpenHandle, attributes: Attributes): Promise<void> {
    const { mode, ...others } = changeOf(attributes);
    const change = this.#client.options.ignore_create_permissions ? others : { mode, ...others };
    if (attributes.sizeBytes !== undefined) await opened.truncate(attributes.sizeBytes);
    if (hasChange(change)) await opened.setAttributes(change);
  }

  #newMode({ mode }: Attributes): number | undefined {
    return mode === undefined || this.#client.options.ignore_create_permissions ? undefined : mode & 0o777;
  }

  /** Opens something, as long as there is a place for it. */
  async #keep(open: () => OpenHandle | Promise<OpenHandle>): Promise<Handle> {
    const { options, handles, account } = this.#client;
    if (this.#handles.size >= options.maximum_handles) throw new ServiceError('too-many-requests', 'Too many files and folders are open.');
    const free = handles.take(account.uuid);
    if (!free) throw new ServiceError('too-many-requests', 'Too many files and folders of the account are open.');
    try {
      const opened = await open();
      do this.#lastHandle = (this.#lastHandle + 1) % 2 ** 32;
      while (this.#handles.has(this.#lastHandle));
      this.#handles.set(this.#lastHandle, { opened, free });
      return this.#lastHandle;
    } catch (error) {
      free();
      throw error;
    }
  }

  #kept(handle: Handle) {
    const kept = this.#handles.get(handle);
    if (!kept) throw new ServiceError('precondition-failed', 'The handle is not valid.');
    return kept;
  }
}

function ok(id: number): Buffer {
  return statusReply(id, statusCodes.ok, 'Done.');
}

function unknownExtension(name: string): ServiceError {
  return new ServiceError('method-not-allowed', `The extension "${name}" is not there.`);
}
