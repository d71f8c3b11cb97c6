import { closeSync, fstatSync, read, type Stats } from 'node:fs';
import { promisify } from 'node:util';
import { type Account, defaultGroupUuid, effectiveAccount } from '../accounts/account.ts';
import { InspectionRules, noInspections } from '../accounts/inspection-rules.ts';
import { Permissions } from '../accounts/permissions.ts';
import type { EventComponent, ServiceEvent } from '../events/event.ts';
import { isServiceError, ServiceError } from '../lib/errors.ts';
import { isWithin, memberPath, parseVirtualPath, pathFromSegments, pathSegments, type VirtualPath } from '../lib/virtual-path.ts';
import { AccountFiles } from './account-files.ts';
import { openFile } from './disk/opened.ts';
import type { Entry } from './entry.ts';
import type { FilesEnvironment } from './files-environment.ts';
import { LockGuard } from './locks/lock-guard.ts';
import { Mounts } from './mounts.ts';

const readBytes = promisify(read);

/** The file of an event, opened for reading. Clients may change or replace the file while it is open. */
export class OpenedForwardedFile {
  readonly #fd: number;
  readonly #stats: Stats;

  constructor({ fd, stats }: { fd: number; stats: Stats }) {
    this.#fd = fd;
    this.#stats = stats;
  }

  get sizeBytes(): number {
    return this.#stats.size;
  }

