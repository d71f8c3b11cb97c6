import { readdirSync } from 'node:fs';
import { type OpenedFolder, openFolder } from './opened.ts';
import type { RealRoots } from './real-roots.ts';
import { asServiceError } from './system-errors.ts';

/** Members looked at before other requests run. */
const mostAtOnce = 256;

/** One path below the folder, `/`-separated and relative to it (empty for the folder itself). */
interface TreeMember {
  relativePath: string;
  isFolder: boolean;
}

/**
 * Walks a folder without following links, parents before their members, one open descriptor at a time.
 * The folder itself comes first.
 */
export async function* walkTree(roots: RealRoots, path: string): AsyncGenerator<TreeMember> {
  const waiting = [''];
  let seen = 0;
  for (let relative = waiting.pop(); relative !== undefined; relative = waiting.pop()) {
    const folder = openIfThere(roots, path, relative);
    if (!folder) continue;
    try {
      yield { relativePath: relative, isFolder: true };
      for (const dirent of readdirSync(folder.member('.'), { withFileTypes: true })) {
        const below = relative === '' ? dirent.name : `${relative}/${dirent.name}`;
        if (dirent.isDirectory()) waiting.push(below);
        else yield { relativePath: below, isFolder: false };
        if (++seen % mostAtOnce === 0) await new Promise(setImmediate);
      }
    } catch (error) {
      throw asServiceError(error);
    } finally {
      folder.close();
    }
  }
}

function openIfThere(roots: RealRoots, path: string, relative: string): OpenedFolder | undefined {
  try {
    return openFolder(roots, relative === '' ? path : `${path}/${relative}`);
  } catch (error) {
    // Gone meanwhile, or out of reach: only the top folder has to be there.
    if (relative !== '' && asServiceError(error).code === 'not-found') return undefined;
    throw error;
  }
}
