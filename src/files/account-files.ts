import { mkdirSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Account } from '../accounts/account.ts';
import type { Right } from '../accounts/permissions.ts';
import type { EventContext } from '../events/event.ts';
import { eventIds } from '../events/event-ids.ts';
import { type Problem, ServiceError } from '../lib/errors.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { AccountPaths, denied } from './account-paths.ts';
import { Durability } from './disk/folder-sync.ts';
import { changeInParent, inspect, type OpenedFolder, openFile, openFolder, openFolderToPass } from './disk/opened.ts';
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
import type { Transfer } from './transfers.ts';
import { AccountTrash } from './trash/account-trash.ts';
import { beginUpload, findUpload, inspectUpload, type ResumableOptions } from './uploads/open-upload.ts';
import type { ResumableUpload } from './uploads/resumable-upload.ts';
import type { UploadRecord } from './uploads/upload-store.ts';

/** Room for files, in bytes. */
interface Space {
  availableBytes: number;
  usedBytes: number;
}

/**
 * An account's files, for every protocol: each method checks the permission, acts on what it opened and verified, and emits the event.
 * Permissions are checked before the disk is touched, so that a refusal reveals nothing (docs/spec/authentication.md#permissions).
 *
 * All methods throw `ServiceError`, after the event of the failure.
 */
export class AccountFiles {
  readonly account: Account;
  readonly mounts: Mounts;
  readonly environment: FilesEnvironment;
  readonly #paths: AccountPaths;

  /**
   * @param context client and component, for the events
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
   * @param operation any right that this needs is enough; `traverse` alone shows folders
   * @returns undefined when nothing exists there
   * @throws ServiceError `forbidden` without any such right; with `traverse` alone also for a file, or if nothing exists at the path
   */
  inspect(path: VirtualPath, operation: Operation = 'inspect'): Entry | undefined {
    this.#paths.require(path, operation);
    const entry = this.#paths.entryAt(path);
    const rights: readonly Right[] = neededRights[operation];
    const seesFiles = rights.some((right) => right !== 'traverse' && this.account.permissions.allows(path, right));
    if (!seesFiles && !entry?.isFolder) throw denied();
    return entry;
  }

