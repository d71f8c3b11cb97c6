import { lstatSync, renameSync, type Stats, unlinkSync } from 'node:fs';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import type { Durability } from '../disk/folder-sync.ts';
import { freeInBackground } from '../disk/freeing.ts';
import { nameTaken, renameFolderToFree, renameToFree } from '../disk/new-names.ts';
import type { FollowedFolder, OpenedFolder } from '../disk/opened.ts';
import { asServiceError } from '../disk/system-errors.ts';
import { inodeAt, temporaryName } from '../disk/temporaries.ts';
import type { Entry } from '../entry.ts';
import { isHeld } from '../inspections/gate.ts';
import {
  judgeMoved,
  mayNeedJudgement,
  needsJudgement,
  refuseHeldMembers,
  renameJudged,
  type Unnamed,
  unnamedCopy,
} from '../inspections/moves.ts';
import { neededRights } from '../needed-rights.ts';
import { type KeptReplaced, keepReplaced } from '../trash/trash.ts';
import { removeAll, type SetAside, setAside } from './folder-remover.ts';
import { checkReplaceable, destinationExists, type ReplacementRules } from './replacement.ts';
import { copyTree, isSameState, treeState } from './tree-copy.ts';

export interface MoveOptions extends ReplacementRules {
  /** Called with the source at the beginning, and again right before the source is renamed. Refuses the move by throwing. */
  verify?: ((source: Entry) => void) | undefined;
  /** @see RandomUploadOptions.finalName */
  finalName?: ((name: string) => string | undefined) | undefined;
  /** Whether the file may get a numbered name if its new name is taken (`on_name_taken`). */
  mayNumber?: boolean | undefined;
}

/** The source or the target of a move: a name in an opened folder. */
export interface MoveEnd {
  folder: OpenedFolder;
  name: string;
  realPath: string;
}

export interface Move {
  paths: AccountPaths;
  from: VirtualPath;
  to: VirtualPath;
  entry: Entry;
  source: MoveEnd;
  target: MoveEnd;
  options: MoveOptions;
  /** Whether the target is in the trash, where its name is unique. */
  intoTrash?: true;
  /** Receives the fault if the disk failed after the move was made. */
  durability: Durability;
  /** For an item that is restored from the trash: its paths before its deletion. Inspections judged the content for these paths. */
  formerly?: { path: VirtualPath; realPath: string } | undefined;
  /** If the source is a folder: finds its path after the move, even if it is moved again. */
  followed?: FollowedFolder | undefined;
}

interface Put {
  replaced: 'file' | 'folder' | undefined;
  aside?: SetAside;
  freed?: Promise<void> | undefined;
  kept?: KeptReplaced | undefined;
}

export interface Replaced {
  kind: 'file' | 'folder' | undefined;
  /** Whether the replaced entry is in the trash. */
  trashed: true | undefined;
}

/** Makes a move, and syncs both folders. */
export async function relocate(move: Move): Promise<Replaced> {
  const { source, target, durability } = move;
  let put: Put;
  try {
    put = await renameJudged(move, (content) => putInPlace(move, content));
  } catch (error) {
    if (error !== needsJudgement && systemErrorCode(error) !== 'EXDEV') throw asServiceError(error);
    put = await relocateAcross(move);
  }
  await put.kept?.settle(durability);
  await durability.syncFolder(target.folder.fd);
  await durability.syncFolder(source.folder.fd);
  // After a disk fault, the replaced folder is not removed, because a power cut may undo the rename. The next start of the service restores
  // or removes the folder.
  if (durability.fault === undefined) await durability.attempt(async () => put.aside?.remove());
  await put.freed;
  return { kind: put.replaced, trashed: put.kept && true };
}

/** Whether the move gives an uploaded file its final name instead of a temporary one (`a.csv` instead of `a.csv.part`). */
export function endsUpload({ from, to, entry, options: { finalName } }: Move): boolean {
  if (entry.isFolder || !finalName) return false;
  return finalName(baseName(from)) !== undefined && finalName(baseName(to)) === undefined;
}

async function putInPlace(move: Move, content: Unnamed): Promise<Put> {
  const { account, environment } = move.paths;
  if (account.retainDays === 0 || !endsUpload(move)) return renameOver(move, content);
  const release = await environment.retention.retain(content.member, account.retainDays, move.target.folder.member('.'));
  try {
    return await renameOver(move, content);
  } catch (error) {
    release();
    throw error;
  }
}

/**
 * Renames content to the name of the destination. One mutex covers the check of conditions, the removal of the destination and the rename.
 */
