import { basename, dirname } from 'node:path';
import type { Account } from '../accounts/account.ts';
import { commonPaths } from '../accounts/narrowing.ts';
import { type EventContext, type EventDraft, SharedMembers } from '../events/event.ts';
import { eventIds } from '../events/event-ids.ts';
import { notDurable } from '../events/internal-error.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { baseName, checkNewName, memberPath, parentPath, type VirtualPath } from '../lib/virtual-path.ts';
import { Durability } from './disk/folder-sync.ts';
import { type NameRules, nameTaken } from './disk/new-names.ts';
import { inspect, openParent, openWriteTarget, type WriteTarget } from './disk/opened.ts';
import { retained } from './disk/retention.ts';
import { asServiceError, checkPathLength } from './disk/system-errors.ts';
import { isHiddenName } from './disk/temporaries.ts';
import { walkTree } from './disk/walk-tree.ts';
import { type Entry, toEntry, virtualEntry } from './entry.ts';
import type { FilesEnvironment } from './files-environment.ts';
import { type Change, LockedPath, type LockGuard, lockPath } from './locks/lock-guard.ts';
import type { Location, Mounts } from './mounts.ts';
import { neededRights, type Operation } from './needed-rights.ts';

/**
 * Maps events of HTTP services to the events that SSH services emit instead; undefined if SSH services emit none. Events that are not
 * listed are emitted by HTTP and SSH services.
 */
const sshEventIds: ReadonlyMap<number, number | undefined> = new Map<number, number | undefined>([
  [eventIds.fileOpened, eventIds.sftpFileOpened],
  [eventIds.folderOpened, eventIds.sftpFolderOpened],
  [eventIds.folderCreated, eventIds.sftpFolderCreated],
  [eventIds.folderCreationFailed, eventIds.sftpFolderCreationFailed],
  [eventIds.fileRemoved, eventIds.sftpFileRemoved],
  [eventIds.fileRemovalFailed, eventIds.sftpFileRemovalFailed],
  [eventIds.listingFailed, eventIds.sftpListingFailed],
  [eventIds.fileUploaded, eventIds.sftpFileUploaded],
  [eventIds.clientWentAway, undefined],
  [eventIds.uploadStarted, eventIds.sftpFileOpened],
  [eventIds.uploadFailed, eventIds.sftpUploadFailed],
  [eventIds.folderRemoved, eventIds.sftpFolderRemoved],
  [eventIds.folderRemovalFailed, eventIds.sftpFolderRemovalFailed],
  [eventIds.folderAlreadyThere, eventIds.sftpFolderCreationFailed],
  [eventIds.openFailed, eventIds.sftpOpenFailed],
  [eventIds.fileDownloaded, eventIds.sftpFileDownloaded],
  [eventIds.downloadFailed, eventIds.sftpDownloadFailed],
  [eventIds.fileRenamed, eventIds.sftpRenamed],
  [eventIds.renameFailed, eventIds.sftpRenameFailed],
  [eventIds.fileMoveStarted, undefined],
  [eventIds.folderMoveStarted, undefined],
  [eventIds.folderRenamed, eventIds.sftpRenamed],
]);

/**
 * The steps that all operations on an account's files share: permissions, real paths, locks and events. Only operations in `src/files` use
 * this class; all other code uses `AccountFiles`.
 */
export class AccountPaths {
  readonly account: Account;
  readonly mounts: Mounts;
  readonly environment: FilesEnvironment;
  readonly context: EventContext;
  readonly locks: LockGuard;
  readonly #requestData: Readonly<Record<string, unknown>>;

  /** @param requestData additional data of this request's events */
  constructor(
    account: Account,
    mounts: Mounts,
    environment: FilesEnvironment,
    context: EventContext,
    locks: LockGuard,
    requestData: Readonly<Record<string, unknown>> = {},
  ) {
    this.account = account;
    this.mounts = mounts;
    this.environment = environment;
    this.context = context;
    this.locks = locks;
    this.#requestData = requestData;
  }

  /** @throws ServiceError `forbidden` if the rights for an operation are missing, `name-reserved` for names of hidden files */
  require(path: VirtualPath, operation: Operation): void {
    checkNotReserved(path);
    if (!this.may(path, operation)) throw denied();
  }

  may(path: VirtualPath, operation: Operation): boolean {
    return this.account.permissions.allowsAny(path, neededRights[operation]);
  }

