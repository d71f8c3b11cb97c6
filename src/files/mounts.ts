import { realpathSync } from 'node:fs';
import type { Account } from '../accounts/account.ts';
import { commonPaths } from '../accounts/narrowing.ts';
import type { Log } from '../lib/log.ts';
import { isWithin, pathSegments, type VirtualPath } from '../lib/virtual-path.ts';
import { RealRoots, resolvesTo } from './disk/real-roots.ts';

/** Logs once that the real folder of a virtual folder is missing. Logs this again only if the folder has existed in between. */
export class MissingFolders {
  readonly #log: Log;
  readonly #logged = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  missing(account: string, path: VirtualPath, realPath: string): void {
    if (this.#logged.has(realPath)) return;
    this.#logged.add(realPath);
    this.#log.warn('the real folder of a virtual folder is missing', { account, path, real_path: realPath });
  }

  found(realPath: string): void {
    this.#logged.delete(realPath);
  }
}

/** The target of a virtual path. */
export type Location =
  /** An absolute path on disk; symbolic links are not resolved. */
  | { kind: 'real'; realPath: string; isFixed: boolean }
  /** A folder that exists only as the parent of a virtual folder, such as `/shared` if only `/shared/docs` is configured. */
  | { kind: 'virtual'; isFixed: true }
  /** A path that cannot exist, because it is below a folder of kind `virtual`. */
  | { kind: 'nowhere'; isFixed: false };

/** The tree of an account's home folder and virtual folders (docs/spec/authentication.md#virtual-folders). */
export class Mounts {
  /** The real folders that may be reached. */
  readonly roots: RealRoots;
  readonly #excluded: readonly string[];
  /** Undefined if the client uses a token or shared link that reaches only parts of the account's files. */
  readonly #homeFolderPath: string | undefined;
  /** The mounts of the whole account, if this object covers only a part of it. */
  readonly #whole: Mounts | undefined;
  /** Ordered by the length of the virtual path, longest first. */
  readonly #virtualFolders: Account['virtualFolders'];

  /** @param excluded real folders that the account cannot reach, even if they are inside its roots */
  constructor(
    account: { homeFolderPath: string | undefined; virtualFolders: Account['virtualFolders'] },
    excluded: readonly string[],
    whole?: Mounts,
  ) {
    const { homeFolderPath, virtualFolders } = account;
    this.#homeFolderPath = homeFolderPath;
    this.#whole = whole;
    this.#excluded = excluded;
    this.#virtualFolders = virtualFolders.toSorted((a, b) => b.path.length - a.path.length);
    const folders = virtualFolders.map((folder) => folder.realPath);
    this.roots = new RealRoots(homeFolderPath === undefined ? folders : [homeFolderPath, ...folders], excluded);
  }

  /** Whether the real folders of all mounts exist. */
  get isComplete(): boolean {
    return this.roots.paths.length === this.#virtualFolders.length + (this.#homeFolderPath === undefined ? 0 : 1);
  }

