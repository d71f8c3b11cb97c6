import { lstatSync, renameSync, unlinkSync } from 'node:fs';
import { Durability } from '../disk/folder-sync.ts';
import { freeInBackground } from '../disk/freeing.ts';
import { changeInParent, type OpenedFolder } from '../disk/opened.ts';
import type { RealRoots } from '../disk/real-roots.ts';
import { type Successor, type Temporaries, temporaryName } from '../disk/temporaries.ts';
import { walkTree } from '../disk/walk-tree.ts';
import { removeTree } from './folder-remover.ts';

/** Something moved out of the way under a hidden name beside it. Ends with `putBack` or `remove`. */
export interface SetAside {
  /** Its path while it is aside. */
  readonly realPath: string;
  putBack(): void;
  /** Removes it for good. What cannot be removed stays hidden and is tried again at the next start. */
  remove(): Promise<void>;
}

/**
 * Moves a member of an opened folder, which stays open until the end, out of the way, so that its name is free at once and it can still be put back: rename(2)
 * cannot put one thing in the place of a folder. When the process is killed meanwhile, the next start puts it back, or
 * removes it when its name is taken by then.
 *
 * @param successor what takes its place elsewhere: when that stands there, the next start removes it
 */
export function setAside(parent: OpenedFolder, name: string, roots: RealRoots, temporaries: Temporaries, successor?: Successor): SetAside {
  const hidden = temporaryName();
  const realPath = `${parent.realPath}/${hidden}`;
  temporaries.add(realPath, `${parent.realPath}/${name}`, successor);
  try {
    temporaries.sync();
    renameSync(parent.member(name), parent.member(hidden));
  } catch (error) {
    temporaries.delete(realPath);
    throw error;
  }
  return {
    realPath,
    putBack() {
      renameSync(parent.member(hidden), parent.member(name));
      temporaries.delete(realPath);
    },
    async remove() {
      temporaries.add(realPath);
      temporaries.sync();
      if (await removeAll(roots, realPath)) temporaries.delete(realPath);
    },
  };
}

/** Removes a file, a link, or a folder with all it holds. @returns whether all of it is gone, and stays so */
export async function removeAll(roots: RealRoots, realPath: string): Promise<boolean> {
  const stats = lstatSync(realPath, { throwIfNoEntry: false });
  if (!stats) return true;
  const durability = new Durability();
  if (!stats.isDirectory()) {
    const remove = (member: string) => freeInBackground(member, stats, () => unlinkSync(member));
    await (await changeInParent(roots, realPath, durability, remove)).freed;
    return durability.fault === undefined;
  }
  const folders: string[] = [];
  for await (const member of walkTree(roots, realPath)) if (member.isFolder) folders.push(member.relativePath);
  return (await removeTree(roots, realPath, folders, durability)).length === 0 && durability.fault === undefined;
}