  /** The account's own held upload to a path where nothing exists. Call `inspect` first, which checks the permission. */
  async inspectHeld(path: VirtualPath): Promise<Entry | undefined> {
    return (await ownHeldAt(this.#paths, path))?.entry;
  }

  /** Whether the account may know what exists at a path. A path that is not visible counts as absent, and replies are the same either way. */
  isVisible(path: VirtualPath): boolean {
    return this.#paths.isVisible(path);
  }

  /**
   * Refuses a request whose outcome would reveal what exists at a path that is not visible.
   *
   * @param failedId event of the operation that fails with it, if it has one
   * @throws ServiceError `forbidden`
   */
  requireVisible(path: VirtualPath, failedId: number | undefined): void {
    if (failedId === undefined) this.#paths.requireVisible(path);
    else this.#paths.orReport(failedId, path, () => this.#paths.requireVisible(path));
  }

  /** Refuses an operation in a missing folder, if the account may know that. @throws ServiceError `not-found` */
  requireFolder(path: VirtualPath): void {
    if (this.may(path, 'missFolder') && !this.#paths.entryAt(path)?.isFolder) throw new ServiceError('not-found', 'Path not found.');
  }

  /** Emits the event of a HEAD: `fileHead` or `folderHead`. */
  emitHead(path: VirtualPath, isFolder: boolean): void {
    this.events.emit(isFolder ? eventIds.folderHead : eventIds.fileHead, path);
  }

  /** Opens a file for reading; events `fileOpened`, then `fileDownloaded`, `downloadFailed` or `clientWentAway` when the download ends, or `openFailed`. */
  openDownload(path: VirtualPath): OpenDownload {
    return this.#paths.orReport(eventIds.openFailed, path, () => {
      this.#paths.require(path, 'readFile');
      return new OpenDownload(this.#paths, path, openFile(this.mounts.roots, this.realPath(path)));
    });
  }

  /** As `openDownload`, for content that is read at once: a small file may come from memory. */
  download(path: VirtualPath): FileDownload {
    return this.#paths.orReport(eventIds.openFailed, path, () => {
      this.#paths.require(path, 'readFile');
      const file = this.environment.fileCache.open(this.mounts.roots, this.realPath(path));
      return 'content' in file ? new KeptDownload(this.#paths, path, file) : new OpenDownload(this.#paths, path, file);
    });
  }

  /** Lists a folder, by name unless it is very large; event `folderOpened` or `listingFailed`. @see accountListing */
  openListing(path: VirtualPath, onUnreadableName?: () => void): EntryBatches {
    const listing = this.#paths.orReport(eventIds.listingFailed, path, () => accountListing(this.#paths, path, onUnreadableName));
    this.events.emit(eventIds.folderOpened, path);
    return listing;
  }

  /** Searches a folder tree for names; event `folderOpened` with `search`, or `listingFailed`. @see Search */
  search(path: VirtualPath, text: string): Search {
    const search = this.#paths.orReport(eventIds.listingFailed, path, () => new Search(this.#paths, path, text));
    this.events.emit(eventIds.folderOpened, path, { search: text });
    return search;
  }

  /** Lists a folder by name for a ZIP archive, without an event of its own. @throws ServiceError `forbidden` without `list` or `traverse` */
  listQuietly(path: VirtualPath): AsyncIterable<ListedEntry[]> {
    return sortedByName(accountListing(this.#paths, path));
  }

  /** Opens a file for a ZIP archive, without an event of its own. */
  openQuietly(path: VirtualPath): { fd: number; sizeBytes: number } {
    this.#paths.require(path, 'readFile');
    const { fd, stats } = openFile(this.mounts.roots, this.realPath(path));
    return { fd, sizeBytes: stats.size };
  }

  /**
   * Opens a folder to read many of its files for a ZIP archive, without an event of its own. The caller checks with `may` what may be read.
   *
   * @returns the folder, to be closed by the caller, and the names in it that belong to virtual folders; undefined if its files cannot
   *   be opened relative to it
   */
  openFolderQuietly(path: VirtualPath): { opened: OpenedFolder; foreignNames: ReadonlySet<string> } | undefined {
    const location = this.mounts.locate(path);
    if (!descriptorsNameFiles || location.kind !== 'real') return undefined;
    return { opened: openFolderToPass(this.mounts.roots, location.realPath), foreignNames: new Set(this.mounts.virtualMembers(path)) };
  }

  /** Shows a ZIP archive among the transfers under way. @param bytes returns the bytes sent so far @returns a function that removes it */
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

  /** Whether the account has the rights for an operation on a path. Does not throw, for callers that then offer less or skip something. */
  may(path: VirtualPath, operation: Operation): boolean {
    return this.#paths.may(path, operation);
  }

  /** The same files for one request, whose events carry `data` as well. */
  forRequest(data: Readonly<Record<string, unknown>>): AccountFiles {
    return new AccountFiles(this.account, this.environment, this.#paths.context, this.#paths.locks, this.mounts, data);
  }

  /**
   * Creates a folder; event `folderCreated` (on disk when the promise resolves), `folderAlreadyThere` or `folderCreationFailed`.
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

  /** Begins an upload; event `uploadStarted`. The caller ends it with `commit` (`fileUploaded`) or `abort` (`uploadFailed`). */
  openUpload(path: VirtualPath, options: UploadOptions = {}): Promise<FileUpload> {
    const open = async () => startUpload(this.#paths, path, await this.#writableFile(path), options);
    return this.#paths.orReportAsync(eventIds.uploadFailed, path, open, { metadata: options.metadata });
  }

  /**
   * Begins an upload that may take several requests; event `uploadStarted`. @see ResumableUpload
   *
   * @param onWanted called when a newer request wants the upload
   * @throws ServiceError as `openUpload`, and `too-many-requests` for an account with too many unfinished ones
   */
  beginResumable(path: VirtualPath, options: ResumableOptions, onWanted: () => void): Promise<ResumableUpload> {
    const realPath = () => this.#writableFile(path);
    const begin = async () => beginUpload(this.#paths, path, await realPath(), options, { realPath, onWanted });
    return this.#paths.orReportAsync(eventIds.uploadFailed, path, begin, { metadata: options.metadata });
  }

  /**
   * The account's unfinished upload of an ID, or a recently ended one, for this request alone.
   * @param onWanted called when a newer request wants the upload; without this function, the newer request waits
   * @throws ServiceError `not-found`, `unavailable` while the upload is being ended, `client-gone` when a newer request wants it already
   */
  resumable(id: string, onWanted?: () => void): Promise<ResumableUpload> {
    return findUpload(this.#paths, id, { realPath: (path) => this.#writableFile(path), onWanted });
  }

  /** The record of such an upload. Requests that bring content to it are ended first; other queries go on. @throws as `resumable` */
  inspectResumable(id: string): Promise<UploadRecord> {
    return inspectUpload(this.#paths, id);
  }

  /** The real path of a file to be written, once permissions and locks allow that. */
  async #writableFile(path: VirtualPath): Promise<string> {
    this.#paths.require(path, 'createFile');
    this.environment.events.assertWritable();
    const location = this.mounts.locate(path);
    if (location.isFixed) throw new ServiceError('is-folder', 'A folder has this name.');
    await this.#paths.requireUnlocked(path, 'content');
    return this.#paths.writable(location);
  }

  /**
   * Opens a file to write it in any order; event `uploadStarted`, or `openFailed`.
   *
   * @throws ServiceError `forbidden` without `write`, or for an existing file that is not visible; as `RandomUpload.open`
   */
  openRandomUpload(path: VirtualPath, options: RandomUploadOptions): Promise<RandomUpload> {
    return this.#paths.orReportAsync(eventIds.openFailed, path, async () => {
      // `exclusive` reveals existing files as well, but clients such as WinSCP use it only to overwrite nothing.
      if (!options.create) this.#paths.requireVisible(path);
      return RandomUpload.open(this.#paths, path, await this.#writableFile(path), options);
    });
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

  /** Deletes a file; event `fileRemoved` or `fileRemovalFailed`. @see deleteFile */
  deleteFile(path: VirtualPath, verify?: (current: Entry) => void): Promise<void> {
    return deleteFile(this.#paths, path, verify);
  }

  /** Deletes an empty folder; event `folderRemoved` or `folderRemovalFailed`. @see deleteEmptyFolder */
  deleteEmptyFolder(path: VirtualPath): Promise<void> {
    return deleteEmptyFolder(this.#paths, path);
  }

  /** Deletes a folder with all it holds; event `folderRemoved` or `folderRemovalFailed`. @see deleteFolder */
  deleteFolder(path: VirtualPath, options: FolderDeletion = {}): Promise<LeftBehind[]> {
    return deleteFolder(this.#paths, path, options);
  }

  /** The account's deleted and replaced files and folders. */
  get trash(): AccountTrash {
    return new AccountTrash(this.#paths, (path) => this.createFolder(path));
  }

  /** Copies a file; events `copyStarted` and `fileCopied` (on disk), or `copyFailed`. @see copyFile */
  copyFile(from: VirtualPath, to: VirtualPath, options: CopyOptions): Promise<{ created: boolean }> {
    return copyFile(this.#paths, from, to, options);
  }

  /** Copies a folder with all it holds. @see copyFolder */
  copyFolder(from: VirtualPath, to: VirtualPath, stop?: AbortSignal): AsyncGenerator<CopyProgress, readonly Problem[]> {
    return copyFolder(this.#paths, from, to, { createFolder: (path) => this.createFolder(path), stop });
  }

  /** Moves a file or a folder; events `fileMoveStarted` or `folderMoveStarted`, then `fileRenamed` or `folderRenamed` (on disk), or `renameFailed`. @see moveEntry */
  move(from: VirtualPath, to: VirtualPath, options: MoveOptions): Promise<{ created: boolean }> {
    return moveEntry(this.#paths, from, to, options);
  }

  /** Emits `propertiesDenied`, on disk when the promise resolves. */
  async emitPropertiesDenied(path: VirtualPath, details: string): Promise<void> {
    await this.environment.events.emitDurable(this.#paths.draft(eventIds.propertiesDenied, path, { details }));
  }

  /** The locks of a path, for a client that takes and releases them. @throws ServiceError `forbidden` without `write` */
  lockable(path: VirtualPath): LockedPath {
    this.#paths.require(path, 'lock');
    return this.#paths.lockedPath(path);
  }

  /** The same files for a client that has just taken one more lock. */
  withToken(token: string): AccountFiles {
    return new AccountFiles(this.account, this.environment, this.#paths.context, this.#paths.locks.withToken(token), this.mounts);
  }

  /** The locks that cover a path, for a client that may inspect it. */
  locksAt(path: VirtualPath): LockedPath {
    this.#paths.require(path, 'seeLocks');
    return this.#paths.lockedPath(path);
  }

  /**
   * Free and used bytes (RFC 4331): of the account's quota if it has one, and never more than the disk has.
   *
   * @throws ServiceError `not-found` for what is not on disk
   */
  async space(path: VirtualPath): Promise<Space> {
    this.#paths.require(path, 'inspect');
    const { roots } = this.mounts;
    const location = this.mounts.locate(path);
    const found = location.kind === 'real' ? inspect(roots, location.realPath) : undefined;
    if (location.kind === 'real' && !found) throw new ServiceError('not-found', 'Path not found.');
    const folder = found && openFolder(roots, found.stats.isDirectory() ? found.realPath : dirname(found.realPath));
    try {
      const disk = statfsSync(folder?.member('.') ?? this.mounts.accountRoots.paths[0] ?? '/');
      const freeBytes = disk.bavail * disk.bsize;
      const limitBytes = this.account.quotaSizeBytes;
      if (limitBytes === 0) return { availableBytes: freeBytes, usedBytes: (disk.blocks - disk.bfree) * disk.bsize };
      const usedBytes = await this.environment.quotas.usage(this.mounts.accountRoots).usedBytes();
      return { availableBytes: Math.max(0, Math.min(freeBytes, limitBytes - usedBytes)), usedBytes };
    } finally {
      folder?.close();
    }
  }

  /** Runs a custom trigger on members of a folder: one event `triggerRun` with the members that exist. */
  async runTrigger(folder: VirtualPath, name: string, members: readonly string[]): Promise<void> {
    this.environment.events.assertWritable();
    await this.events.emitDurable(eventIds.triggerRun, folder, { name, files: members });
  }

  /** The real path of a virtual one, links not resolved. @throws ServiceError `not-found` for a purely virtual folder */
  realPath(path: VirtualPath): string {
    return this.#paths.real(this.mounts.locate(path));
  }

  /** Emits events about these files. */
  get events(): Pick<AccountPaths, 'emit' | 'emitDurable' | 'reported'> {
    return this.#paths;
  }
}