function renameOver({ paths, from, to, entry, source, target, options, intoTrash, followed }: Move, content: Unnamed): Promise<Put> {
  const { accountRoots: roots } = paths.mounts;
  return paths.environment.pathMutex.runExclusive([source.realPath, target.realPath], async () => {
    await checkReplaceable(paths, to, target.realPath, entry, options);
    const current = paths.entryAt(from);
    if (current) options.verify?.(current);
    const { ino, dev } = lstatSync(content.member);
    const targetMember = target.folder.member(target.name);
    if (entry.isFolder && !entry.isLink) followed?.open(paths.mounts.roots, content.member);
    const existing = lstatSync(targetMember, { throwIfNoEntry: false });
    const isFolder = entry.isFolder && !entry.isLink;
    if (!existing) {
      const isConditional = options.mayReplace === 'nothing';
      const mustBeFree = isConditional || !paths.account.permissions.allowsAny(to, neededRights.replaceFile);
      return content.named((member) => {
        if (intoTrash || !mustBeFree) renameSync(member, targetMember);
        // Another node may have taken the name at the same moment.
        else if (isFolder && !renameFolderToFree(member, targetMember)) throw destinationExists();
        else if (!isFolder && !renameToFree(member, targetMember, true)) throw isConditional ? destinationExists() : nameTaken();
        return { replaced: undefined };
      });
    }
    checkKnown(existing, options);
    paths.environment.retention.requireFree(targetMember);
    if (!isFolder && existing.ino === ino && existing.dev === dev) {
      // If both names are hard links to one file, rename(2) does nothing and leaves both, so the source is removed here.
      content.named(unlinkSync);
      return { replaced: 'file' };
    }
    const replaced = paths.entryAt(to)?.isFolder ? 'folder' : 'file';
    const kept = existing.isSymbolicLink() ? undefined : await keepReplaced(paths, to)?.(target.folder, target.name, existing, isFolder);
    if (kept || (!isFolder && !existing.isDirectory())) {
      try {
        const put = (member: string) => {
          kept?.take();
          renameSync(member, targetMember);
        };
        const { freed } = content.named((member) => freeInBackground(targetMember, existing, () => put(member)));
        return { replaced, kept, freed };
      } catch (error) {
        kept?.undo();
        throw error;
      }
    }
    const aside = setAside(target.folder, target.name, roots, paths.environment.temporaries);
    try {
      content.named((member) => renameSync(member, targetMember));
    } catch (error) {
      aside.putBack();
      throw error;
    }
    return { replaced, aside };
  });
}

// A broken symbolic link is replaced like a file; special files are not replaced.
function checkKnown(existing: Stats, { mayReplace }: MoveOptions): void {
  if (mayReplace === 'nothing') throw destinationExists();
  if (!existing.isFile() && !existing.isDirectory() && !existing.isSymbolicLink())
    throw new ServiceError('never-allowed', 'The path is not a regular file.');
}

// Moves by means of a copy. Inspections see the copy, because other processes may still have the source open for writing.
async function relocateAcross(move: Move): Promise<Put> {
  const { paths, from, source, target, options, durability } = move;
  const { temporaries } = paths.environment;
  const { accountRoots: roots } = paths.mounts;
  const hidden = temporaryName();
  const hiddenPath = `${target.folder.realPath}/${hidden}`;
  temporaries.add(hiddenPath);
  let aside: SetAside | undefined;
  let put: Put;
  try {
    const hiddenMember = target.folder.member(hidden);
    await refuseHeldMembers(move);
    const copied = await copyTree(roots, source.folder, source.name, hiddenMember);
    const judgement = mayNeedJudgement(move) ? await judgeMoved(move, hidden) : undefined;
    const current = paths.entryAt(from);
    if (!current) throw new ServiceError('not-found', 'Path not found.');
    options.verify?.(current);
    // The source gets a hidden name. Nothing can be added to it then, so the later removal deletes only files that were copied.
    const successor = { path: judgement?.heldPath ?? target.realPath, inode: inodeAt(hiddenMember) ?? '' };
    aside = setAside(source.folder, source.name, roots, temporaries, { successor });
    if (!isSameState(copied, await treeState(aside.realPath)))
      throw new ServiceError('unavailable', 'The source changed while it was moved; try again.');
    if (judgement?.hold) throw await judgement.hold();
    put = await putInPlace({ ...move, followed: undefined, options: { ...options, verify: undefined } }, unnamedCopy(move, hidden));
    await judgement?.given();
  } catch (error) {
    if (isHeld(error)) {
      temporaries.delete(hiddenPath);
      // If the source cannot be removed, the next start removes it. The file is held in any case.
      await aside?.remove().catch(() => {});
      throw error;
    }
    aside?.putBack();
    // The current path is used, because the folder of the target may have been moved together with the copy.
    const isGone = await removeAll(roots, `${target.folder.currentPath()}/${hidden}`).catch(() => false);
    if (isGone) temporaries.delete(hiddenPath);
    throw asServiceError(error);
  }
  await durability.syncFolder(target.folder.fd);
  temporaries.delete(hiddenPath);
  const sourceAside = aside;
  if (durability.fault === undefined) await durability.attempt(() => sourceAside.remove());
  return put;
}
