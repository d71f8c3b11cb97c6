import { eventCatalogue } from '../../catalogue.ts';
import type { ServiceEvent } from '../../event.ts';
import { type EventSelection, eventAccounts, eventPaths, idsWithOutcomeInData, isGiven } from './event-selection.ts';

/** The kinds of filters that a summary has for each block of a journal file, in the order of the summary's sections. */
export const filterKinds = ['accounts', 'paths', 'addresses', 'requests', 'uuids', 'ids', 'userGroups'] as const;
export type FilterKind = (typeof filterKinds)[number];

/** Maximum number of parent folders of one path in a filter, so that one very deep path cannot fill the filter. */
const maxFolders = 16;

export type BlockKeys = Record<FilterKind, Set<string>>;

/** Creates the keys of a block without events. */
export function noKeys(): BlockKeys {
  return Object.fromEntries(filterKinds.map((kind) => [kind, new Set<string>()])) as BlockKeys;
}

/** Adds the keys of an event to the keys of its block. @param userGroup the group of the event's account */
export function addKeys(keys: BlockKeys, event: ServiceEvent, userGroup: string | undefined): void {
  for (const account of eventAccounts(event)) keys.accounts.add(account);
  for (const path of eventPaths(event)) {
    if (keys.paths.has(path)) continue;
    keys.paths.add(path);
    for (const folder of foldersAbove(path)) keys.paths.add(folder);
  }
  keys.addresses.add(event.account.peer.address);
  if (event.data.request_id !== undefined) keys.requests.add(String(event.data.request_id));
  keys.uuids.add(event.uuid);
  keys.ids.add(String(Number(event.id)));
  if (userGroup !== undefined) keys.userGroups.add(userGroup);
}

/** Returns lists of keys for a selection. A block with a selected event contains at least one key of each list. */
export function wantedKeys(selection: EventSelection): { kind: FilterKind; keys: readonly string[] }[] {
  const { id, uuid, group, status, userGroup, account, path, address, requestId } = selection;
  const wanted: [FilterKind, readonly string[] | undefined][] = [
    ['uuids', uuid],
    ['requests', requestId],
    ['paths', isGiven(path) && !path.includes('/') ? path.flatMap(pathKeys) : undefined],
    ['accounts', account],
    ['addresses', address],
    ['userGroups', userGroup],
    ['ids', id.map(String)],
    ['ids', isGiven(group) ? groupIds(group) : undefined],
    ['ids', isGiven(status) ? [...groupIds(status), ...idsWithOutcomeInData] : undefined],
  ];
  return wanted.flatMap(([kind, keys]) => (isGiven(keys) ? [{ kind, keys }] : []));
}

/**
 * Returns lists of byte strings for a selection. The JSON of a selected event contains at least one string of each list, so other lines
 * need not be parsed. The strings that are probably rarest come first. `JSON.stringify` writes all events, so equal values have equal
 * bytes.
 */
export function selectionNeedles(selection: EventSelection): Buffer[][] {
  const { id, uuid, account, path, address, requestId, component, text } = selection;
  const lists: string[][] = [
    uuid.map(quoted),
    (requestId ?? []).map(quoted),
    (path ?? []).includes('/') ? [] : (path ?? []).map(pathNeedle),
    text === undefined || text === '' ? [] : [quoted(text).slice(1, -1)],
    (account ?? []).map(quoted),
    (address ?? []).map(quoted),
    (component ?? []).map(quoted),
    id.map((one) => quoted(String(one))),
  ];
  return lists.filter(isGiven).map((list) => list.map((needle) => Buffer.from(needle)));
}

function quoted(text: string): string {
  return JSON.stringify(text);
}

// The needle of a folder has no closing quote, so that it also matches all paths below the folder.
function pathNeedle(path: string): string {
  return path.endsWith('/') ? quoted(path.slice(0, -1)).slice(0, -1) : quoted(path);
}

function pathKeys(path: string): string[] {
  if (!path.endsWith('/')) return [path];
  const folders = foldersAbove(`${path}x`);
  return [folders.at(-1) as string, path.slice(0, -1)];
}

/** Returns the parent folders of a path from the root down, each with a final slash. */
function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.indexOf('/', 1); at >= 0 && folders.length < maxFolders; at = path.indexOf('/', at + 1))
    folders.push(path.slice(0, at + 1));
  return folders;
}

function groupIds(groups: readonly string[]): string[] {
  return eventCatalogue.filter((definition) => definition.groups.some((group) => groups.includes(group))).map(({ id }) => String(id));
}
