import {
  type Collection,
  type CollectionName,
  type Item,
  parseSelection,
  removeSelected,
  type Selection,
  selectedItems,
} from '../../control/collection.ts';
import { ServiceError } from '../../lib/errors.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction } from '../environment.ts';

/** So many things are listed where the request does not say how many. */
export const usualLimit = 1000;
export const highestLimit = 10_000;

/** What is done to the things of a kind when they are removed, as event `administratorAction` names it. */
const removals: Readonly<Record<CollectionName, string>> = {
  sessions: 'session-end',
  bans: 'ban-lift',
  locks: 'lock-break',
  uploads: 'upload-cancel',
};

export const collectionNames = Object.keys(removals) as CollectionName[];

/** IDs that one event names at most. */
const idsOfEvent = 20;

/** `GET /api/sessions` and the like. */
export function listItems(name: CollectionName): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const { selection, limit } = askedItems(c);
    const items = await selectedItems(collectionOf(c, name), selection);
    return answerJson(c, { items: items.slice(0, limit).map(({ shown }) => shown), total: items.length });
  };
}

/** `DELETE /api/sessions` and the like: what is named by the query, or everything with `all=1`. Event `administratorAction`. */
export function removeItems(name: CollectionName): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const items = await removeSelected(collectionOf(c, name), parseSelection(c.env.query));
    if (items.length > 0) await recordAction(c, removals[name], namesOf(items));
    return answerJson(c, { removed: items.length });
  };
}

function collectionOf({ env: { service } }: ConsoleContext, name: CollectionName): Collection {
  return service.sources.collections[name];
}

/** @throws ServiceError `bad-request` */
function askedItems({ env }: ConsoleContext): { selection: Selection; limit: number } {
  const query = new URLSearchParams(env.query);
  const text = query.get('limit');
  query.delete('limit');
  const limit = text === null ? usualLimit : /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > highestLimit) throw new ServiceError('bad-request', `"limit" must be a number from 1 to ${highestLimit}.`);
  return { selection: parseSelection(query), limit };
}

/** Who or what was removed, for people. */
function namesOf(items: readonly Item[]): string {
  const names = items.slice(0, idsOfEvent).map(({ shown: { id, account, address, path } }) => {
    const about = [account, path, address === id ? undefined : address].filter((part) => part !== undefined && part !== '');
    return about.length > 0 ? `${id} (${about.join(', ')})` : id;
  });
  return items.length > idsOfEvent ? `${names.join('; ')}; and ${items.length - idsOfEvent} more` : names.join('; ');
}
