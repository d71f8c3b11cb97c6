import { readdirSync } from 'node:fs';
import { type OpenedFolder, openFolder } from './opened.ts';
import type { RealRoots } from './real-roots.ts';
import { asServiceError } from './system-errors.ts';

/** Number of members after which the walk lets the event loop serve other requests. */
const maxAtOnce = 256;

interface TreeMember {
  /** `/`-separated, relative to the top folder; empty for the top folder itself. */
  relativePath: string;
  isFolder: boolean;
  /** A path that is bound to the opened parent folder; valid until the next member is requested. */
  boundPath: string;
}

interface WalkOptions {
  /** Skips members whose paths are too long for the system. */
  passesTooDeep?: boolean;
}

/**
 * Yields a folder and all its members, each folder before its members. Does not follow symbolic links; only one descriptor is open at a
 * time.
 */
export async function* walkTree(roots: RealRoots, path: string, options: WalkOptions = {}): AsyncGenerator<TreeMember> {
  const waiting = [''];
  let seen = 0;
  for (let relative = waiting.pop(); relative !== undefined; relative = waiting.pop()) {
    const folder = openIfThere(roots, path, relative, options);
    if (!folder) continue;
    try {
      yield { relativePath: relative, isFolder: true, boundPath: folder.member('.') };
      for (const dirent of readdirSync(folder.member('.'), { withFileTypes: true })) {
        const below = relative === '' ? dirent.name : `${relative}/${dirent.name}`;
        if (dirent.isDirectory()) waiting.push(below);
        else yield { relativePath: below, isFolder: false, boundPath: folder.member(dirent.name) };
        if (++seen % maxAtOnce === 0) await new Promise(setImmediate);
      }
    } catch (error) {
      throw asServiceError(error);
    } finally {
      folder.close();
    }
  }
}

function openIfThere(roots: RealRoots, path: string, relative: string, { passesTooDeep }: WalkOptions): OpenedFolder | undefined {
  try {
    return openFolder(roots, relative === '' ? path : `${path}/${relative}`);
  } catch (error) {
    // Only the top folder must exist. A sub-folder is skipped if it was removed meanwhile or cannot be reached.
    const { code } = asServiceError(error);
    if (relative !== '' && (code === 'not-found' || (passesTooDeep && code === 'name-invalid'))) return undefined;
    throw error;
  }
}