  async read(buffer: Buffer, position: number): Promise<number> {
    const { bytesRead } = await readBytes(this.#fd, buffer, 0, buffer.length, position);
    return bytesRead;
  }

  isUnchanged(): boolean {
    const { size, mtimeMs } = fstatSync(this.#fd);
    return size === this.#stats.size && mtimeMs === this.#stats.mtimeMs;
  }

  /** Whether an entry describes this file, with the same size and modification time. */
  is({ inode, sizeBytes, modifiedMs }: Entry): boolean {
    return inode === this.#stats.ino && sizeBytes === this.#stats.size && modifiedMs === this.#stats.mtimeMs;
  }

  close(): void {
    closeSync(this.#fd);
  }
}

const noGroups = new Map([[defaultGroupUuid, { enabled: true }]]);

type AccountFolders = Pick<Account, 'homeFolderPath' | 'virtualFolders'>;

/** The paths of the file that an event is about. @throws ServiceError `not-found` if the event is not about a file */
function eventPaths({ data }: ServiceEvent): { path: VirtualPath; realPath: string } {
  const { path, real_path: realPath } = data;
  if (typeof path !== 'string' || typeof realPath !== 'string' || realPath === '')
    throw new ServiceError('not-found', 'The event does not refer to a file.');
  return { path: parseVirtualPath(path), realPath };
}

/**
 * Derives the account's folder from the paths in an event. Below that folder, the virtual and the real path of the file are the same: for
 * `/in/a.csv` and `/data/alice/in/a.csv`, the folder is `/data/alice`.
 */
function deriveFolders(event: ServiceEvent): AccountFolders {
  const { path, realPath } = eventPaths(event);
  const [names, realNames] = [pathSegments(path), realPath.split('/')];
  let same = 0;
  while (same < names.length && names.at(-1 - same) === realNames.at(-1 - same)) same++;
  const [mount, realMount] = [pathFromSegments(names.slice(0, names.length - same)), realNames.slice(0, realNames.length - same).join('/')];
  return { homeFolderPath: realMount, virtualFolders: mount === '/' ? [] : [{ path: mount, realPath: realMount }] };
}

/** Opens the file of an event without a running service. @throws ServiceError `not-found` if the file was removed or moved */
export function openForwarded(event: ServiceEvent, excludedPaths: readonly string[]): OpenedForwardedFile {
  const { roots } = new Mounts(deriveFolders(event), excludedPaths);
  return new OpenedForwardedFile(openFile(roots, eventPaths(event).realPath));
}

interface ForwardedFilesDependencies {
  environment: FilesEnvironment;
  findAccount: (name: string) => Account | undefined;
}

/**
 * The files of events, for handlers that forward them. The operator decides which files are forwarded, so the rights of the accounts are
 * ignored. Locks, retention and the trash still apply.
 */
export class ForwardedFiles {
  readonly #dependencies: ForwardedFilesDependencies;

  constructor(dependencies: ForwardedFilesDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Opens the file of an event.
   *
   * @param movedTo segments of the current path, if the file was moved
   * @throws ServiceError `not-found` if the file was removed
   */
  open(event: ServiceEvent, movedTo?: readonly string[]): OpenedForwardedFile {
    const { roots, realPath } = this.#places(event, movedTo && pathFromSegments(movedTo));
    return new OpenedForwardedFile(openFile(roots, realPath));
  }

  #places(event: ServiceEvent, movedTo: VirtualPath | undefined): { roots: Mounts['roots']; realPath: string } {
    const mounts = new Mounts(this.#account(event, ''), this.#dependencies.environment.excludedPaths);
    if (movedTo === undefined) return { roots: mounts.roots, realPath: eventPaths(event).realPath };
    const location = mounts.locate(movedTo);
    if (location.kind !== 'real') throw new ServiceError('not-found', 'Path not found.');
    return { roots: mounts.roots, realPath: location.realPath };
  }

  /** Deletes the file of an event. @throws ServiceError `exists` if the file was changed or replaced meanwhile */
  async remove(event: ServiceEvent, file: OpenedForwardedFile, component: EventComponent): Promise<void> {
    await this.#files(event, 'allow-delete-file', component).deleteFile(eventPaths(event).path, (entry) => requireSame(file, entry));
  }

  /**
   * Moves the file of an event, unless it was changed or replaced meanwhile. Creates missing folders. If the name is taken, adds a number.
   *
   * @param segments segments of the new path
   * @throws ServiceError after emitting `renameFailed`; `fixed-folder`, without an event, if the real folder of the new path is unknown
   */
  async move(event: ServiceEvent, file: OpenedForwardedFile, segments: readonly string[], component: EventComponent): Promise<void> {
    const { path } = eventPaths(event);
    const to = pathFromSegments(segments);
    const files = this.#files(event, 'allow-rename', component);
    const [known] = files.account.virtualFolders;
    if (files.account.method.uuid === '' && known && !isWithin(to, known.path))
      throw new ServiceError('fixed-folder', `The real path of ${to} is unknown, because the account is not in the configuration.`);
    let folder = '/' as VirtualPath;
    for (const name of segments.slice(0, -1)) {
      folder = memberPath(folder, name);
      if (!files.inspect(folder)) await files.createFolder(folder).catch(ignoreExisting);
    }
    const verify = (entry: Entry) => requireSame(file, entry);
    await files.move(path, to, { mayReplace: 'nothing', acrossKinds: false, mayNumber: true, verify });
  }

  #files(event: ServiceEvent, right: string, component: EventComponent): AccountFiles {
    const { environment } = this.#dependencies;
    const account = this.#account(event, right);
    const context = { account: event.account, component, group: account.groupUuid };
    return new AccountFiles(account, environment, context, new LockGuard(environment.locks, account.uuid));
  }

  /**
   * The account of the event, with only these rights: to read, to list, to create, and `right`. If the folders of the account are known
   * only from the event, the UUID of its authentication method is empty.
   */
  #account(event: ServiceEvent, right: string): Account {
    const { name, uuid } = event.account;
    const { path, realPath } = eventPaths(event);
    const found = this.#dependencies.findAccount(name);
    const location = found && new Mounts(found, []).locate(path);
    const known = location?.kind === 'real' && location.realPath === realPath ? found : undefined;
    const general = ['allow-read', 'allow-list', 'allow-create-folder', 'allow-create-file', ...(right === '' ? [] : [right])];
    return {
      ...(known ?? {
        ...effectiveAccount(name, { uuid, home_folder_path: '/' }, noGroups, { uuid: '', type: '' }),
        ...deriveFolders(event),
      }),
      permissions: new Permissions({ general, rules: [] }, name),
      inspections: new InspectionRules(noInspections, name),
      onNameTaken: 'number',
      retainDays: 0,
    };
  }
}

function requireSame(file: OpenedForwardedFile, entry: Entry): void {
  if (!file.is(entry)) throw new ServiceError('exists', 'The file has been changed or replaced since it was sent.');
}

function ignoreExisting(error: unknown): void {
  if (!isServiceError(error, 'exists', 'not-durable')) throw error;
}
