import { readdirSync } from 'node:fs';
import { type OpenedFolder, openFolder } from './opened.ts';
import type { RealRoots } from './real-roots.ts';
import { asServiceError } from './system-errors.ts';

/** Members looked at before other requests run. */
const maxAtOnce = 256;

/** One path below the folder, `/`-separated and relative to it (empty for the folder itself). */
interface TreeMember {
  relativePath: string;
  isFolder: boolean;
  /** A path to it that is bound to its opened folder; good until the next member is asked for. */
  boundPath: string;
}

interface WalkOptions {
  /** Passes over what lies so deep that the system takes no path to it. */
  passesTooDeep?: boolean;
}

/** Walks a folder without following links, parents before their members, one open descriptor at a time. The folder itself comes first. */
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
    // Gone meanwhile, or out of reach: only the top folder has to be there.
    const { code } = asServiceError(error);
    if (relative !== '' && (code === 'not-found' || (passesTooDeep && code === 'name-invalid'))) return undefined;
    throw error;
  }
}
