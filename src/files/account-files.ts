import type { Account } from '../accounts/account.ts';
import type { Right } from '../accounts/permissions.ts';
import type { EventContext } from '../events/event.ts';
import { eventIds } from '../events/event-ids.ts';
import { ServiceError } from '../lib/errors.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { AccountPaths, denied } from './account-paths.ts';
import { type OpenedFolder, openFile, openFolderToPass } from './disk/opened.ts';
import { LockedPath } from './disk/path-lock.ts';
import { descriptorsNameFiles } from './disk/real-roots.ts';
import type { Entry, ListedEntry } from './entry.ts';
import type { FilesEnvironment } from './files-environment.ts';
import type { LockGuard } from './locks/lock-guard.ts';
import { type Mounts, resolveMounts } from './mounts.ts';
import { neededRights, type Operation } from './needed-rights.ts';
import { accountListing, type EntryBatches } from './operations/account-listing.ts';
import { type CopyOptions, copyFile } from './operations/copy.ts';
import { createFolder } from './operations/create-folder.ts';
import { deleteEmptyFolder, deleteFile, deleteFolder, type FolderDeletion } from './operations/delete.ts';
import { type FileDownload, KeptDownload, OpenDownload } from './operations/file-download.ts';
import { type FileUpload, startUpload, type UploadOptions } from './operations/file-upload.ts';
import type { LeftBehind } from './operations/folder-remover.ts';
import { moveEntry } from './operations/move.ts';
import { RandomUpload, type RandomUploadOptions } from './operations/random-upload.ts';
import type { MoveOptions } from './operations/relocate.ts';
import { Search } from './operations/search.ts';
import { type AttributeChange, setAttributes } from './operations/set-attributes.ts';
import { sortedByName } from './operations/sorted-listing.ts';
import { type Space, spaceAt } from './operations/space.ts';
import { onceDone, removeUpload, renameUpload } from './operations/upload-names.ts';
import type { Transfer } from './transfers.ts';
import { beginUpload, findUpload, inspectUpload, type ResumableOptions } from './uploads/open-upload.ts';
import type { ResumableUpload } from './uploads/resumable-upload.ts';
import type { UploadRecord } from './uploads/upload-store.ts';

/**
 * An account's files, for every protocol: each method checks the permission, acts on what it opened and
 * verified, and emits the event. A permission is checked before the disk is touched, so
 * that a refusal tells nothing about what exists (docs/spec/authentication.md#permissions).
 *
 * All methods throw `ServiceError`; the failure event is emitted by then.
 */
export class AccountFiles {
  readonly account: Account;
  readonly mounts: Mounts;
  readonly environment: FilesEnvironment;
  readonly #paths: AccountPaths;

  /**
   * @param context who and which component, for the events
   * @param locks what the client may do in spite of locks
   * @param requestData what the events carry besides
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
   * Looks at a path.
   *
   * @param operation what it is looked at for: any right that this needs is enough to be told, `traverse` alone to be told of folders
   * @returns undefined when nothing is there
   * @throws ServiceError `forbidden` without any such right; with `traverse` alone for files, and for what is missing
   */
  inspect(path: VirtualPath, operation: Operation = 'look'): Entry | undefined {
    this.#paths.require(path, operation);
    const entry = this.#paths.entryAt(path);
    const rights: readonly Right[] = neededRights[operation];
    const seesFiles = rights.some((right) => right !== 'traverse' && this.account.permissions.allows(path, right));
    if (!seesFiles && !entry?.isFolder) throw denied();
    return entry;
  }

  /** Whether the account may be told what stands at a path. What it may not be told of counts as absent, and the same is answered either way. */
  isVisible(path: VirtualPath): boolean {
    return this.#paths.isVisible(path);
  }

  /**
   * Refuses a request whose outcome depends on what stands at a path, to those who may not be told of it.
   *
   * @param failedId event of the operation that fails with it, where it has one
   * @throws ServiceError `forbidden`
   */
  requireVisible(path: VirtualPath, failedId: number | undefined): void {
    if (failedId === undefined) this.#paths.requireVisible(path);
    else this.#paths.orReport(failedId, path, () => this.#paths.requireVisible(path));
  }

