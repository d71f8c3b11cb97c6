import { mkdirSync } from 'node:fs';
import type { Account } from '../accounts/account.ts';
import type { Right } from '../accounts/permissions.ts';
import type { EventContext } from '../events/event.ts';
import { eventIds } from '../events/event-ids.ts';
import { type Problem, ServiceError } from '../lib/errors.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { AccountPaths, denied } from './account-paths.ts';
import { Durability } from './disk/folder-sync.ts';
import { changeInParent, type OpenedFolder, openFile, openFolderToPass } from './disk/opened.ts';
import { descriptorsNameFiles } from './disk/real-roots.ts';
import { asServiceError } from './disk/system-errors.ts';
import type { Entry, ListedEntry } from './entry.ts';
import type { FilesEnvironment } from './files-environment.ts';
import { ownHeldAt } from './inspections/own-held.ts';
import type { LockedPath, LockGuard } from './locks/lock-guard.ts';
import { type Mounts, resolveMounts } from './mounts.ts';
import { neededRights, type Operation } from './needed-rights.ts';
import { accountListing, type EntryBatches } from './operations/account-listing.ts';
import { type CopyOptions, copyFile } from './operations/copy.ts';
import { deleteEmptyFolder, deleteFile, deleteFolder, type FolderDeletion } from './operations/delete.ts';
import { type FileDownload, KeptDownload, OpenDownload } from './operations/file-download.ts';
import { type FileUpload, startUpload, type UploadOptions } from './operations/file-upload.ts';
import { type CopyProgress, copyFolder } from './operations/folder-copy.ts';
import type { LeftBehind } from './operations/folder-remover.ts';
import { followChange, moveEntry, renameUpload } from './operations/move.ts';
import { RandomUpload, type RandomUploadOptions } from './operations/random-upload.ts';
import type { MoveOptions } from './operations/relocate.ts';
import { Search } from './operations/search.ts';
import { type AttributeChange, setAttributes } from './operations/set-attributes.ts';
import { sortedByName } from './operations/sorted-listing.ts';
import { type Space, spaceAt } from './quota.ts';
import type { Transfer } from './transfers.ts';
import { AccountTrash } from './trash/account-trash.ts';
import { beginUpload, findUpload, inspectUpload, type ResumableOptions } from './uploads/open-upload.ts';
import type { ResumableUpload } from './uploads/resumable-upload.ts';
import type { UploadRecord } from './uploads/upload-store.ts';

/**
 * The operations on an account's files, for every protocol. Each method checks the permission, opens and verifies the path, acts on the
 * opened file or folder, and emits the event. Permissions are checked before the disk is accessed, so that a refusal does not reveal
 * whether a path exists (docs/spec/authentication.md#permissions).
 *
 * If a method fails, it emits the event of the failure and throws a `ServiceError`.
 */
export class AccountFiles {
  readonly account: Account;
  readonly mounts: Mounts;
  readonly environment: FilesEnvironment;
  readonly #paths: AccountPaths;

  /**
   * @param context the client and component that the events name
   * @param locks the locks that the client holds
   * @param requestData additional data of the events
   */
  constructor(
    account: Account,
    environment: FilesEnvironment,
    context: EventContext,
    locks: LockGuard,
    mounts = resolveMounts(account, environment.excludedPaths),
    requestData?: Readonly<Record<string, unknown>>,
  ) {
    this.account = account;
    this.environment = environment;
    this.mounts = mounts;
    this.#paths = new AccountPaths(account, mounts, environment, context, locks, requestData);
  }

  /**
   * The entry at a path.
   *
   * @param operation the account needs one of the `neededRights` of this operation; with only `traverse`, it sees only folders
   * @returns undefined when nothing exists at the path
   * @throws ServiceError `forbidden` if the account has none of these rights, or if it has only `traverse` and the path is no folder
   */
  inspect(path: VirtualPath, operation: Operation = 'inspect'): Entry | undefined {
    this.#paths.require(path, operation);
    const entry = this.#paths.entryAt(path);
    const rights: readonly Right[] = neededRights[operation];
    const seesFiles = rights.some((right) => right !== 'traverse' && this.account.permissions.allows(path, right));
    if (!seesFiles && !entry?.isFolder) throw denied();
    return entry;
  }

