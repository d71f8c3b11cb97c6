import { lstatSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { ServiceError, systemErrorCode } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import type { AccountPaths } from '../account-paths.ts';
import { renameMember } from '../disk/folder-sync.ts';
import type { OpenedFolder } from '../disk/opened.ts';
import { inodeAt, isAsideName, isHiddenName, keptName } from '../disk/temporaries.ts';
import { walkTree } from '../disk/walk-tree.ts';
import type { Entry } from '../entry.ts';
import { setAside } from '../operations/folder-remover.ts';
import { inspectedContent, judgeContent, neededInspections, refusal } from './gate.ts';
import type { Judgement } from './verdict.ts';

interface MoveEnd {
  folder: OpenedFolder;
  name: string;
  realPath: string;
}

/** A move. The folders of its source and target are open. */
interface Move {
  paths: AccountPaths;
  from: VirtualPath;
  to: VirtualPath;
  entry: Entry;
  source: MoveEnd;
  target: MoveEnd;
  options: { mayReplace: 'nothing' | 'file' | 'anything'; finalName?: ((name: string) => string | undefined) | undefined };
  formerly?: { path: VirtualPath; realPath: string } | undefined;
  intoTrash?: boolean | undefined;
}

/** Thrown if a rename is not enough for the move, because inspections must first accept a copy of the content. */
export const needsJudgement = new Error('Inspections have to judge what is moved.');

/** A file or folder before its rename to the final name. */
export interface Unnamed {
  /** Its current path. */
  member: string;
  /** Checks the move a last time, and then calls `rename`. @param rename gets the path that it has to rename */
  named<T>(rename: (from: string) => T): T;
}

/** A file of the move. Its path is relative to the moved folder, and empty if the file itself is moved. */
type Member = { relativePath: string; isLink: boolean };

/**
 * Whether moved files may need inspections. If the same inspections apply to all paths of the account, a file is inspected again only if
 * its new name differs from the name that inspections saw.
 */
export function mayNeedJudgement(move: Pick<Move, 'paths' | 'intoTrash' | 'entry' | 'from' | 'to' | 'options'>): boolean {
  const { inspections } = move.paths.account;
  return !move.intoTrash && (inspections.hasRules || (!inspections.isEmpty && isNamedOtherwise(move)));
}

/**
 * Whether a file with a temporary name gets a name other than the one that inspections saw. For example, inspections see `a.csv.part` as
 * `a.csv`, and the file is renamed to `b.csv`.
 */
function isNamedOtherwise({ entry, from, to, options }: Pick<Move, 'entry' | 'from' | 'to' | 'options'>): boolean {
  const judgedAs = entry.isFolder ? undefined : options.finalName?.(baseName(from));
  return judgedAs !== undefined && judgedAs !== baseName(to);
}

function uuidsAt(paths: AccountPaths, path: VirtualPath, realPath: string, relative: string): ReadonlySet<string> {
  const below = relative === '' ? '' : `/${relative}`;
  return neededInspections(paths, `${path}${below}` as VirtualPath, `${realPath}${below}`);
}

/**
 * Returns the inspections that a file must pass at its new path. If all inspections of the new path also applied to the old path, and the
 * file keeps the name that they saw, the set is empty.
 */
function newInspections(move: Move, relative: string): ReadonlySet<string> {
  const { paths, to, source, target, formerly } = move;
  const realPath = formerly?.realPath ?? source.realPath;
  // The path of the upload is unknown, and may have led through a symbolic link. But the inspections of all virtual paths that lead to the
  // file's real path applied to the upload in any case.
  const former = paths.mounts.virtualPathsOf(relative === '' ? realPath : `${realPath}/${relative}`);
  const before = new Set(former.flatMap((path) => paths.account.inspections.at(path)));
  const after = uuidsAt(paths, to, target.realPath, relative);
  return !isNamedOtherwise(move) && [...after].every((uuid) => before.has(uuid)) ? new Set() : after;
}

/** Refuses to move a symbolic link. Its target cannot be inspected, and a linked folder would become visible under other paths. */
function refuseLink(): never {
  throw new ServiceError('unprocessable', 'A link cannot be moved if some paths of the account have inspections of their own.');
}

/**
 * Prepares the source of a move for its rename.
 *
 * @param name current name of the source in its folder
 */
function unnamed(move: Move, name: string): Unnamed {
  const member = move.source.folder.member(name);
  return {
    member,
    named(rename) {
      if (mayNeedJudgement(move)) return renameByWay(move, name, rename);
      // The trash records the former path, so the source must still be at that path.
      if (move.intoTrash) requireSamePlaces(move);
      return rename(member);
    },
  };
}

/** Prepares a copy for the rename to its final name. @param hidden name of the copy, in the folder of the target */
export function unnamedCopy(move: Move, hidden: string): Unnamed {
  const { folder } = move.target;
  const member = folder.member(hidden);
  return {
    member,
    named(rename) {
      if (!mayNeedJudgement(move)) return rename(member);
      requireSamePlaces(move);
      return orMoved(() => rename(`${folder.realPath}/${hidden}`));
    },
  };
}

/**
 * Renames in two steps. The first step gives the source a hidden name in the target's folder. The second step renames the source from the
 * real path of the hidden name to the final name. If another node moves the folder before the second step, that step fails (ENOENT),
 * and nothing becomes visible.
 */
function renameByWay<T>(move: Move, name: string, rename: (from: string) => T): T {
  const { paths, entry, source, target } = move;
  const { temporaries } = paths.environment;
  const member = source.folder.member(name);
  const inode = inodeAt(member);
  requireSamePlaces(move);
  const successor = { path: target.realPath, inode: inode ?? '' };
  const aside = setAside(source.folder, name, paths.mounts.roots, temporaries, {
    into: target.folder,
    original: source.realPath,
    successor,
  });
  try {
    const taken = target.folder.member(basename(aside.realPath));
    // Another node may have moved the source's folder just before the rename, or put another item at the source path.
    if (inodeAt(taken) !== inode || lstatSync(taken).isDirectory() !== entry.isFolder) throw moved();
    requireSamePlaces(move);
    const renamed = orMoved(() => rename(aside.realPath));
    temporaries.delete(aside.realPath);
    return renamed;
  } catch (error) {
    aside.putBack();
    throw error;
  }
}

/**
 * @throws ServiceError `unavailable` if the folder of source or target was moved meanwhile, because other inspections may apply at the new
 *   place
 */
function requireSamePlaces({ source, target }: Move): void {
  for (const { folder } of [source, target]) if (folder.currentPath() !== folder.realPath) throw moved();
}

function orMoved<T>(rename: () => T): T {
  try {
    return rename();
  } catch (error) {
    throw systemErrorCode(error) === 'ENOENT' ? moved() : error;
  }
}

function moved(): ServiceError {
  return new ServiceError('unavailable', 'A file or folder was moved meanwhile; try again.');
}

function check(move: Move, { relativePath, isLink }: Member): void {
  if (isLink) refuseLink();
  if (newInspections(move, relativePath).size > 0) throw needsJudgement;
}

/**
 * Renames a file or folder that needs no further inspection. A folder gets a hidden name before its members are checked, so that nothing
 * can be added to it meanwhile.
 *
 * @param rename gives the content its new name
 * @throws `needsJudgement` if the file, or a file in the folder, needs an inspection; ServiceError `unprocessable` for a symbolic link
 */
export async function renameJudged<T>(move: Move, rename: (content: Unnamed) => Promise<T>): Promise<T> {
  const { paths, source, entry } = move;
  const { roots } = paths.mounts;
  const content = unnamed(move, source.name);
  if (!mayNeedJudgement(move)) return rename(content);
  const isLink = lstatSync(content.member, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  if (!entry.isFolder || isLink) {
    check(move, { relativePath: '', isLink });
    return rename(content);
  }
  const successor = { path: move.target.realPath, inode: inodeAt(content.member) ?? '' };
  const aside = setAside(source.folder, source.name, roots, paths.environment.temporaries, { successor });
  try {
    for await (const { relativePath, isFolder, boundPath } of walkTree(roots, aside.realPath)) {
      // Another request set this item aside, and may move it back after this check. So this move is refused.
      if (isAsideName(basename(relativePath))) throw moved();
      if (isFolder || isHiddenName(basename(relativePath))) continue;
      check(move, { relativePath, isLink: lstatSync(boundPath).isSymbolicLink() });
    }
    const renamed = await rename(unnamed(move, basename(aside.realPath)));
    paths.environment.temporaries.delete(aside.realPath);
    return renamed;
  } catch (error) {
    aside.putBack();
    throw error;
  }
}

/** The steps of a move that follow its inspections. */
interface JudgedMove {
  /** Called after the move. Ends older held uploads that have the same names as the moved files. */
  given(): Promise<void>;
  /** Holds a single file for review. @returns the error for the client */
  hold?: () => Promise<ServiceError>;
  /** The path of the held file. */
  heldPath?: string;
}

/**
 * Inspects the files of a move that needs a copy. The move is made only if all files are accepted.
 *
 * @param hidden name of the copy, in the folder of the target
 * @throws ServiceError `unprocessable` if inspections refuse a file, or would hold a file in a folder that is moved; also for a symbolic
 *   link in such a folder
 */
export async function judgeMoved(move: Move, hidden: string): Promise<JudgedMove> {
  const { paths, entry, target, to } = move;
  const { held } = paths.environment;
  const judged: string[] = [];
  const top = `${target.folder.currentPath()}/${hidden}`;
  const given = async () => {
    for (const relative of judged) await held.supersede(`${target.realPath}${relative === '' ? '' : `/${relative}`}`, undefined);
  };
  if (!entry.isFolder) {
    const uuids = newInspections(move, '');
    if (uuids.size === 0) return { given };
    judged.push('');
    const { judgement, inspected, content } = await judgeMember(move, top, '', uuids, true);
    if (judgement.outcome === 'refuse') throw refusal(judgement.by);
    if (judgement.outcome === 'accept') return { given };
    const kept = keptName();
    const options = { movedFrom: move.formerly?.path ?? move.from, isConditional: move.options.mayReplace === 'nothing' };
    const hold = () => held.hold({ paths, path: to, content, inspected, judgement, uuids, options, kept });
    return { given, hold, heldPath: `${target.folder.currentPath()}/${kept}` };
  }
  for await (const { relativePath, isFolder, boundPath } of walkTree(paths.mounts.roots, top)) {
    if (isFolder) continue;
    if (lstatSync(boundPath).isSymbolicLink()) refuseLink();
    const uuids = newInspections(move, relativePath);
    if (uuids.size === 0) continue;
    judged.push(relativePath);
    const { judgement } = await judgeMember(move, `${top}/${relativePath}`, relativePath, uuids, false);
    const named = (error: ServiceError) => Object.assign(error, { message: `"${relativePath}": ${error.message}` });
    if (judgement.outcome === 'refuse') throw named(refusal(judgement.by));
    if (judgement.outcome === 'hold') throw named(new ServiceError('unprocessable', 'An inspection would hold the file for review.'));
  }
  return { given };
}

async function judgeMember(
  { paths, to, target }: Move,
  realPath: string,
  relative: string,
  uuids: ReadonlySet<string>,
  isWaitedFor: boolean,
): Promise<{ judgement: Judgement; inspected: ReturnType<typeof inspectedContent>; content: ReturnType<typeof hiddenMember> }> {
  const path = (relative === '' ? to : `${to}/${relative}`) as VirtualPath;
  const content = hiddenMember(paths, path, realPath, target.folder);
  const inspected = inspectedContent(paths, path, content, {});
  return { judgement: await judgeContent(paths, path, inspected, uuids, isWaitedFor), inspected, content };
}

function hiddenMember(paths: AccountPaths, path: VirtualPath, realPath: string, folder: Move['target']['folder']) {
  const { size, mtimeMs } = lstatSync(realPath);
  const hiddenName = basename(realPath);
  const isTop = dirname(realPath) === folder.currentPath();
  return {
    folder: () => (isTop ? folder.currentPath() : dirname(realPath)),
    hiddenName,
    name: baseName(path),
    sizeBytes: size,
    modifiedMs: mtimeMs,
    current: () => paths.entryAt(path),
    keep: async (kept: string) => {
      await renameMember(folder, hiddenName, kept);
    },
  };
}

/**
 * Refuses to move a folder that has held uploads. Called if the move needs a copy (to another file system, or because of inspections),
 * because a copy would lose the held uploads.
 *
 * @throws ServiceError `unprocessable`
 */
export async function refuseHeldMembers({ paths, entry, source }: Move): Promise<void> {
  if (!entry.isFolder || (await paths.environment.held.store.within(source.realPath)).length === 0) return;
  throw new ServiceError('unprocessable', 'The folder has uploads that are held for review.');
}
