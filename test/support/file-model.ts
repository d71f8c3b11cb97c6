import type { Right } from '../../src/accounts/permissions.ts';

/** One operation of an HTTP client: a request, a folder command or a form. Paths are virtual paths. */
export interface Operation {
  kind:
    | 'put'
    | 'put-folder'
    | 'mkcol'
    | 'delete'
    | 'delete-folder'
    | 'get'
    | 'list'
    | 'copy'
    | 'move'
    | 'move-folder'
    | 'command-create'
    | 'command-ensure'
    | 'command-delete'
    | 'form-create'
    | 'form-delete'
    | 'form-upload';
  account: string;
  path: string;
  /** Destination of COPY and MOVE. */
  destination: string;
  overwrite: 'T' | 'F' | undefined;
  content: string;
}

/** The required reply of the service, and the events that it must emit for the operation's path. */
export interface Expected {
  status: number;
  events: number[];
  body?: string;
}

/** The rights of an account. If a path is below a prefix, the rights of the prefix apply, otherwise the general rights. */
export interface Rights {
  general: readonly Right[];
  below: Readonly<Record<string, readonly Right[]>>;
}

export const allRights: readonly Right[] = ['read', 'list', 'create-folder', 'write', 'rename', 'delete-file', 'delete-folder'];

const parentOf = (path: string) => path.slice(0, path.lastIndexOf('/')) || '/';
const isBelow = (path: string, folder: string) => path.startsWith(folder === '/' ? '/' : `${folder}/`) && path !== folder;

/**
 * A tree of files and folders in memory. It implements every operation as docs/spec/files.md and docs/spec/webdav.md describe it, so tests
 * use it as their reference.
 */
export class FileModel {
  /** Content by path; null for a folder. */
  readonly tree = new Map<string, string | null>([['/', null]]);
  readonly #accounts: Readonly<Record<string, Rights>>;

  constructor(accounts: Readonly<Record<string, Rights>>) {
    this.#accounts = accounts;
  }

  /** Executes an operation. Returns the required result. */
  apply(operation: Operation): Expected {
    const { kind, account, path } = operation;
    const may = (at: string, ...rights: Right[]) => this.#may(account, at, rights);
    const refused = (status: number, event: number): Expected => ({ status, events: [event] });
    switch (kind) {
      case 'put':
        return this.#put(operation, 201);
      case 'form-upload':
        return this.#put(operation, 303);
      case 'put-folder':
        return this.#createFolder(account, path, { done: 201, exists: 409 });
      case 'form-create':
        return this.#createFolder(account, path, { done: 303, exists: 409 });
      case 'mkcol':
        return this.#createFolder(account, path, { done: 201, exists: 405 });
      case 'command-create':
        return this.#asCommand(operation, () => this.#createFolder(account, path, { done: 200, exists: 422 }));
      case 'command-ensure':
        return this.#asCommand(operation, () => this.#createFolder(account, path, { done: 200, exists: this.#isFolder(path) ? 200 : 422 }));
      case 'delete':
        return this.#deleteFile(account, path, 307);
      case 'delete-folder':
        return this.#deleteFolder(account, path);
      case 'command-delete':
        return this.#asCommand(operation, () => this.#deleteMember(account, path));
      case 'form-delete': {
        const result = this.#deleteMember(account, path);
        return { ...result, status: result.status === 204 ? 303 : result.status };
      }
      case 'get': {
        if (!may(path, 'read')) return refused(403, 40035);
        const content = this.tree.get(path);
        if (content === undefined) return refused(404, 40035);
        return content === null ? refused(302, 40035) : { status: 200, events: [40004, 40039], body: content };
      }
      case 'list':
        if (!may(path, 'list')) return refused(403, 40014);
        if (!this.#isFolder(path)) return refused(404, 40014);
        return { status: 200, events: [40007], body: this.#members(path).join('\n') };
      case 'copy':
        return this.#copy(operation);
      case 'move':
      case 'move-folder':
        return this.#move(operation);
      default:
        return kind satisfies never;
    }
  }

  /** A folder command answers 200, or 422 for any fault. If the folder does not exist, clients that have any right for its path get 404. */
  #asCommand({ account, path }: Operation, action: () => Expected): Expected {
    const folder = parentOf(path);
    const rights = allRights.filter((right) => right !== 'rename');
    if (!this.#isFolder(folder) && rights.some((right) => this.#may(account, folder, [right]))) return { status: 404, events: [] };
    const { status, events } = action();
    return { status: status < 300 ? 200 : 422, events };
  }

  #may(account: string, path: string, rights: readonly Right[]): boolean {
    const { general, below } = this.#accounts[account] as Rights;
    const rule = Object.entries(below).find(([folder]) => isBelow(path, folder));
    return rights.every((right) => (rule?.[1] ?? general).includes(right));
  }

  #isFolder(path: string): boolean {
    return this.tree.get(path) === null;
  }