  /** The entry of the account's own upload that is held for review at this path. Call `inspect` first, because it checks the rights. */
  async inspectHeld(path: VirtualPath): Promise<Entry | undefined> {
    return (await ownHeldAt(this.#paths, path))?.entry;
  }

  /** Whether the account may know if a path exists. If not, no reply may depend on whether the path exists. */
  isVisible(path: VirtualPath): boolean {
    return this.#paths.isVisible(path);
  }

  /**
   * Refuses a request if the path is not visible to the account, because the outcome of the request would reveal whether the path exists.
   *
   * @param failedId ID of the operation's failure event; undefined if the operation has none
   * @throws ServiceError `forbidden`
   */
  requireVisible(path: VirtualPath, failedId: number | undefined): void {
    if (failedId === undefined) this.#paths.requireVisible(path);
    else this.#paths.orReport(failedId, path, () => this.#paths.requireVisible(path));
  }

  /** Refuses an operation in a missing folder if the account may know that the folder is missing. @throws ServiceError `not-found` */
  requireFolder(path: VirtualPath): void {
    if (this.may(path, 'missFolder') && !this.#paths.entryAt(path)?.isFolder) throw new ServiceError('not-found', 'Path not found.');
  }

  emitHead(path: VirtualPath, isFolder: boolean): void {
    this.events.emit(isFolder ? eventIds.folderHead : eventIds.fileHead, path);
  }

  /**
   * Opens a file for reading. Emits `fileOpened` or `openFailed`. At its end, the download emits `fileDownloaded` or `downloadFailed`. If
   * the client went away, the download emits `clientWentAway` before `downloadFailed`.
   */
  openDownload(path: VirtualPath): OpenDownload {
    return this.#paths.orReport(eventIds.openFailed, path, () => {
      this.#paths.require(path, 'readFile');
      return new OpenDownload(this.#paths, path, openFile(this.mounts.roots, this.realPath(path)));
    });
  }

  /** Like `openDownload`, for content that is read immediately. The content of a small file may come from memory. */
  download(path: VirtualPath): FileDownload {
    return this.#paths.orReport(eventIds.openFailed, path, () => {
      this.#paths.require(path, 'readFile');
      const file = this.environment.fileCache.open(this.mounts.roots, this.realPath(path));
      return 'content' in file ? new KeptDownload(this.#paths, path, file) : new OpenDownload(this.#paths, path, file);
    });
  }

  /** Lists a folder, sorted by name unless it is very large. Emits `folderOpened` or `listingFailed`. @see accountListing */
  openListing(path: VirtualPath, onUnreadableName?: () => void): EntryBatches {
    const listing = this.#paths.orReport(eventIds.listingFailed, path, () => accountListing(this.#paths, path, onUnreadableName));
    this.events.emit(eventIds.folderOpened, path);
    return listing;
  }

  /** Searches the names in a folder tree. Emits `folderOpened` with the member `search`, or `listingFailed`. @see Search */
  search(path: VirtualPath, text: string): Search {
    const search = this.#paths.orReport(eventIds.listingFailed, path, () => new Search(this.#paths, path, text));
    this.events.emit(eventIds.folderOpened, path, { search: text });
    return search;
  }

  /** Lists a folder, sorted by name, for a ZIP archive. Emits no event. @throws ServiceError as `accountListing` */
  listQuietly(path: VirtualPath): AsyncIterable<ListedEntry[]> {
    return sortedByName(accountListing(this.#paths, path));
  }

  /** Opens a file for a ZIP archive. Emits no event. */
  openQuietly(path: VirtualPath): { fd: number; sizeBytes: number } {
    this.#paths.require(path, 'readFile');
    const { fd, stats } = openFile(this.mounts.roots, this.realPath(path));
    return { fd, sizeBytes: stats.size };
  }

  /**
   * Opens a folder to read many of its files for a ZIP archive. Emits no event. The caller checks with `may` which files may be read.
   *
   * @returns the folder, which the caller must close, and the names in it that belong to virtual folders; undefined if the folder is
   *   virtual, or if the system cannot open files relative to a folder
   */
  openFolderQuietly(path: VirtualPath): { opened: OpenedFolder; foreignNames: ReadonlySet<string> } | undefined {
    const location = this.mounts.locate(path);
    if (!descriptorsNameFiles || location.kind !== 'real') return undefined;
    return { opened: openFolderToPass(this.mounts.roots, location.realPath), foreignNames: new Set(this.mounts.virtualMembers(path)) };
  }

  /** Adds a ZIP download to the running transfers. @param bytes returns the bytes sent so far @returns a function to call at its end */
  showDownload(path: VirtualPath, totalBytes: number, bytes: () => number): () => void {
    const { transfers, clock } = this.environment;
    const transfer: Transfer = {
      direction: 'download',
      files: this.#paths,
      path,
      startedMs: clock.monotonicMs(),
      get bytes() {
        return bytes();
      },
      totalBytes,
    };
    transfers.enter(transfer);
    return () => transfers.leave(transfer);
  }

  /** Whether the account has the rights for an operation on a path. For callers that skip the operation if the rights are missing. */
  may(path: VirtualPath, operation: Operation): boolean {
    return this.#paths.may(path, operation);
  }

  /** Returns the files of the same account for one request. The events of this request also contain `data`. */
  forRequest(data: Readonly<Record<string, unknown>>): AccountFiles {
    return new AccountFiles(this.account, this.environment, this.#paths.context, this.#paths.locks, this.mounts, data);
  }

  /**
   * Creates a folder. Emits `folderCreated` (on disk when the promise resolves), `folderAlreadyThere` or `folderCreationFailed`.
   *
   * @param mode permission bits, before the umask
   */
  async createFolder(path: VirtualPath, mode?: number): Promise<void> {
    const durability = new Durability();
    try {
      this.#paths.require(path, 'createFolder');
      this.environment.events.assertWritable();
      const location = this.mounts.locate(path);
      if (location.isFixed) throw new ServiceError('exists', 'The folder already exists.');
      await this.#paths.requireUnlocked(path, 'membership');
      await changeInParent(this.mounts.roots, this.#paths.writable(location), durability, (member) => mkdirSync(member, mode));
    } catch (error) {
      const exists = asServiceError(error).code === 'exists';
      throw this.#paths.reported(exists ? eventIds.folderAlreadyThere : eventIds.folderCreationFailed, path, error);
    }
    await this.events.emitDurable(eventIds.folderCreated, path, {}, durability);
  }

  /**
   * Begins an upload. Emits `uploadStarted` and, at the end, `fileUploaded` (if `commit` is called) or `uploadFailed` (if `abort` is
   * called).
   */
  openUpload(path: VirtualPath, options: UploadOptions = {}): Promise<FileUpload> {
    const open = async () => startUpload(this.#paths, path, await this.#writableFile(path), options);
    return this.#paths.orReportAsync(eventIds.uploadFailed, path, open, { metadata: options.metadata });
  }

  /**
   * Begins an upload that may take several requests. Emits `uploadStarted`. @see ResumableUpload
   *
   * @param onWanted called when a newer request asks for the upload
   * @throws ServiceError as `openUpload`, and `too-many-requests` for an account with too many unfinished uploads
   */
  beginResumable(path: VirtualPath, options: ResumableOptions, onWanted: () => void): Promise<ResumableUpload> {
    const realPath = () => this.#writableFile(path);
    const begin = async () => beginUpload(this.#paths, path, await realPath(), options, { realPath, onWanted });
    return this.#paths.orReportAsync(eventIds.uploadFailed, path, begin, { metadata: options.metadata });
  }

  /**
   * Gets an unfinished or recently ended upload of the account by its ID. Other requests cannot use the upload until this request releases
   * it.
   * @param onWanted called when a newer request asks for the upload; without this function, the newer request waits
   * @throws ServiceError `not-found`; `unavailable` while the upload is being ended; `client-gone` if `onWanted` is given and a newer
   *   request asks for the upload while this request waits
   */
  resumable(id: string, onWanted?: () => void): Promise<ResumableUpload> {
    return findUpload(this.#paths, id, { realPath: (path) => this.#writableFile(path), onWanted });
  }

  /**
   * Ends the requests that send content to an upload, but not requests that only query it. Then returns the record of the upload, which may
   * be unfinished or recently ended.
   *
   * @throws as `resumable`
   */
  inspectResumable(id: string): Promise<UploadRecord> {
    return inspectUpload(this.#paths, id);
  }

  async #writableFile(path: VirtualPath): Promise<string> {
    this.#paths.require(path, 'createFile');
    this.environment.events.assertWritable();
    const location = this.mounts.locate(path);
    if (location.isFixed) throw new ServiceError('is-folder', 'A folder has this name.');
    await this.#paths.requireUnlocked(path, 'content');
    return this.#paths.writable(location);
  }

  /**
   * Opens a file whose parts may be written in any order. Emits `uploadStarted` or `openFailed`.
   *
   * @throws ServiceError as `RandomUpload.open`; also `forbidden` if the account may not create files, or if `options.create` is false and
   *   the path is not visible
   */
  openRandomUpload(path: VirtualPath, options: RandomUploadOptions): Promise<RandomUpload> {
    return this.#paths.orReportAsync(eventIds.openFailed, path, async () => {
      // Without `create`, the outcome reveals whether the file exists. The option `exclusive` reveals it, too, but is accepted, because
      // clients such as WinSCP use `exclusive` to avoid overwriting files.
      if (!options.create) this.#paths.requireVisible(path);
      return RandomUpload.open(this.#paths, path, await this.#writableFile(path), options);
    });
  }

  /** Sets times and mode. Emits `sftpAttributesSet` or `sftpAttributesSetFailed`. @see setAttributes */
  setAttributes(path: VirtualPath, change: AttributeChange): Promise<void> {
    return setAttributes(this.#paths, path, change);
  }

  /** Renames a file that is being uploaded. Emits `fileRenamed` or `renameFailed`. @see renameUpload */
  renameUpload(upload: RandomUpload, to: VirtualPath, options: MoveOptions): Promise<void> {
    return renameUpload(this.#paths, upload, to, options);
  }

  /** Removes a file that is being uploaded, and the older file that it would replace. Emits `fileRemoved` or `fileRemovalFailed`. */
  async removeUpload(upload: RandomUpload): Promise<void> {
    const { path } = upload;
    if (this.#paths.entryAt(path) && this.#paths.nameRules(path).mayReplace)
      return followChange(this.deleteFile(path), () => upload.remove());
    this.#paths.orReport(eventIds.fileRemovalFailed, path, () => {
      this.#paths.require(path, 'deleteFile');
      this.environment.events.assertWritable();
      upload.remove();
    });
    await this.events.emitDurable(eventIds.fileRemoved, path);
  }

  /** Deletes a file. Emits `fileRemoved` or `fileRemovalFailed`. @see deleteFile */
  deleteFile(path: VirtualPath, verify?: (current: Entry) => void): Promise<void> {
    return deleteFile(this.#paths, path, verify);
  }

  /** Deletes an empty folder. Emits `folderRemoved` or `folderRemovalFailed`. @see deleteEmptyFolder */
  deleteEmptyFolder(path: VirtualPath): Promise<void> {
    return deleteEmptyFolder(this.#paths, path);
  }

  /** Deletes a folder with all its members. Emits `folderRemoved` or `folderRemovalFailed`. @see deleteFolder */
  deleteFolder(path: VirtualPath, options: FolderDeletion = {}): Promise<LeftBehind[]> {
    return deleteFolder(this.#paths, path, options);
  }

  get trash(): AccountTrash {
    return new AccountTrash(this.#paths, (path) => this.createFolder(path));
  }

  /** Copies a file. Emits `copyStarted`, then `fileCopied` (on disk when the promise resolves) or `copyFailed`. @see copyFile */
  copyFile(from: VirtualPath, to: VirtualPath, options: CopyOptions): Promise<{ created: boolean }> {
    return copyFile(this.#paths, from, to, options);
  }

  /** Copies a folder with all its members. @see copyFolder */
  copyFolder(from: VirtualPath, to: VirtualPath, stop?: AbortSignal): AsyncGenerator<CopyProgress, readonly Problem[]> {
    return copyFolder(this.#paths, from, to, { createFolder: (path) => this.createFolder(path), stop });
  }

  /**
   * Moves a file or a folder. Emits `fileMoveStarted` or `folderMoveStarted`, then `fileRenamed` or `folderRenamed` (on disk when the
   * promise resolves), or `renameFailed`. @see moveEntry
   */
  move(from: VirtualPath, to: VirtualPath, options: MoveOptions): Promise<{ created: boolean }> {
    return moveEntry(this.#paths, from, to, options);
  }

  /** Emits `propertiesDenied`; the event is on disk when the promise resolves. */
  async emitPropertiesDenied(path: VirtualPath, details: string): Promise<void> {
    await this.environment.events.emitDurable(this.#paths.draft(eventIds.propertiesDenied, path, { details }));
  }

  /** The locks of a path, for a client that takes and releases locks. @throws ServiceError `forbidden` without `write` */
  lockable(path: VirtualPath): LockedPath {
    this.#paths.require(path, 'lock');
    return this.#paths.lockedPath(path);
  }

  /** The same files for a client that also holds the lock with this token. */
  withToken(token: string): AccountFiles {
    return new AccountFiles(this.account, this.environment, this.#paths.context, this.#paths.locks.withToken(token), this.mounts);
  }

  /** The locks that cover a path, for a client that may inspect it. */
  locksAt(path: VirtualPath): LockedPath {
    this.#paths.require(path, 'seeLocks');
    return this.#paths.lockedPath(path);
  }

  /**
   * Free and used bytes (RFC 4331). If the account has a quota, it limits the free bytes, and only the account's own files count as used.
   *
   * @throws ServiceError `not-found` for a path that is not on disk
   */
  async space(path: VirtualPath): Promise<Space> {
    this.#paths.require(path, 'inspect');
    return spaceAt(path, this.mounts, this.account.quotaSizeBytes, this.environment.quotas);
  }

  /** Runs a custom trigger on members of a folder: emits one event `triggerRun` with their names, to which event handlers react. */
  async runTrigger(folder: VirtualPath, name: string, members: readonly string[]): Promise<void> {
    this.environment.events.assertWritable();
    await this.events.emitDurable(eventIds.triggerRun, folder, { name, files: members });
  }

  /** The real path of a virtual path; symbolic links are not resolved. @throws ServiceError `fixed-folder`, `not-found` */
  realPath(path: VirtualPath): string {
    return this.#paths.real(this.mounts.locate(path));
  }

  /** The methods that emit events about these files. */
  get events(): Pick<AccountPaths, 'emit' | 'emitDurable' | 'reported'> {
    return this.#paths;
  }
}