  /** The roots of the whole account, even if a token or shared link reaches only parts of it. The quota and the trash use them. */
  get accountRoots(): RealRoots {
    return (this.#whole ?? this).roots;
  }

  /**
   * The mounts for a part of the account's files. Each of the paths has its place in the tree, like a virtual folder. No other file of the
   * account is reachable, not even through a symbolic link.
   */
  part(paths: readonly VirtualPath[]): Mounts {
    const folders = new Map<VirtualPath, string>();
    for (const path of paths) {
      const location = this.locate(path);
      if (location.kind === 'real' && this.#reaches(location.realPath)) folders.set(path, location.realPath);
      for (const { path: below, realPath } of this.virtualFoldersBelow(path)) folders.set(below, realPath);
    }
    const virtualFolders = [...folders].map(([path, realPath]) => ({ path, realPath }));
    return new Mounts({ homeFolderPath: undefined, virtualFolders }, this.#excluded, this);
  }

  /** Whether a path is inside the roots, or does not exist yet. */
  #reaches(path: string): boolean {
    const resolved = resolvedFolder(path);
    return resolved === undefined || this.roots.contains(resolved);
  }

  /** Locates a path. `isFixed` marks the home folder, virtual folders and their parents, which cannot be moved or removed. */
  locate(path: VirtualPath): Location {
    const isFixed = path === '/' || this.#virtualFolders.some((folder) => isWithin(folder.path, path));
    const mount = this.#virtualFolders.find((folder) => isWithin(path, folder.path));
    if (mount) return { kind: 'real', realPath: mount.realPath + path.slice(mount.path === '/' ? 0 : mount.path.length), isFixed };
    const home = this.#homeFolderPath;
    if (path === '/') return home === undefined ? { kind: 'virtual', isFixed: true } : { kind: 'real', realPath: home, isFixed };
    if (isFixed) return { kind: 'virtual', isFixed: true };
    if (home === undefined || this.#isBelowVirtualParent(path)) return { kind: 'nowhere', isFixed: false };
    return { kind: 'real', realPath: home + path, isFixed };
  }

  /**
   * Whether the configuration names a folder at a path. Such a folder is shown even if it is missing on disk. In contrast, a path that only
   * a token or shared link names is not shown if it is missing.
   */
  isConfigured(path: VirtualPath): boolean {
    return (this.#whole ?? this).locate(path).isFixed;
  }

  /** The virtual path of a root. @param root one of the paths of `accountRoots` */
  virtualRoot(root: string): VirtualPath {
    if (this.#whole) return this.#whole.virtualRoot(root);
    return this.#virtualFolders.find(({ realPath }) => resolvesTo(realPath, root))?.path ?? ('/' as VirtualPath);
  }

  #isBelowVirtualParent(path: VirtualPath): boolean {
    if (this.#virtualFolders.length === 0) return false;
    const firstFolder = `/${pathSegments(path)[0]}`;
    return this.#virtualFolders.some((folder) => isWithin(folder.path, firstFolder));
  }

  /** The virtual paths of the account that lead to a real path. @param realPath real path with symbolic links resolved */
  virtualPathsOf(realPath: string): VirtualPath[] {
    if (this.#whole) return this.#whole.virtualPathsOf(realPath);
    const folders = [{ path: '/' as VirtualPath, realPath: this.#homeFolderPath ?? '' }, ...this.#virtualFolders];
    return folders.flatMap(({ path, realPath: folder }) => {
      const root = resolvedFolder(folder);
      if (root === undefined || !isWithin(realPath, root)) return [];
      return [`${path === '/' ? '' : path}${realPath.slice(root === '/' ? 0 : root.length)}` as VirtualPath];
    });
  }

  /** The virtual folders at a path or below it. */
  virtualFoldersBelow(path: VirtualPath): Account['virtualFolders'] {
    return this.#virtualFolders.filter((folder) => isWithin(folder.path, path));
  }

  /** The names of virtual folders, or of their parents, directly in folder `path`. They hide real entries with the same names. */
  virtualMembers(path: VirtualPath): string[] {
    const depth = pathSegments(path).length;
    const names = this.virtualFoldersBelow(path)
      .filter((folder) => folder.path !== path)
      .map((folder) => pathSegments(folder.path)[depth] as string);
    return [...new Set(names)];
  }
}

function resolvedFolder(path: string): string | undefined {
  try {
    return realpathSync.native(path);
  } catch {
    return undefined;
  }
}

const kept = new WeakMap<object, Mounts>();

/**
 * The mounts of an account. They are cached until the session of the account ends, but only if all folders of the account exist.
 *
 * @param excluded real folders that no account can reach
 */
export function resolveMounts(account: Account, excluded: readonly string[]): Mounts {
  const known = kept.get(account);
  if (known) return known;
  const whole = new Mounts(account, excluded);
  const paths = commonPaths(account.permissions.options.narrowings);
  const mounts = paths ? whole.part(paths) : whole;
  if (whole.isComplete && mounts.isComplete) kept.set(account, mounts);
  return mounts;
}
