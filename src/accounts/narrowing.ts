import { isWithin, type VirtualPath } from '../lib/virtual-path.ts';

/** The part of an account's files and rights that a token or link grants. It never grants more than the account has. */
export interface Narrowing {
  /** The granted files and folders; a folder includes all its content. Absent if everything is granted. */
  readonly paths?: readonly VirtualPath[] | undefined;
  /** The granted permission keywords; absent if all rights of the account are granted. `allow-write` includes `allow-create-file`. */
  readonly permissions?: readonly string[] | undefined;
}

/** Names a token or a link by its ID. Exactly one of the members is set. */
export interface GrantName {
  readonly token?: string;
  readonly link?: string;
}

/** Whether a path is inside the granted paths, a folder on the way to one of them, or outside. */
export function placeIn({ paths }: Narrowing, path: VirtualPath): 'inside' | 'on-the-way' | 'outside' {
  if (!paths || paths.some((top) => isWithin(path, top))) return 'inside';
  return paths.some((top) => isWithin(top, path)) ? 'on-the-way' : 'outside';
}

/** The files and folders that all of these narrowings grant; a folder includes all its content. Undefined if everything is granted. */
export function commonPaths(narrowings: readonly Narrowing[] = []): VirtualPath[] | undefined {
  let common: readonly VirtualPath[] | undefined;
  for (const { paths } of narrowings) {
    if (!paths) continue;
    common = common
      ? [
          ...common.filter((path) => paths.some((top) => isWithin(path, top))),
          ...paths.filter((path) => common?.some((top) => isWithin(path, top))),
        ]
      : paths;
  }
  return common && [...new Set(common)];
}
