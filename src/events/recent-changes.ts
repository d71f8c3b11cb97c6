import type { ServiceEvent } from './event.ts';
import { eventIds } from './event-ids.ts';
import type { NewestFirstJournal } from './journal/event-log.ts';
import { newestEvents } from './journal/search/search.ts';

export type ChangeKind = 'uploaded' | 'created' | 'moved' | 'copied' | 'deleted' | 'restored';

/** A change of an account's files, read from the journal. */
export interface RecentChange {
  kind: ChangeKind;
  /** Virtual path of the file or folder; for `moved` and `copied`, the path of the source. */
  path: string;
  /** Virtual path of the target; only for `moved` and `copied`. */
  destination: string | undefined;
  /** Undefined if the event does not distinguish files from folders. */
  isFolder: boolean | undefined;
  /** Virtual path that the item had before it was deleted; only for `restored`. */
  deletedFrom?: string | undefined;
  /** Unix time in milliseconds. */
  atMs: number;
}

const maxChanges = 100;

/** Maximum number of bytes of the journal that are read. It is low, because a page waits for the result. */
const maxBytes = 16 * 1024 * 1024;

/** The kinds of changes, by the ID of their event. */
const changes = new Map<string, Pick<RecentChange, 'kind' | 'isFolder'>>([
  [String(eventIds.fileUploaded), { kind: 'uploaded', isFolder: false }],
  [String(eventIds.sftpFileUploaded), { kind: 'uploaded', isFolder: false }],
  [String(eventIds.folderCreated), { kind: 'created', isFolder: true }],
  [String(eventIds.sftpFolderCreated), { kind: 'created', isFolder: true }],
  [String(eventIds.fileRenamed), { kind: 'moved', isFolder: false }],
  [String(eventIds.folderRenamed), { kind: 'moved', isFolder: true }],
  [String(eventIds.sftpRenamed), { kind: 'moved', isFolder: undefined }],
  [String(eventIds.fileCopied), { kind: 'copied', isFolder: false }],
  [String(eventIds.fileRemoved), { kind: 'deleted', isFolder: false }],
  [String(eventIds.sftpFileRemoved), { kind: 'deleted', isFolder: false }],
  [String(eventIds.folderRemoved), { kind: 'deleted', isFolder: true }],
  [String(eventIds.sftpFolderRemoved), { kind: 'deleted', isFolder: true }],
  [String(eventIds.trashRestored), { kind: 'restored', isFolder: undefined }],
]);

/**
 * Finds the recent changes of an account's files, newest first. If a path has several changes of the same kind, only the newest is
 * returned. Deletion and restoration count as one kind, so that a restored item is not listed as deleted.
 *
 * @throws ServiceError `unavailable` if the journal cannot be read
 */
export async function recentChanges(journal: NewestFirstJournal, accountUuid: string): Promise<RecentChange[]> {
  const found = new Map<string, RecentChange>();
  const selection = { id: [...changes.keys()].map(Number), uuid: [], account: [accountUuid] };
  for await (const { event } of newestEvents(journal, selection, { maxBytes })) {
    const change = event.account.uuid === accountUuid ? readChange(event) : undefined;
    if (!change) continue;
    const kind = change.kind === 'restored' ? 'deleted' : change.kind;
    const key = JSON.stringify([kind, change.destination ?? change.deletedFrom ?? change.path]);
    if (!found.has(key)) found.set(key, change);
    if (found.size === maxChanges) break;
  }
  return [...found.values()];
}

/** Changes that belong together, newest first. */
export interface ChangeGroup {
  changes: RecentChange[];
  kind: ChangeKind;
  /** Virtual path of the new folder that contains all other changes, if there is one. */
  root?: string | undefined;
}

/** Minimum number of changes in a group, and the time in milliseconds that a group covers. */
const leastGrouped = 3;
const groupMs = 3_600_000;

/** Kinds of changes that fill a new folder. For example, the copy of a folder is reported as new folders and copied files. */
const filling: readonly ChangeKind[] = ['created', 'copied', 'uploaded'];

/**
 * Groups consecutive changes: those of one kind in one folder within the same hour, and a new folder with what was created, copied or
 * uploaded into it within an hour. Changes that are too few for a group are returned as groups of one.
 *
 * @param newestFirst changes as `recentChanges` returns them
 */
export function groupChanges(newestFirst: readonly RecentChange[]): ChangeGroup[] {
  const groups: (ChangeGroup & { startMs: number; key: string | undefined })[] = [];
  for (const change of newestFirst.toReversed()) {
    const path = change.destination ?? change.path;
    const key = JSON.stringify([change.kind, path.slice(0, path.lastIndexOf('/')), Math.floor(change.atMs / groupMs)]);
    const group = groups.at(-1);
    const fills = group?.root !== undefined && path.startsWith(`${group.root}/`) && change.atMs - group.startMs < groupMs;
    const isOfKind = [change.kind, group?.kind].includes('created') || change.kind === group?.kind;
    if (group && fills && filling.includes(change.kind) && isOfKind) {
      if (change.kind !== 'created') group.kind = change.kind;
      group.key = undefined;
      group.changes.unshift(change);
    } else if (group && group.key === key) {
      group.root = undefined;
      group.changes.unshift(change);
    } else
      groups.push({ changes: [change], kind: change.kind, root: change.kind === 'created' ? path : undefined, startMs: change.atMs, key });
  }
  return groups.toReversed().flatMap((group) => {
    if (group.changes.length >= leastGrouped) return group;
    return group.changes.map((change) => ({ changes: [change], kind: change.kind }));
  });
}

function readChange({ id, data, timestamp }: ServiceEvent): RecentChange | undefined {
  const known = changes.get(id);
  const { path, destination, trashed_path: trashedPath, is_directory: isFolder } = data;
  if (!known || typeof path !== 'string') return undefined;
  const atMs = Number(timestamp.timestamp) * 1000;
  const change = { ...known, path, destination: typeof destination === 'string' ? destination : undefined, atMs };
  if (known.kind !== 'restored') return change;
  return { ...change, isFolder: isFolder === true, deletedFrom: typeof trashedPath === 'string' ? trashedPath : undefined };
}
