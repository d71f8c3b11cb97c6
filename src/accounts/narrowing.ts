import { isWithin, type VirtualPath } from '../lib/virtual-path.ts';

/** The part of an account's files and rights that a token or link grants: never more than the account has. */
export interface Narrowing {
  /** Files and folders, with all that they hold; absent: all. */
  readonly paths?: readonly VirtualPath[] | undefined;
  /** Keywords; absent: those of the account. `allow-create-file` is a part of `allow-write`. */
  readonly permissions?: readonly string[] | undefined;
}

/** A token or a link by its ID: one of the two. */
export interface GrantName {
  readonly token?: string;
  readonly link?: string;
}

/** Whether a path is within the narrowed part, on the way to it, or outside. */
export function placeIn({ paths }: Narrowing, path: VirtualPath): 'inside' | 'on-the-way' | 'outside' {
  if (!paths || paths.some((top) => isWithin(path, top))) return 'inside';
  return paths.some((top) => isWithin(top, path)) ? 'on-the-way' : 'outside';
}

/** The paths that are in all of several narrowings, each with all that it holds; undefined: all paths. */
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
