import type { AccountFiles } from '../../files/account-files.ts';
import type { RandomUploadOptions } from '../../files/operations/random-upload.ts';
import { ServiceError } from '../../lib/errors.ts';
import { parentPath, type VirtualPath } from '../../lib/virtual-path.ts';
import type { SshClient } from '../ssh-client.ts';
import { AttributeRequests } from './attribute-requests.ts';
import { checkFileReply, copyData, limitsReply, readCheckRequest, readCopyRequest, spaceReply } from './extensions.ts';
import { Listing } from './listing.ts';
import { OpenFile } from './open-file.ts';
import type { OpenHandle } from './open-handle.ts';
import { OpenHandles } from './open-handles.ts';
import { Uploads } from './open-upload.ts';
import { type Handle, openFlags, statusCodes } from './packets/packets.ts';
import type { SftpRequest } from './packets/read-request.ts';
import { handleReply, namesReply, statusReply } from './packets/replies.ts';
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
  readonly #attributes: AttributeRequests;
  readonly #isTemporaryName: (name: string) => boolean;
  readonly #handles: OpenHandles;

  /** @param isTemporaryName which names files have only until they are whole */
  constructor(client: SshClient, isTemporaryName: (name: string) => boolean) {
    this.#client = client;
    this.#files = client.files;
    this.#handles = new OpenHandles(client);
    this.#isTemporaryName = isTemporaryName;
    this.#uploads = new Uploads({ keepPartial: client.options.partial_uploads === 'keep', isTemporaryName });
    this.#attributes = new AttributeRequests(client, this.#uploads, isTemporaryName);
  }

  /** What a handle stands for. @throws ServiceError `precondition-failed` for one that is not open */
  opened(handle: Handle): OpenHandle {
    return this.#handles.opened(handle);
  }

  /** Whether the client has a file or folder open. */
  get hasOpen(): boolean {
    return this.#handles.count > 0;
  }

  /** Drops everything that is open: the connection is gone. */
  lose(): Promise<void> {
    return this.#handles.lose();
  }

  async onHandle(request: HandleRequest): Promise<Buffer> {
    const { id, handle } = request;
    const opened = this.opened(handle);
    switch (request.kind) {
      case 'close':
        await this.#handles.close(handle);
        return ok(id);
      case 'fstat':
        return this.#attributes.reply(id, this.#files, opened.path, opened.entry());
      case 'readdir':
        return this.#readdir(id, opened);
      case 'fsetstat':
        await this.#attributes.setOpened(opened, request.attributes);
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
        return this.#attributes.reply(id, files, path, this.#attributes.entry(path));
      case 'opendir':
        return handleReply(id, await this.#handles.open(() => new Listing(files, path)));
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
        await this.#attributes.setPath(files, path, request.attributes);
        return ok(id);
      case 'mkdir':
        await files.createFolder(path, this.#attributes.newMode(request.attributes));
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
        await this.#attributes.setPath(this.#files.forRequest({ requested_path: text }), path, fields.attributes());
        return ok(id);
      case 'statvfs@openssh.com':
        return this.#space(id, path);
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
        return this.#space(id, this.opened(fields.handle()).path);
      case 'check-file':
      case 'check-file-handle':
        return checkFileReply(id, this.opened(fields.handle()), readCheckRequest(fields), this.#client.ended);
      case 'copy-data': {
        const copy = readCopyRequest(fields);
        const isWhole = await copyData(this.opened(copy.from), this.opened(copy.to), copy, this.#client.ended);
        return isWhole ? ok(id) : statusReply(id, statusCodes.eof, 'End of file.');
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
      return this.#handles.open(
        () => (files.may(path, 'readFile') ? this.#uploads.join(files, path) : undefined) ?? new OpenFile(files, path),
      );
    const options: RandomUploadOptions = {
      create: (flags & create) !== 0,
      exclusive: (flags & create) !== 0 && (flags & exclusive) !== 0,
      truncate: (flags & truncate) !== 0,
      mode: this.#attributes.newMode(attributes),
      copyLimitBytes: this.#client.options.copy_on_resume_limit,
      isTemporaryName: this.#isTemporaryName,
    };
    return this.#handles.open(() => this.#uploads.open(files, path, options, (flags & append) !== 0));
  }

  async #readdir(id: number, opened: OpenHandle): Promise<Buffer> {
    if (!(opened instanceof Listing)) throw new ServiceError('exists', 'The handle is that of a file.');
    const names = await opened.names(this.#client.clock.nowMs());
    return names.length > 0 ? namesReply(id, names) : statusReply(id, statusCodes.eof, 'End of folder.');
  }

  // What is being uploaded is not there yet, but its folder is.
  async #space(id: number, path: VirtualPath): Promise<Buffer> {
    return spaceReply(id, await this.#files.space(this.#uploads.at(path) ? parentPath(path) : path));
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
}

function ok(id: number): Buffer {
  return statusReply(id, statusCodes.ok, 'Done.');
}

function unknownExtension(name: string): ServiceError {
  return new ServiceError('method-not-allowed', `The extension "${name}" is not there.`);
}