  /**
   * Refuses what is to be done in a folder that is missing, to those who may know.
   *
   * @throws ServiceError `not-found`
   */
  requireFolder(path: VirtualPath): void {
    if (this.may(path, 'missFolder') && !this.#paths.entryAt(path)?.isFolder) throw new ServiceError('not-found', 'Path not found.');
  }

  /** Reports a HEAD: `fileHead` for a file, `folderHead` for a folder. */
  emitHead(path: VirtualPath, isFolder: boolean): void {
    this.emit(isFolder ? eventIds.folderHead : eventIds.fileHead, path);
  }

  /** Opens a file for reading; events `fileOpened`, then `fileDownloaded`, `downloadFailed` or `clientWentAway` when the download ends, or `openFailed`. */
  openDownload(path: VirtualPath): OpenDownload {
    return this.#paths.orReport(eventIds.openFailed, path, () => {
      this.#paths.require(path, 'readFile');
      return new OpenDownload(this.#paths, path, openFile(this.mounts.roots, this.realPath(path)));
    });
  }

  /** Like `openDownload`, for what is read as it is now: a small file from memory, where it is kept there. */
  download(path: VirtualPath): FileDownload {
    return this.#paths.orReport(eventIds.openFailed, path, () => {
      this.#paths.require(path, 'readFile');
      const file = this.environment.fileCache.open(this.mounts.roots, this.realPath(path));
      return 'content' in file ? new KeptDownload(this.#paths, path, file) : new OpenDownload(this.#paths, path, file);
    });
  }

  /** Lists a folder, by name unless it is very large; event `folderOpened`, or `listingFailed`. With `traverse` alone only sub-folders are shown. @see accountListing */
  openListing(path: VirtualPath, onUnreadableName?: () => void): EntryBatches {
    const listing = this.#paths.orReport(eventIds.listingFailed, path, () => accountListing(this.#paths, path, onUnreadableName));
    this.emit(eventIds.folderOpened, path);
    return listing;
  }

  /** Searches a folder and all below it for names; event `folderOpened` with `search`, or `listingFailed`. @see Search */
  search(path: VirtualPath, text: string): Search {
    const search = this.#paths.orReport(eventIds.listingFailed, path, () => new Search(this.#paths, path, text));
    this.emit(eventIds.folderOpened, path, { search: text });
    return search;
  }

  /**
   * Lists a folder by name as part of a larger operation (ZIP), without an event of its own.
   *
   * @throws ServiceError `forbidden` without `list` or `traverse`
   */
  listQuietly(path: VirtualPath): AsyncIterable<ListedEntry[]> {
    return sortedByName(accountListing(this.#paths, path));
  }

  /** Opens a file as part of a larger operation (ZIP), without an event of its own. */
  openQuietly(path: VirtualPath): { fd: number; sizeBytes: number } {
    this.#paths.require(path, 'readFile');
    const { fd, stats } = openFile(this.mounts.roots, this.realPath(path));
    return { fd, sizeBytes: stats.size };
  }

  /**
   * Opens a folder to read many of its files as part of a larger operation (ZIP), without an event of its own. What may be read is for the
   * caller to ask (`may`).
   *
   * @returns the folder, to be closed by the caller, and the names in it that virtual folders have, which are not its own; undefined where
   *   members are not bound to an opened folder
   */
  openFolderQuietly(path: VirtualPath): { opened: OpenedFolder; foreignNames: ReadonlySet<string> } | undefined {
    const location = this.mounts.locate(path);
    if (!descriptorsNameFiles || location.kind !== 'real') return undefined;
    return {
      opened: openFolderToPass(this.mounts.roots, location.realPath),
      foreignNames: new Set(this.mounts.virtualMembers(path)),
    };
  }

  /**
   * Shows what is read as part of a larger operation (ZIP) among the transfers under way, as a download of a path.
   *
   * @param bytes how many were sent so far
   * @returns ends that
   */
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

  /** Whether the account has the rights for an operation on a path: for what is offered, or skipped, without them. */
  may(path: VirtualPath, operation: Operation): boolean {
    return this.account.permissions.allowsAny(path, neededRights[operation]);
  }

  /** The same files for one request, whose events carry `data` besides. */
  forRequest(data: Readonly<Record<string, unknown>>): AccountFiles {
    return new AccountFiles(this.account, this.environment, this.#paths.context, this.#paths.locks, this.mounts, data);
  }

  /** Creates a folder; event `folderCreated`, `folderAlreadyThere` or `folderCreationFailed`. @see createFolder */
  createFolder(path: VirtualPath, mode?: number): Promise<void> {
    return createFolder(this.#paths, path, mode);
  }

  /**
   * Begins an upload; event `uploadStarted` at once. The caller ends it with `commit` (`fileUploaded`) or `abort` (`uploadFailed`).
   */
  async openUpload(path: VirtualPath, options: UploadOptions = {}): Promise<FileUpload> {
    try {
      return await startUpload(this.#paths, path, await this.#writableFile(path), options);
    } catch (error) {
      throw this.#paths.reported(eventIds.uploadFailed, path, error, { metadata: options.metadata });
    }
  }

  /**
   * Begins an upload that may take several requests; event `uploadStarted` at once. @see ResumableUpload
   *
   * @param onWanted told when a newer request wants it
   * @throws ServiceError as `openUpload`, and `too-many-requests` for an account with too many unfinished ones
   */
  async beginResumable(path: VirtualPath, options: ResumableOptions, onWanted: () => void): Promise<ResumableUpload> {
    try {
      const realPath = () => this.#writableFile(path);
      return await beginUpload(this.#paths, path, await realPath(), options, { realPath, onWanted });
    } catch (error) {
      throw this.#paths.reported(eventIds.uploadFailed, path, error, { metadata: options.metadata });
    }
  }

  /**
   * The account's own unfinished upload of an ID, or one that is over and not forgotten yet, for this request alone.
   *
   * @param onWanted told when a newer request wants it
   * @throws ServiceError `not-found`, `unavailable` while its end is looked after, `client-gone` when a newer request wants it already
   */
  async resumable(id: string, onWanted: () => void): Promise<ResumableUpload> {
    return findUpload(this.#paths, id, { realPath: (path) => this.#writableFile(path), onWanted });
  }

  /**
   * What is known of such an upload. Requests that bring content to it come to their end first; other queries go on.
   *
   * @throws ServiceError `not-found`, `unavailable` while its end is looked after
   */
  inspectResumable(id: string): Promise<UploadRecord> {
    return inspectUpload(this.#paths, id);
  }

  /** Where a file is written, once all that may refuse it was asked. */
  async #writableFile(path: VirtualPath): Promise<ReturnType<AccountPaths['writable']>> {
    this.#paths.require(path, 'writeFile');
    this.environment.events.assertWritable();
    const location = this.mounts.locate(path);
    if (location.isFixed) throw new ServiceError('is-folder', 'A folder has this name.');
    await this.#paths.requireUnlocked(path, 'content');
    return this.#paths.writable(location);
  }

  /**
   * Opens a file to write it in any order; event `uploadStarted` at once, or `openFailed`. @see RandomUpload
   *
   * @throws ServiceError `forbidden` without `write`, or for a file that must be there and may not be looked at; what `RandomUpload.open` throws
   */
  async openRandomUpload(path: VirtualPath, options: RandomUploadOptions): Promise<RandomUpload> {
    try {
      // That the name must be free tells as well, but most of those who ask so (WinSCP) would only not overwrite.
      if (!options.create) this.#paths.requireVisible(path);
      return await RandomUpload.open(this.#paths, path, await this.#writableFile(path), options);
    } catch (error) {
      throw this.#paths.reported(eventIds.openFailed, path, error);
    }
  }

  /** Sets times and mode; event `sftpAttributesSet` or `sftpAttributesSetFailed`. @see setAttributes */
  setAttributes(path: VirtualPath, change: AttributeChange): Promise<void> {
    return setAttributes(this.#paths, path, change);
  }

  /** Renames a file that is being uploaded; event `fileRenamed` or `renameFailed`. @see renameUpload */
  renameUpload(upload: RandomUpload, to: VirtualPath, options: MoveOptions): Promise<void> {
    return renameUpload(this.#paths, upload, to, options);
  }

  /** Removes a file that is being uploaded, and the old one of its name; event `fileRemoved` or `fileRemovalFailed`. */
  async removeUpload(upload: RandomUpload): Promise<void> {
    if (!this.#paths.entryAt(upload.path)) return removeUpload(this.#paths, upload);
    return onceDone(this.deleteFile(upload.path), () => upload.remove());
  }

  /** Deletes a file; event `fileRemoved` or `fileRemovalFailed`. @see deleteFile */
  deleteFile(path: VirtualPath, verify?: (current: Entry) => void): Promise<void> {
    return deleteFile(this.#paths, path, verify);
  }

  /** Deletes a folder that is empty; event `folderRemoved` or `folderRemovalFailed`. @see deleteEmptyFolder */
  deleteEmptyFolder(path: VirtualPath): Promise<void> {
    return deleteEmptyFolder(this.#paths, path);
  }

  /** Deletes a folder with all it holds; event `folderRemoved` or `folderRemovalFailed`. @see deleteFolder */
  deleteFolder(path: VirtualPath, options: FolderDeletion = {}): Promise<LeftBehind[]> {
    return deleteFolder(this.#paths, path, options);
  }

  /** Copies a file; events `copyStarted` and `fileCopied` (on disk), or `copyFailed`. @see copyFile */
  copyFile(from: VirtualPath, to: VirtualPath, options: CopyOptions): Promise<{ created: boolean }> {
    return copyFile(this.#paths, from, to, options);
  }

  /** Moves a file or a folder; events `fileMoveStarted` or `folderMoveStarted`, then `fileRenamed` or `folderRenamed` (on disk), or `renameFailed`. @see moveEntry */
  move(from: VirtualPath, to: VirtualPath, options: MoveOptions): Promise<{ created: boolean }> {
    return moveEntry(this.#paths, from, to, options);
  }

  /** Reports that a change of properties was denied: `propertiesDenied`, on disk when the promise resolves. */
  async emitPropertiesDenied(path: VirtualPath, details: string): Promise<void> {
    await this.environment.events.emitDurable(this.#paths.draft(eventIds.propertiesDenied, path, { details }));
  }

  /**
   * The locks of a path, for a client that takes and ends them.
   *
   * @throws ServiceError `forbidden` without `write`
   */
  lockable(path: VirtualPath): LockedPath {
    this.#paths.require(path, 'lock');
    return new LockedPath(this.#paths, path);
  }

  /** The same files for a client that has just taken one more lock. */
  withToken(token: string): AccountFiles {
    return new AccountFiles(this.account, this.environment, this.#paths.context, this.#paths.locks.withToken(token), this.mounts);
  }

  /** The locks that cover a path, for whoever may look at it. */
  locksAt(path: VirtualPath): LockedPath {
    this.#paths.require(path, 'seeLocks');
    return new LockedPath(this.#paths, path);
  }

  /** Free and used bytes. @see spaceAt */
  async space(path: VirtualPath): Promise<Space> {
    this.#paths.require(path, 'look');
    return spaceAt(this.#paths, path);
  }

  /** Runs a custom trigger on members of a folder: one event `triggerRun` with the members that exist. */
  async runTrigger(folder: VirtualPath, name: string, members: readonly string[]): Promise<void> {
    this.environment.events.assertWritable();
    await this.emitDurable(eventIds.triggerRun, folder, { name, files: members });
  }

  /** Real path of a virtual one, links not resolved. @throws ServiceError `not-found` for a purely virtual folder */
  realPath(path: VirtualPath): string {
    return this.#paths.real(this.mounts.locate(path));
  }

  emit(id: number, path: VirtualPath, data: Record<string, unknown> = {}): void {
    this.#paths.emit(id, path, data);
  }

  /** The meaning of a fault, with the event of the failed operation emitted. */
  reported(id: number, path: VirtualPath, error: unknown): ServiceError {
    return this.#paths.reported(id, path, error);
  }

  /** Like `emit`; the event is on disk when the promise resolves. For changes. */
  async emitDurable(id: number, path: VirtualPath, data: Record<string, unknown> = {}): Promise<void> {
    await this.#paths.emitDurable(id, path, data);
  }
}
