import { lstatSync, type Stats } from 'node:fs';
import { basename, dirname } from 'node:path';
import { ServiceError } from '../../lib/errors.ts';
import { lookAt, type OpenedFolder, openFolder, openParent } from './opened.ts';
import type { RealRoots } from './real-roots.ts';
import { asServiceError } from './system-errors.ts';

/** Where a file will be written: an opened parent folder and the name in it. */
export interface WriteTarget {
  parent: OpenedFolder;
  name: string;
  /** The file that will be replaced, if there is one. */
  existing: Stats | undefined;
}

/**
 * Opens the folder that a file will be written to. A link that leads to a file inside the roots is followed,
 * so that its target is replaced; any other link counts as absent and is itself replaced.
 *
 * @throws ServiceError `parent-missing`, `is-folder`, `forbidden`
 */
export function openWriteTarget(roots: RealRoots, path: string): WriteTarget {
  const parent = openParent(roots, path);
  try {
    const name = basename(path);
    const stats = lstatOrUndefined(parent.member(name));
    if (stats?.isSymbolicLink()) {
      const linked = lookAt(roots, path);
      if (!linked) return { parent, name, existing: undefined };
      checkReplaceable(linked.stats);
      const linkedParent = openFolder(roots, dirname(linked.realPath));
      parent.close();
      return { parent: linkedParent, name: basename(linked.realPath), existing: linked.stats };
    }
    if (stats) checkReplaceable(stats);
    return { parent, name, existing: stats };
  } catch (error) {
    parent.close();
    throw asServiceError(error);
  }
}

function checkReplaceable(stats: Stats): void {
  if (stats.isDirectory()) throw new ServiceError('is-folder', 'A folder has this name.');
  if (!stats.isFile()) throw new ServiceError('never-allowed', 'The path is not a regular file.');
}

/** What a path itself is, links not followed; undefined when nothing is there. */
export function lstatOrUndefined(path: string): Stats | undefined {
  return lstatSync(path, { throwIfNoEntry: false });
}
