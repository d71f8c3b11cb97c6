import { mkdirSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import type { Account } from '../accounts/account.ts';
import type { Right } from '../accounts/permissions.ts';
import type { EventContext, EventDraft } from '../events/event.ts';
import { ServiceError } from '../lib/errors.ts';
import { baseName, memberPath, parentPath, type VirtualPath } from '../lib/virtual-path.ts';
import { type Entry, entryOf, virtualEntry } from './entry.ts';
import { type FileDownload, startDownload } from './file-download.ts';
import type { FileScope, FilesEnvironment } from './file-scope.ts';
import { type FileUpload, startUpload, type UploadOptions } from './file-upload.ts';
import { readFolder } from './folder-reader.ts';
import { type LeftBehind, removeFile, removeTree, walkTree } from './folder-remover.ts';
import { type Location, type Mounts, mountsOf } from './mounts.ts';
import { changeInParent, lookAt, openFile, openFolder } from './opened.ts';
import { asServiceError } from './system-errors.ts';
import { isTemporaryName } from './temporaries.ts';

/** Members of a folder in batches, by name in code point order. */
export type EntryBatches = AsyncIterable<Entry[]>;

type MaybeRights = readonly [Right, ...Right[]];

/**
 * The one door to an account's files, whatever protocol asks: each method checks the permission, acts on
 * what it opened and verified, and emits the event. A permission is checked before the disk is touched, so
 * that a refusal tells nothing about what exists (decisions.md, "Permissions").
 *
 * All methods throw `ServiceError`; the failure event is emitted by then.
 */
export class AccountFiles implements FileScope {
  readonly account: Account;
  readonly mounts: Mounts;
  readonly environment: FilesEnvironment;
  readonly context: EventContext;
  readonly #startedMs: number;

  /** @param context who and which component, for the events */
  constructor(
    account: Account,
    environment: FilesEnvironment,
    context: EventContext,
    mounts = mountsOf(account, environment.excludedPaths),
  ) {
    this.account = account;
    this.environment = environment;
    this.context = context;
    this.mounts = mounts;
    this.#startedMs = environment.clock.nowMs();
  }

  /**
   * Looks at a path.
   *
   * @param rights any one of these is enough to be told
   * @returns undefined when nothing is there
   */
  look(path: VirtualPath, rights: MaybeRights = ['read', 'list', 'traverse']): Entry | undefined {
    this.#requireAny(path, rights);
    return this.#entryAt(path);
  }

  /** Reports a HEAD: 40005 for a file, 40036 for a folder. */
  noteHead(path: VirtualPath, isFolder: boolean): void {
    this.emit(isFolder ? 40036 : 40005, path);
  }

  /** Opens a file for reading; events 40004, then 40039, 40040 or 40018 when the download ends, or 40035. */
  openDownload(path: VirtualPath): FileDownload {
    return this.#orReport(40035, path, () => {
      this.#requireAll(path, ['read']);
      return startDownload(this, path, openFile(this.mounts.roots, this.realPath(path)));
    });
  }

  /** Lists a folder; event 40007, or 40014. With `traverse` alone only sub-folders are shown. */
  openListing(path: VirtualPath): EntryBatches {
    const listing = this.#orReport(40014, path, () => this.#listing(path));
    this.emit(40007, path);
    return listing;
  }

  /**
   * Lists a folder as part of a larger operation (ZIP), without an event of its own.
   *
   * @throws ServiceError `forbidden` without `list` or `traverse`
   */
  listQuietly(path: VirtualPath): EntryBatches {
    return this.#listing(path);
  }

  /** Opens a file as part of a larger operation (ZIP), without an event of its own. */
  openQuietly(path: VirtualPath): { fd: number; sizeBytes: number } {
    this.#requireAll(path, ['read']);
    const { fd, stats } = openFile(this.mounts.roots, this.realPath(path));
    return { fd, sizeBytes: stats.size };
  }

  /** Whether a file may be read; for archives, which skip what may not. */
  mayRead(path: VirtualPath): boolean {
    return this.account.permissions.allows(path, 'read');
  }

  /** Whether a folder may be listed whole; for archives. */
  mayList(path: VirtualPath): boolean {
    return this.account.permissions.allows(path, 'list');
  }

  /** Creates a folder; event 40010 (on disk when the promise resolves), 40030 when it exists, or 40011. */
  async createFolder(path: VirtualPath): Promise<void> {
    try {
      this.#requireAll(path, ['create-folder']);
      this.environment.events.assertWritable();
      const location = this.mounts.locate(path);
      if (location.isFixed) throw new ServiceError('exists', 'The folder already exists.');
      await changeInParent(this.mounts.roots, this.#writable(location), (member) => mkdirSync(member));
    } catch (error) {
      const meaning = asServiceError(error);
      this.emit(meaning.code === 'exists' ? 40030 : 40011, path, { details: meaning.message });
      throw meaning;
    }
    await this.emitDurable(40010, path);
  }

  /**
   * Begins an upload; event 40021 at once. The caller ends it with `commit` (40017) or `abort` (40022).
   */
  async openUpload(path: VirtualPath, options: UploadOptions = {}): Promise<FileUpload> {
    try {
      this.#requireAll(path, ['write']);
      this.environment.events.assertWritable();
      const location = this.mounts.locate(path);
      if (location.isFixed) throw new ServiceError('is-folder', 'A folder has this name.');
      return await startUpload(this, path, this.#writable(location), options);
    } catch (error) {
      const meaning = asServiceError(error);
      this.emit(40022, path, { details: meaning.message, metadata: options.metadata });
      throw meaning;
    }
  }

  /**
   * Deletes a file; event 40012 or 40013.
   *
   * @param verify runs with what the name means just before it is removed; throwing keeps the file
   */
  async deleteFile(path: VirtualPath, verify?: (current: Entry) => void): Promise<void> {
    try {
      this.#requireAll(path, ['delete-file']);
      const realPath = this.#removable(path);
      const current = this.#entryAt(path);
      if (current) verify?.(current);
      if (current?.isFolder) throw new ServiceError('is-folder', 'The path is a folder.');
      if (!current) throw new ServiceError('not-found', 'Path not found.');
      await removeFile(this.mounts.roots, realPath);
    } catch (error) {
      throw this.#reported(40013, path, error);
    }
    this.environment.quotas.forget(this.mounts.roots);
    await this.emitDurable(40012, path);
  }

  /**
   * Deletes a folder with all it holds; event 40026 or 40027. Every member's permission is checked before the
   * first removal.
   *
   * @returns what was left behind; empty when all is gone
   */
  async deleteFolder(path: VirtualPath, verify?: (current: Entry) => void): Promise<LeftBehind[]> {
    let left: LeftBehind[];
    try {
      this.#requireAll(path, ['delete-file', 'delete-folder']);
      const realPath = this.#removable(path);
      const current = this.#entryAt(path);
      if (!current?.isFolder) throw new ServiceError('not-found', 'Path not found.');
      verify?.(current);
      if (current.isLink) {
        await removeFile(this.mounts.roots, realPath);
        left = [];
      } else {
        left = await removeTree(this.mounts.roots, realPath, await this.#deletableFolders(path, realPath));
      }
    } catch (error) {
      throw this.#reported(40027, path, error);
    } finally {
      this.environment.quotas.forget(this.mounts.roots);
    }
    if (left.length > 0)
      await this.emitDurable(40027, path, { details: left.map((item) => `${item.relativePath}: ${item.message}`).slice(0, 100) });
    else await this.emitDurable(40026, path);
    return left;
  }

  /** Runs a custom trigger on members of a folder: one event 40043 with the members that exist. */
  async runTrigger(folder: VirtualPath, name: string, members: readonly string[]): Promise<void> {
    this.environment.events.assertWritable();
    await this.emitDurable(40043, folder, { name, files: members });
  }

  /** Real path of a virtual one, links not resolved. @throws ServiceError `not-found` for a purely virtual folder */
  realPath(path: VirtualPath): string {
    return this.#real(this.mounts.locate(path));
  }

  emit(id: number, path: VirtualPath, data: Record<string, unknown> = {}): void {
    this.environment.events.emit({ id, context: this.context, data: { ...this.#pathData(path), ...data } });
  }

  /** Like `emit`; the event is on disk when the promise resolves. For changes. */
  async emitDurable(id: number, path: VirtualPath, data: Record<string, unknown> = {}): Promise<void> {
    await this.environment.events.emitDurable(this.draft(id, path, data));
  }

  draft(id: number, path: VirtualPath, data: Record<string, unknown> = {}): EventDraft {
    return { id, context: this.context, data: { ...this.#pathData(path), ...data } };
  }

  #pathData(path: VirtualPath): Record<string, unknown> {
    const location = this.mounts.locate(path);
    const realPath = location.kind === 'real' ? location.realPath : '';
    return {
      path,
      real_path: realPath,
      file_name: baseName(path),
      directory_name: parentPath(path),
      real_file_name: realPath === '' ? '' : basename(realPath),
      real_directory_name: realPath === '' ? '' : dirname(realPath),
    };
  }

  #requireAll(path: VirtualPath, rights: MaybeRights): void {
    checkNotReserved(path);
    if (!this.account.permissions.allows(path, ...rights)) throw denied();
  }

  #requireAny(path: VirtualPath, rights: MaybeRights): void {
    checkNotReserved(path);
    if (!rights.some((right) => this.account.permissions.allows(path, right))) throw denied();
  }

  #orReport<T>(id: number, path: VirtualPath, action: () => T): T {
    try {
      return action();
    } catch (error) {
      throw this.#reported(id, path, error);
    }
  }

  #reported(id: number, path: VirtualPath, error: unknown): ServiceError {
    const meaning = asServiceError(error);
    this.emit(id, path, { details: meaning.message });
    return meaning;
  }

  #real(location: Location): string {
    if (location.kind === 'real') return location.realPath;
    if (location.kind === 'virtual') throw new ServiceError('forbidden', 'This folder only holds virtual folders.');
    throw new ServiceError('not-found', 'Path not found.');
  }

  #writable(location: Location): string {
    if (location.kind !== 'real') throw new ServiceError('forbidden', 'This folder only holds virtual folders.');
    return location.realPath;
  }

  #removable(path: VirtualPath): string {
    this.environment.events.assertWritable();
    const location = this.mounts.locate(path);
    if (location.isFixed) throw new ServiceError('forbidden', 'The home folder and virtual folders cannot be deleted.');
    return this.#real(location);
  }

  #entryAt(path: VirtualPath): Entry | undefined {
    const location = this.mounts.locate(path);
    if (location.kind === 'nowhere') return undefined;
    if (location.kind === 'virtual') return virtualEntry(baseName(path), this.#startedMs);
    const found = lookAt(this.mounts.roots, location.realPath);
    if (!found) return location.isFixed && path !== '/' ? virtualEntry(baseName(path), this.#startedMs) : undefined;
    const entry = entryOf(baseName(path), found.stats);
    return found.isLink ? { ...entry, isLink: true } : entry;
  }

  #listing(path: VirtualPath): EntryBatches {
    this.#requireAny(path, ['list', 'traverse']);
    const foldersOnly = !this.account.permissions.allows(path, 'list');
    const virtual = this.mounts.virtualMembers(path).flatMap((name) => this.#entryAt(memberPath(path, name)) ?? []);
    const location = this.mounts.locate(path);
    const batches = location.kind === 'virtual' ? onlyBatch(virtual) : this.#readBatches(path, this.#real(location), virtual);
    return foldersOnly ? onlyFolders(batches) : batches;
  }

  // The folder is opened here, so that what cannot be listed is refused before anything is sent.
  #readBatches(path: VirtualPath, realPath: string, virtualEntries: Entry[]): EntryBatches {
    const { roots } = this.mounts;
    const folder = openFolder(roots, realPath);
    const nowMs = this.environment.clock.nowMs();
    const onUnreadableName = (name: string) => this.emit(40028, path, { details: name });
    return (async function* () {
      try {
        yield* readFolder(folder, roots, { virtualEntries, onUnreadableName, nowMs });
      } finally {
        folder.close();
      }
    })();
  }

  async #deletableFolders(path: VirtualPath, realPath: string): Promise<string[]> {
    const folders: string[] = [];
    for await (const member of walkTree(this.mounts.roots, realPath)) {
      if (member.isFolder) folders.push(member.relativePath);
      if (member.relativePath === '') continue;
      const memberVirtualPath = `${path}/${member.relativePath}` as VirtualPath;
      if (!this.account.permissions.allows(memberVirtualPath, member.isFolder ? 'delete-folder' : 'delete-file')) throw denied();
    }
    return folders;
  }
}

function denied(): ServiceError {
  return new ServiceError('forbidden', 'Permission denied.');
}

// An upload's temporary file must not be read, replaced or removed by its name.
function checkNotReserved(path: VirtualPath): void {
  if (path.includes('.svc-') && path.split('/').some(isTemporaryName)) throw new ServiceError('name-reserved', 'This name is reserved.');
}

async function* onlyBatch(entries: Entry[]): AsyncGenerator<Entry[]> {
  yield entries;
}

async function* onlyFolders(batches: EntryBatches): AsyncGenerator<Entry[]> {
  for await (const batch of batches) yield batch.filter((entry) => entry.isFolder);
}
