import { createHash, randomBytes } from 'node:crypto';
import { constants, lstatSync, mkdirSync, readdirSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import type { EventContext } from '../../events/event.ts';
import { closeAsync, fsyncAsync, openAsync, writeAsync } from '../../lib/disk/descriptors.ts';
import { isServiceError, ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import { parseVirtualPath, type VirtualPath } from '../../lib/virtual-path.ts';
import { syncOpenedFolder } from '../disk/folder-sync.ts';
import { type OpenedFolder, openFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { inodeAt, isTemporaryName, removeAbandoned, temporaryName, trashName } from '../disk/temporaries.ts';
import { removeAll } from '../operations/folder-remover.ts';

export interface Trashed {
  readonly id: string;
  /** The former virtual path. */
  readonly path: VirtualPath;
  /** The former real path, with the symbolic links in the path of its folder resolved. */
  readonly realPath: string;
  /** Size of the file, or of all files in the folder. */
  readonly sizeBytes: number;
  readonly isFolder: boolean;
  /** Whether the item was replaced by other content. */
  readonly isReplaced: boolean;
  /** Unix time in milliseconds. */
  readonly deletedMs: number;
  /** The client and component that deleted the item. */
  readonly origin: EventContext;
}

/**
 * The reasons for which an item is permanently deleted. When the deletion begins, the reason is appended to the name of the item's content.
 */
export const endReasons = ['person', 'age', 'quota'] as const;
export type EndReason = (typeof endReasons)[number];

const idPattern = /^[0-9a-f]{32}$/;
const recordPattern = /^[0-9a-f]{32}\.json$/;
const endedPattern = /^([0-9a-f]{32})\.(person|age|quota)$/;

/** Maximum size of a record. A larger file is not treated as a record. */
const maxRecordBytes = 64 * 1024;

/** Number of members after which the event loop can serve other requests. */
const maxAtOnce = 256;

export function newTrashId(): string {
  return randomBytes(16).toString('hex');
}

/**
 * The trash of one account in one root. One rename moves the content of an item here; the ID of the item is the new name of the content.
 * The record of the item is beside the content. An item is in the trash only while its content has this name. Both restoring and deleting
 * rename the content, so only one of them can succeed.
 */
export class TrashFolder {
  readonly opened: OpenedFolder;
  readonly #roots: RealRoots;

  private constructor(roots: RealRoots, opened: OpenedFolder) {
    this.#roots = roots;
    this.opened = opened;
  }

  /** Opens the trash if there is one. @param root one of the paths of `roots` */
  static open(roots: RealRoots, root: string, accountUuid: string): TrashFolder | undefined {
    const path = `${root}/${trashName}/${folderName(accountUuid)}`;
    try {
      const opened = openFolder(roots, path);
      if (opened.realPath === path) return new TrashFolder(roots, opened);
      opened.close();
      throw new ServiceError('never-allowed', 'The trash is a link, which the service does not follow.');
    } catch (error) {
      if (isServiceError(error, 'not-found')) return undefined;
      throw error;
    }
  }

  /** Opens the trash, and creates it if there is none. @throws ServiceError `never-allowed` if it is a symbolic link */
  static async make(roots: RealRoots, root: string, accountUuid: string): Promise<TrashFolder> {
    const known = TrashFolder.open(roots, root, accountUuid);
    if (known) return known;
    await makeMember(roots, root, trashName);
    await makeMember(roots, `${root}/${trashName}`, folderName(accountUuid));
    const made = TrashFolder.open(roots, root, accountUuid);
    if (!made) throw new ServiceError('unavailable', 'The trash cannot be created; try again.');
    return made;
  }

  /** A path to a member. The path stays bound to this folder, even if the folder is moved. */
  member(name: string): string {
    return this.opened.member(name);
  }

  /** Real path of the content of an item. */
  contentPath(id: string): string {
    return `${this.opened.realPath}/${id}`;
  }

  /** Writes the record of an item before its content is moved here. The record is on disk when the promise resolves. */
  async record({ id, ...trashed }: Trashed): Promise<void> {
    const fd = await openAsync(this.member(`${id}.json`), 'wx', 0o600);
    try {
      const bytes = Buffer.from(JSON.stringify(trashed));
      for (let done = 0; done < bytes.length; ) done += (await writeAsync(fd, bytes, done)).bytesWritten;
      await fsyncAsync(fd);
      await syncOpenedFolder(this.opened.fd);
    } catch (error) {
      this.forget(id);
      throw error;
    } finally {
      await closeAsync(fd);
    }
  }

  /** If the folder of an item was moved while the item was put into the trash, corrects the paths in the record. */
  correct(id: string, place: Pick<Trashed, 'path' | 'realPath'>): void {
    const trashed = this.#read(id);
    if (!trashed) return;
    const temporary = this.member(temporaryName());
    writeFileSync(temporary, JSON.stringify({ ...trashed, id: undefined, ...place }), { mode: 0o600, flag: 'wx' });
    renameSync(temporary, this.member(`${id}.json`));
  }

  /** Removes the record of an item whose content is gone. If that fails, `removeStrays` removes the record later. */
  forget(id: string): void {
    try {
      unlinkSync(this.member(`${id}.json`));
    } catch {
      // A record without content is no item.
    }
  }

  /** The record of an item, if its content is in the trash. */
  find(id: string): Trashed | undefined {
    return idPattern.test(id) && this.#hasContent(id) ? this.#read(id) : undefined;
  }

  /** All items in the trash, oldest first. */
  async list(): Promise<Trashed[]> {
    const found: Trashed[] = [];
    let seen = 0;
    for (const name of readdirSync(this.member('.'))) {
      if (++seen % maxAtOnce === 0) await new Promise(setImmediate);
      const trashed = recordPattern.test(name) ? this.find(name.slice(0, -5)) : undefined;
      if (trashed) found.push(trashed);
    }
    return found.sort((a, b) => a.deletedMs - b.deletedMs);
  }

  /** Renames the content of an item, so that only this caller deletes it. @returns false if the content is no longer there */
  claim(id: string, reason: EndReason): boolean {
    try {
      renameSync(this.member(id), this.member(`${id}.${reason}`));
      return true;
    } catch (error) {
      if (systemErrorCode(error) === 'ENOENT') return false;
      throw error;
    }
  }

  async removeClaimed(id: string, reason: EndReason): Promise<void> {
    if (await removeAll(this.#roots, this.contentPath(`${id}.${reason}`))) this.forget(id);
  }

  /** The items that were claimed but not deleted, because the process was killed. @param beforeMs only items claimed before this time */
  interrupted(beforeMs: number): { trashed: Trashed | undefined; id: string; reason: EndReason }[] {
    return readdirSync(this.member('.')).flatMap((name) => {
      const [, id, reason] = endedPattern.exec(name) ?? [];
      if (id === undefined || this.#changedAfter(name, beforeMs)) return [];
      return [{ trashed: this.#read(id), id, reason: reason as EndReason }];
    });
  }

  /** Removes files that killed processes have left: old records without content, and temporary files. */
  removeStrays(beforeMs: number, nowMs: number): void {
    const names = new Set(readdirSync(this.member('.')));
    const hasContent = (id: string) => [id, ...endReasons.map((reason) => `${id}.${reason}`)].some((name) => names.has(name));
    for (const name of names) {
      if (isTemporaryName(name)) removeAbandoned(this.member(name), nowMs);
      if (recordPattern.test(name) && !hasContent(name.slice(0, -5)) && !this.#changedAfter(name, beforeMs)) this.forget(name.slice(0, -5));
    }
  }

  close(): void {
    this.opened.close();
  }

  #changedAfter(name: string, timeMs: number): boolean {
    const stats = lstatSync(this.member(name), { throwIfNoEntry: false });
    return !stats || stats.ctimeMs > timeMs;
  }

  #hasContent(id: string): boolean {
    return lstatSync(this.member(id), { throwIfNoEntry: false }) !== undefined;
  }

  #read(id: string): Trashed | undefined {
    try {
      const flag = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
      const member = this.member(`${id}.json`);
      const stats = lstatSync(member);
      if (!stats.isFile() || stats.size > maxRecordBytes) return undefined;
      const trashed = parseRecord(id, JSON.parse(readFileSync(member, { encoding: 'utf8', flag: flag as unknown as string })));
      // If a process was killed before it replaced the file, the content here is only a second hard link to the existing file. Such an
      // item is not in the trash.
      if (trashed?.isReplaced && inodeAt(trashed.realPath) === inodeAt(this.member(id))) return undefined;
      return trashed;
    } catch {
      // Another process has restored or deleted the item, or the service did not write the file.
      return undefined;
    }
  }
}

function parseRecord(id: string, value: unknown): Trashed | undefined {
  if (!isObject(value) || !isObject(value.origin)) return undefined;
  const { path, realPath, sizeBytes, isFolder, isReplaced, deletedMs, origin } = value;
  if (typeof path !== 'string' || typeof realPath !== 'string') return undefined;
  if (typeof sizeBytes !== 'number' || typeof deletedMs !== 'number' || typeof isFolder !== 'boolean') return undefined;
  return {
    id,
    path: parseVirtualPath(path),
    realPath,
    sizeBytes,
    isFolder,
    isReplaced: isReplaced === true,
    deletedMs,
    origin: origin as unknown as EventContext,
  };
}

/** The name of an account's trash folder. It is a hash, because the UUID of an account may be any text. */
function folderName(accountUuid: string): string {
  return createHash('sha256').update(accountUuid).digest('hex').slice(0, 32);
}

async function makeMember(roots: RealRoots, path: string, name: string): Promise<void> {
  const folder = openFolder(roots, path);
  try {
    if (folder.realPath !== path) throw new ServiceError('never-allowed', 'The trash is a link, which the service does not follow.');
    mkdirSync(folder.member(name), { mode: 0o700 });
    await syncOpenedFolder(folder.fd);
  } catch (error) {
    if (systemErrorCode(error) !== 'EEXIST') throw error;
  } finally {
    folder.close();
  }
}

/** Removes a file, if it exists. */
export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if (systemErrorCode(error) !== 'ENOENT') throw error;
  }
}