  #below(path: string): string[] {
    return [...this.tree.keys()].filter((other) => isBelow(other, path));
  }

  #members(path: string): string[] {
    return this.#below(path)
      .filter((other) => parentOf(other) === path)
      .map((other) => other.slice(other.lastIndexOf('/') + 1))
      .sort();
  }

  #put({ account, path, content }: Operation, done: number): Expected {
    if (!this.#may(account, path, ['write'])) return { status: 403, events: [40022] };
    if (!this.#isFolder(parentOf(path)) || this.#isFolder(path)) return { status: 409, events: [40022] };
    this.tree.set(path, content);
    return { status: done, events: [40021, 40017] };
  }

  #createFolder(account: string, path: string, status: { done: number; exists: number }): Expected {
    if (!this.#may(account, path, ['create-folder'])) return { status: 403, events: [40011] };
    if (!this.#isFolder(parentOf(path))) return { status: 409, events: [40011] };
    if (this.tree.has(path)) return { status: status.exists, events: [40030] };
    this.tree.set(path, null);
    return { status: status.done, events: [40010] };
  }

  #deleteMember(account: string, path: string): Expected {
    if (!this.#may(account, path, ['delete-file']) && !this.#may(account, path, ['delete-folder'])) return { status: 403, events: [] };
    return this.#isFolder(path) ? this.#deleteFolder(account, path) : this.#deleteFile(account, path, 409);
  }

  #deleteFile(account: string, path: string, ofFolder: number): Expected {
    if (!this.#may(account, path, ['delete-file'])) return { status: 403, events: [40013] };
    if (!this.tree.has(path)) return { status: 404, events: [40013] };
    if (this.#isFolder(path)) return { status: ofFolder, events: [40013] };
    this.tree.delete(path);
    return { status: 204, events: [40012] };
  }

  #deleteFolder(account: string, path: string): Expected {
    if (!this.#may(account, path, ['delete-folder'])) return { status: 403, events: [40027] };
    if (!this.#isFolder(path)) return { status: 404, events: [40027] };
    if (!this.#mayDeleteBelow(account, path)) return { status: 403, events: [40027] };
    this.#remove(path);
    return { status: 204, events: [40026] };
  }

  #mayDeleteBelow(account: string, path: string): boolean {
    return this.#below(path).every((member) => this.#may(account, member, [this.#isFolder(member) ? 'delete-folder' : 'delete-file']));
  }

  #remove(path: string): void {
    for (const member of this.#below(path)) this.tree.delete(member);
    this.tree.delete(path);
  }

  #copy({ account, path, destination, overwrite }: Operation): Expected {
    const refused = (status: number): Expected => ({ status, events: [40067] });
    if (!this.#may(account, path, ['read']) || !this.#may(account, destination, ['write'])) return refused(403);
    const exists = this.tree.has(destination);
    const isTold =
      [destination, parentOf(destination)].some((at) => this.#may(account, at, ['list'])) || this.#may(account, destination, ['read']);
    if (!isTold && overwrite === 'F') return refused(403);
    if (exists && overwrite === 'F') return refused(412);
    if (isNested(path, destination) || this.#isFolder(path)) return refused(403);
    const content = this.tree.get(path);
    if (content === undefined || content === null) return refused(404);
    if (!this.#isFolder(parentOf(destination))) return refused(409);
    if (this.#isFolder(destination)) return refused(409);
    this.tree.set(destination, content);
    return { status: exists && isTold ? 204 : 201, events: [40061, 40068] };
  }

  #move({ kind, account, path, destination, overwrite }: Operation): Expected {
    const refused = (status: number): Expected => ({ status, events: [40056] });
    if (!this.#may(account, path, ['rename']) || !this.#may(account, destination, ['rename'])) return refused(403);
    const exists = this.tree.has(destination);
    if (exists && overwrite === 'F') return refused(412);
    if (isNested(path, destination)) return refused(403);
    if (!this.tree.has(path)) return refused(404);
    const isFolder = this.#isFolder(path);
    if (isFolder !== (kind === 'move-folder')) return refused(isFolder ? 307 : 404);
    if (!this.#isFolder(parentOf(destination))) return refused(409);
    const carried = this.#below(path).map((member) => member.slice(path.length));
    if (carried.some((rest) => [path, destination].some((end) => !this.#may(account, end + rest, ['rename'])))) return refused(403);
    if (exists && isFolder !== this.#isFolder(destination)) return refused(409);
    if (exists && isFolder) {
      if (overwrite !== 'T') return refused(412);
      if (!this.#may(account, destination, ['delete-folder']) || !this.#mayDeleteBelow(account, destination)) return refused(403);
    } else if (exists && !this.#may(account, destination, ['write']) && !this.#may(account, destination, ['delete-file']))
      return refused(403);
    this.#remove(destination);
    for (const rest of ['', ...carried]) {
      this.tree.set(destination + rest, this.tree.get(path + rest) as string | null);
      this.tree.delete(path + rest);
    }
    return { status: exists ? 204 : 201, events: isFolder ? [40063, ...(exists ? [40026] : []), 40065] : [40062, 40055] };
  }
}

function isNested(from: string, to: string): boolean {
  return from === to || isBelow(to, from) || isBelow(from, to);
}