  /**
   * Whether the account may know if a path exists. This needs the right to inspect the path, or to list the folder that contains it. With
   * only `traverse`, the account sees only folders.
   */
  isVisible(path: VirtualPath): boolean {
    const { permissions } = this.account;
    if (permissions.allowsAny(path, neededRights.inspectFile) || permissions.allowsAny(parentPath(path), neededRights.listWholeFolder))
      return true;
    return permissions.allowsAny(path, neededRights.inspect) && this.entryAt(path)?.isFolder === true;
  }

  /** Refuses a request if its path is not visible, as the outcome would reveal whether the path exists. @throws ServiceError `forbidden` */
  requireVisible(path: VirtualPath): void {
    if (!this.isVisible(path)) throw new ServiceError('forbidden', 'A conditional request needs the right to read or list its target.');
  }

  /** The entry at a path. Does not check permissions. */
  entryAt(path: VirtualPath): Entry | undefined {
    const location = this.mounts.locate(path);
    if (location.kind === 'nowhere') return undefined;
    if (location.kind === 'virtual') return virtualEntry(baseName(path), this.#newestBelow(path));
    const found = inspect(this.mounts.roots, location.realPath);
    const { missingFolders } = this.environment;
    if (location.isFixed && found) missingFolders.found(location.realPath);
    if (location.isFixed && !found && path !== '/' && this.mounts.isConfigured(path)) {
      missingFolders.missing(this.account.name, path, location.realPath);
      return virtualEntry(baseName(path), 0);
    }
    if (!found) return undefined;
    const entry = toEntry(baseName(path), found.stats);
    return found.isLink ? { ...entry, isLink: true } : entry;
  }

  /** The real path of a location. @throws ServiceError `fixed-folder` for the kind `virtual`, `not-found` for the kind `nowhere` */
  real(location: Location): string {
    if (location.kind === 'real') return location.realPath;
    if (location.kind === 'virtual') throw new ServiceError('fixed-folder', 'This folder only holds virtual folders.');
    throw new ServiceError('not-found', 'Path not found.');
  }

  /**
   * The real path of a location for a new file or folder.
   *
   * @throws ServiceError `fixed-folder` if nothing can be created at the location, `name-invalid` for a name that is forbidden or too long
   */
  writable(location: Location): string {
    if (location.kind !== 'real') throw new ServiceError('fixed-folder', 'This folder only holds virtual folders.');
    checkNewName(basename(location.realPath));
    checkPathLength(location.realPath);
    return location.realPath;
  }

  /**
   * The real path of a file or folder that is to be removed.
   *
   * @throws ServiceError `fixed-folder` for the home folder and virtual folders, `not-found`, `storage-full` when changes cannot be
   *   journalled
   */
  removable(path: VirtualPath): string {
    this.environment.events.assertWritable();
    const location = this.mounts.locate(path);
    if (location.isFixed) throw new ServiceError('fixed-folder', 'The home folder and virtual folders cannot be deleted.');
    return this.real(location);
  }

  /** The rules for the name of a file that is created at a path. @see openUploadTarget */
  nameRules(path: VirtualPath): NameRules {
    const { permissions, onNameTaken, retainDays } = this.account;
    const mayCreate = (name: string) => {
      const other = memberPath(parentPath(path), name);
      return permissions.allowsAny(other, neededRights.createFile) && !this.mounts.locate(other).isFixed;
    };
    return { mayReplace: permissions.allowsAny(path, neededRights.overwriteFile), ifTaken: onNameTaken, mayCreate, retainDays };
  }

  /**
   * Opens the folder of an upload. An existing file must not be replaced if the account has no right to overwrite it, or if the file is
   * retained. In these cases, depending on `on_name_taken`, the upload is either refused now, or gets a numbered name when it ends.
   *
   * @param verify called with the existing file; throws an error to refuse the upload
   * @throws ServiceError `name-taken`, `retained`, and those of `openWriteTarget`
   */
  openUploadTarget(path: VirtualPath, realPath: string, verify?: (current: Entry | undefined) => void): WriteTarget {
    const { mounts, environment } = this;
    const target = openWriteTarget(mounts.roots, realPath);
    try {
      const { parent, name, existing } = target;
      verify?.(existing && toEntry(name, existing));
      if (!existing) return target;
      const { mayReplace, ifTaken } = this.nameRules(path);
      const untilMs = environment.retention.untilMs(parent.member(name));
      if (mayReplace && untilMs === undefined) return target;
      if (ifTaken === 'refuse') throw untilMs === undefined ? nameTaken() : retained(untilMs);
      // If the path is a symbolic link to a file in another folder, the numbered file is still created in the folder of the link.
      const own = { parent: openParent(mounts.roots, realPath), name: basename(realPath), existing: undefined };
      parent.close();
      return own;
    } catch (error) {
      target.parent.close();
      throw error;
    }
  }

  /** Refuses to change a retained file. @throws ServiceError `retained` */
  requireNotRetained(path: VirtualPath): void {
    const location = this.mounts.locate(path);
    if (location.kind === 'real') this.environment.retention.requireFree(location.realPath);
  }

  /** Refuses a change that a lock forbids, whichever service took the lock. @throws ServiceError `locked` */
  requireUnlocked(path: VirtualPath, change: Change): Promise<void> | undefined {
    const location = this.mounts.locate(path);
    return location.kind === 'real' ? this.locks.requireUnlocked(this.mounts.roots, location.realPath, change) : undefined;
  }

  lockedPath(path: VirtualPath): LockedPath {
    const { mounts, account, context } = this;
    const location = mounts.locate(path);
    const resolved = location.kind === 'real' ? lockPath(mounts.roots, location.realPath) : undefined;
    const takenBy = { account: account.name, address: context.account.peer.address };
    return new LockedPath(this.locks, resolved, takenBy, commonPaths(account.permissions.options.narrowings) !== undefined);
  }

  /**
   * Releases the locks of a path that was deleted or moved (RFC 4918 §9.6, §9.9). If the lock store is unreachable, the locks stay until
   * they expire.
   */
  async forgetLocks(path: VirtualPath): Promise<void> {
    const location = this.mounts.locate(path);
    if (location.kind !== 'real') return;
    try {
      await this.locks.forget(this.mounts.roots, location.realPath);
    } catch (error) {
      // The error is not thrown, because the path has already been deleted or moved.
      if (!isServiceError(error, 'unavailable')) this.environment.log.warn('locks could not be released', { reason: error });
    }
  }

  /**
   * Checks that a folder may be deleted with all its members. If the path is a symbolic link, only the link is deleted, so no member is
   * checked.
   *
   * @returns relative paths of the folder itself (empty) and of its sub-folders, parents first; an empty array for a link
   * @throws ServiceError `forbidden` if the folder or a member must not be deleted, `retained`
   */
  async deletableFolders(path: VirtualPath, realPath: string, { isLink }: Entry): Promise<string[]> {
    this.require(path, 'deleteFolder');
    const folders: string[] = [];
    if (isLink) return folders;
    for await (const member of walkTree(this.mounts.roots, realPath)) {
      if (member.isFolder) folders.push(member.relativePath);
      // No right is needed to delete hidden files, such as the content of unfinished uploads.
      if (member.relativePath === '' || (!member.isFolder && isHiddenName(baseName(member.relativePath as VirtualPath)))) continue;
      const needed = neededRights[member.isFolder ? 'deleteFolder' : 'deleteFile'];
      if (!this.account.permissions.allowsAny(`${path}/${member.relativePath}` as VirtualPath, needed)) throw denied();
      if (!member.isFolder) this.environment.retention.requireFree(member.boundPath);
    }
    return folders;
  }

  /** Emits an event with the members that describe the path in file events (docs/spec/events.md#file-events). */
  emit(id: number, path: VirtualPath, data: Record<string, unknown> = {}): void {
    if (this.#eventId(id) !== undefined) this.environment.events.emit(this.draft(id, path, data));
  }

  /** Emits the event of a change that took effect. @see emitDone */
  async emitDurable(id: number, path: VirtualPath, data?: Record<string, unknown>, durability = new Durability()): Promise<void> {
    await this.emitDone(durability, [this.draft(id, path, data)]);
  }

  /**
   * Emits the events of a change that took effect; they are on disk when the promise resolves. If the disk failed after the change, the
   * events have `durable: false`, and event `internalError` describes the fault (docs/spec/events.md#durability).
   *
   * @param emit writes one event to the journal
   * @throws ServiceError `not-durable` after such a fault, or if an event could not be written to the journal; in both cases, the change
   *   remains
   */
  async emitDone(
    durability: Durability,
    drafts: readonly EventDraft[],
    emit: (draft: EventDraft) => Promise<unknown> = (draft) => this.environment.events.emitDurable(draft),
  ): Promise<void> {
    let recorded = 0;
    for (const draft of drafts) {
      const emitted = durability.fault === undefined ? draft : { ...draft, data: { ...draft.data, durable: false } };
      await durability.attempt(async () => {
        await emit(emitted);
        recorded++;
      });
    }
    if (durability.fault === undefined) return;
    const fault = this.notDurable(durability.fault, drafts[0]?.shared?.members.path ?? drafts[0]?.data?.path);
    fault.details.recorded = recorded === drafts.length;
    throw fault;
  }

  /** Reports that a change took effect but may not survive a power cut. @returns the error for the client */
  notDurable(fault: unknown, path: unknown): ServiceError {
    return notDurable(this.environment, fault, this.context, { path });
  }

  #eventId(id: number): number | undefined {
    return this.context.component.type === 'ssh' && sshEventIds.has(id) ? sshEventIds.get(id) : id;
  }

  /** Creates an event with the members that describe the path. Does not emit the event. */
  draft(id: number, path: VirtualPath, data: Record<string, unknown> = {}): EventDraft {
    return { id: this.#eventId(id) ?? id, context: this.context, data: Object.assign(this.#pathData(path), this.#requestData, data) };
  }

  /** Like `draft`, for one of several events about a path. @param shared result of `pathMembers` */
  sharedDraft(id: number, shared: SharedMembers, data: Readonly<Record<string, unknown>> = {}): EventDraft {
    return { id: this.#eventId(id) ?? id, context: this.context, shared, data: Object.assign({}, this.#requestData, data) };
  }

  /** The members that describe a path, for several events about this path. */
  pathMembers(path: VirtualPath): SharedMembers {
    return new SharedMembers(this.#pathData(path));
  }

  /** Emits an event about a download. @param shared result of `pathMembers` @see EventDispatcher.emitGrouped */
  emitGrouped(httpId: number, shared: SharedMembers, data?: Readonly<Record<string, unknown>>): void {
    const id = this.#eventId(httpId);
    if (id === undefined) return;
    this.environment.events.emitGrouped({ id, context: this.context, shared, data: Object.assign({}, this.#requestData, data) });
  }

  /** @throws ServiceError `too-large` for a file that is larger than the account may write */
  checkFileSize(bytes: number): void {
    const limitBytes = this.account.fileWriteSizeBytes;
    if (limitBytes > 0 && bytes > limitBytes)
      throw new ServiceError('too-large', `A file must not be larger than ${limitBytes} bytes.`, { details: { of_file: true } });
  }

  /** Emits the event of a failed operation. @returns the error for the client */
  reported(id: number, path: VirtualPath, error: unknown, data: Record<string, unknown> = {}): ServiceError {
    const meaning = asServiceError(error);
    this.emit(id, path, { details: meaning.message, ...data });
    return meaning;
  }

  /** Runs `action`. If it fails, emits event `id`. @throws ServiceError */
  orReport<T>(id: number, path: VirtualPath, action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw this.reported(id, path, error);
    }
  }

  /** Like `orReport`, for an asynchronous action. */
  async orReportAsync<T>(id: number, path: VirtualPath, action: () => Promise<T>, data?: Record<string, unknown>): Promise<T> {
    try {
      return await action();
    } catch (error) {
      throw this.reported(id, path, error, data);
    }
  }

  /** Latest modification time of the virtual folders below a path; Unix time in milliseconds, 0 when all are missing. */
  #newestBelow(path: VirtualPath): number {
    const times = this.mounts.virtualFoldersBelow(path).map(({ realPath }) => inspect(this.mounts.roots, realPath)?.stats.mtimeMs ?? 0);
    return Math.max(0, ...times);
  }

  #pathData(path: VirtualPath): Record<string, unknown> {
    const location = this.mounts.locate(path);
    return pathData(path, location.kind === 'real' ? location.realPath : '');
  }
}

/** The members that describe the path in file events. @param realPath empty if the path is not on disk */
export function pathData(path: VirtualPath, realPath: string): Record<string, unknown> {
  return {
    path,
    real_path: realPath,
    file_name: baseName(path),
    directory_name: parentPath(path),
    real_file_name: realPath === '' ? '' : basename(realPath),
    real_directory_name: realPath === '' ? '' : dirname(realPath),
  };
}

/** The error for a missing right. It does not reveal whether the path exists. */
export function denied(): ServiceError {
  return new ServiceError('forbidden', 'Permission denied.');
}

// Hidden files, such as temporary files of uploads and removed files that NFS keeps, must not be read, replaced or removed by name.
function checkNotReserved(path: VirtualPath): void {
  if ((/\.svc-/i.test(path) || path.includes('.nfs')) && path.split('/').some(isHiddenName))
    throw new ServiceError('name-reserved', 'This name is reserved.');
}
