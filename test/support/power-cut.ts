import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SystemCall } from './strace.ts';

/** A file or folder, independent of its names. */
interface Inode {
  isFolder: boolean;
}

/** A change. Until a sync makes it durable, it may or may not survive a power cut. */
export interface Change {
  /** Positions in the trace: `at` is where the change was made, `lastsFrom` is where it becomes durable. */
  at: number;
  lastsFrom: number;
  what: string;
  kind: { inode: Inode; offset: number; bytes: Buffer } | { inode: Inode; size: number } | { entries: Entry[]; unsynced: Set<Inode> };
}

/** A name that is created, changed or (without `inode`) removed in a folder. */
interface Entry {
  folder: Inode;
  name: string;
  inode: Inode | undefined;
}

interface Descriptor {
  inode: Inode;
  offset: number;
  appends: boolean;
}

/** The content of the disk in one of the states that a power cut may leave. */
interface DiskState {
  entries: Map<Inode, Map<string, Inode>>;
  contents: Map<Inode, Buffer>;
}

/**
 * A model of the disk below one folder, which the system calls of one process change. It relies only on the promises of POSIX: content is
 * on disk after fsync or fdatasync of its file, and a name after fsync of its folder. Everything else may be written in any order. A rename
 * is done completely or not at all. So after a power cut, any set of unsynced changes may be on disk (as in ALICE: Pillai et al., OSDI
 * 2014).
 */
export class TracedDisk {
  readonly #root: Inode = { isFolder: true };
  readonly #path: string;
  readonly #changes: Change[] = [];
  /** The state of the disk that the process sees. */
  readonly #now: DiskState = { entries: new Map([[this.#root, new Map()]]), contents: new Map() };
  readonly #descriptors = new Map<number, Descriptor>();
  /** Positions in the trace at which replies were sent, with their statuses. */
  readonly answers: { at: number; status: number }[] = [];

  /** @param path path of the folder, which is empty when the process starts */
  constructor(path: string, calls: readonly SystemCall[]) {
    this.#path = path;
    for (const call of calls) this.#take(call);
  }

  /** Returns the positions, from a given one on, at which a power cut can make a difference. */
  cuts(from: number): number[] {
    const places = [...this.#changes.flatMap(({ at, lastsFrom }) => [at, lastsFrom]), ...this.answers.map(({ at }) => at)];
    return [...new Set(places)].filter((at) => at >= from && at !== Number.POSITIVE_INFINITY).sort((a, b) => a - b);
  }

  /** Returns the changes that a power cut at a position may lose. */
  unsyncedAt(cut: number): Change[] {
    return this.#changes.filter(({ at, lastsFrom }) => at <= cut && lastsFrom > cut);
  }

  /**
   * Writes one of the possible states after a power cut to a real folder.
   *
   * @param isKept returns whether an unsynced change reached the disk; 'torn' writes half of its content
   */
  writeState(folder: string, cut: number, isKept: (change: Change) => boolean | 'torn'): void {
    const state: DiskState = { entries: new Map([[this.#root, new Map()]]), contents: new Map() };
    for (const change of this.#changes) {
      if (change.at > cut) break;
      const kept = change.lastsFrom <= cut || isKept(change);
      if (kept !== false) apply(state, change, kept === 'torn');
    }
    writeFolder(state, this.#root, folder, (content) =>
      // The record of uploads contains real paths.
      content.includes(this.#path) ? Buffer.from(content.toString('latin1').replaceAll(this.#path, folder), 'latin1') : content,
    );
  }

  #take({ name, args, result, from, to }: SystemCall): void {
    const [first = '', second = '', third = ''] = args;
    const add = (what: string, kind: Change['kind']) => {
      const change = { at: to, lastsFrom: Number.POSITIVE_INFINITY, what: `${name} ${what}`, kind };
      this.#changes.push(change);
      apply(this.#now, change, false);
    };
    const enter = (what: string, ...entries: Entry[]) => add(what, { entries, unsynced: new Set(entries.map(({ folder }) => folder)) });
    switch (name) {
      case 'openat':
        this.#open(String(second), String(third), result, enter, add);
        return;
      case 'close':
        this.#descriptors.delete(descriptorOf(first));
        return;
      case 'mkdir': {
        const at = this.#find(String(first));
        if (at) enter(String(first), { ...at, inode: { isFolder: true } });
        return;
      }
      case 'link': {
        const [source, target] = [this.#find(String(first)), this.#find(String(second))];
        if (source && target) enter(String(second), { ...target, inode: source.inode });
        return;
      }
      case 'rename': {
        const [source, target] = [this.#find(String(first)), this.#find(String(second))];
        if (source && target) enter(`${first} ${second}`, { ...source, inode: undefined }, { ...target, inode: source.inode });
        return;
      }
      case 'unlink':
      case 'rmdir': {
        const at = this.#find(String(first));
        if (at) enter(String(first), { ...at, inode: undefined });
        return;
      }
      case 'ftruncate': {
        const inode = this.#descriptors.get(descriptorOf(first))?.inode;
        if (inode) add(String(first), { inode, size: Number(second) });
        return;
      }
      case 'fsync':
      case 'fdatasync': {
        const inode = this.#descriptors.get(descriptorOf(first))?.inode;
        if (inode) this.#sync(inode, from, to);
        return;
      }
      case 'write':
      case 'writev':
      case 'pwrite64':
        this.#write(String(first), second as Buffer, name === 'pwrite64' ? Number(args[3]) : undefined, result, to, add);
        return;
      default:
        throw new Error(`a traced call that the model does not know: ${name}`);
    }
  }

  #open(
    path: string,
    flags: string,
    descriptor: number,
    enter: (what: string, entry: Entry) => void,
    add: (what: string, kind: Change['kind']) => void,
  ): void {
    this.#descriptors.delete(descriptor);
    const at = path === this.#path ? { inode: this.#root } : this.#find(path);
    if (!at) return;
    let { inode } = at;
    if (!inode && flags.includes('O_CREAT')) {
      inode = { isFolder: false };
      enter(path, { ...(at as Entry), inode });
    } else if (inode && flags.includes('O_TRUNC')) add(path, { inode, size: 0 });
    if (inode) this.#descriptors.set(descriptor, { inode, offset: 0, appends: flags.includes('O_APPEND') });
  }

  #write(
    target: string,
    data: Buffer,
    position: number | undefined,
    written: number,
    at: number,
    add: (what: string, kind: Change['kind']) => void,
  ): void {
    const opened = this.#descriptors.get(descriptorOf(target));
    if (!opened) {
      const status = /^HTTP\/1\.1 ([2-5]\d\d) /.exec(data.toString('latin1', 0, 20))?.[1];
      if (status !== undefined) this.answers.push({ at, status: Number(status) });
      return;
    }
    const { inode, appends } = opened;
    const offset = position ?? (appends ? (this.#now.contents.get(inode)?.length ?? 0) : opened.offset);
    if (position === undefined) opened.offset = offset + written;
    add(target, { inode, offset, bytes: data.subarray(0, written) });
  }

  // The sync is certain to include only changes that were made before it began.
  #sync(inode: Inode, from: number, to: number): void {
    for (const change of this.#changes) {
      if (change.at >= from || change.lastsFrom <= to) continue;
      if ('entries' in change.kind) {
        change.kind.unsynced.delete(inode);
        if (change.kind.unsynced.size === 0) change.lastsFrom = to;
      } else if (change.kind.inode === inode) change.lastsFrom = to;
    }
  }

  #find(path: string): Entry | undefined {
    const byDescriptor = /^\/proc\/self\/fd\/(\d+)\/(.*)$/.exec(path);
    const base = byDescriptor ? this.#descriptors.get(Number(byDescriptor[1]))?.inode : this.#root;
    const below = byDescriptor?.[2] ?? (path.startsWith(`${this.#path}/`) ? path.slice(this.#path.length + 1) : undefined);
    if (!base || below === undefined) return undefined;
    const names = below.split('/').filter((name) => name !== '' && name !== '.');
    const last = names.pop();
    let folder: Inode | undefined = base;
    for (const name of names) folder = folder && this.#now.entries.get(folder)?.get(name);
    return folder && last !== undefined ? { folder, name: last, inode: this.#now.entries.get(folder)?.get(last) } : undefined;
  }
}

function descriptorOf(argument: Buffer | string): number {
  return Number.parseInt(String(argument), 10);
}

function apply(state: DiskState, { kind }: Change, isTorn: boolean): void {
  if ('entries' in kind) {
    for (const { folder, name, inode } of kind.entries) {
      const members = state.entries.get(folder) ?? new Map<string, Inode>();
      state.entries.set(folder, members);
      if (inode) members.set(name, inode);
      else members.delete(name);
    }
    return;
  }
  const before = state.contents.get(kind.inode) ?? Buffer.alloc(0);
  if ('size' in kind) {
    state.contents.set(kind.inode, resized(before, kind.size));
    return;
  }
  const bytes = isTorn ? kind.bytes.subarray(0, kind.bytes.length >> 1) : kind.bytes;
  const after = resized(before, Math.max(before.length, kind.offset + bytes.length));
  bytes.copy(after, kind.offset);
  state.contents.set(kind.inode, after);
}

// Bytes that were never written are read as zeros.
function resized(content: Buffer, size: number): Buffer {
  const result = Buffer.alloc(size);
  content.copy(result);
  return result;
}

function writeFolder(state: DiskState, inode: Inode, path: string, contentOf: (content: Buffer) => Buffer): void {
  mkdirSync(path, { recursive: true });
  for (const [name, member] of state.entries.get(inode) ?? []) {
    if (member.isFolder) writeFolder(state, member, join(path, name), contentOf);
    else writeFileSync(join(path, name), contentOf(state.contents.get(member) ?? Buffer.alloc(0)), { mode: 0o600 });
  }
}
