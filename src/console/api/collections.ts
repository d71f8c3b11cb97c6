import { type CollectionName, type Item, parseSelection, removeSelected, selectedItems } from '../../control/collection.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction } from '../environment.ts';
import { Parameters } from './parameters.ts';

/** Limits of a list: the default, and the maximum. */
export const usualLimit = 1000;
export const highestLimit = 10_000;

type ConsoleCollection = Exclude<CollectionName, 'trash' | 'held'>;

/** Removals as event `administratorAction` names them. */
const removals: Readonly<Record<ConsoleCollection, string>> = {
  sessions: 'session-end',
  bans: 'ban-lift',
  locks: 'lock-break',
  uploads: 'upload-cancel',
};

export const collectionNames = Object.keys(removals) as ConsoleCollection[];

/** IDs that one event names. */
const maxIdsOfEvent = 20;

/** `GET /api/sessions`, `/api/locks`, `/api/bans`, `/api/uploads` and `/api/held`. */
export function listItems(name: ConsoleCollection | 'held'): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const query = new URLSearchParams(c.env.query);
    query.delete('limit');
    const selection = parseSelection(query);
    const limit = new Parameters({ limit: c.env.query.get('limit') ?? undefined }, ['limit']).number('limit', {
      usual: usualLimit,
      max: highestLimit,
    });
    const items = await selectedItems(c.env.service.sources.collections[name], selection);
    return answerJson(c, { items: items.slice(0, limit).map(({ shown }) => shown), total: items.length });
  };
}

/** `DELETE` of the items that the query names, or of all with `all=1`. Event `administratorAction`. */
export function removeItems(name: ConsoleCollection): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const items = await removeSelected(c.env.service.sources.collections[name], parseSelection(c.env.query));
    if (items.length > 0) await recordAction(c, removals[name], describeItems(items));
    return answerJson(c, { removed: items.length });
  };
}

/** Names items for people, at most twenty of them. */
export function describeItems(items: readonly Item[]): string {
  const names = items.slice(0, maxIdsOfEvent).map(({ shown: { id, account, address, path } }) => {
    const about = [account, path, address === id ? undefined : address].filter((part) => part !== undefined && part !== '');
    return about.length > 0 ? `${id} (${about.join(', ')})` : id;
  });
  return items.length > maxIdsOfEvent ? `${names.join('; ')}; and ${items.length - maxIdsOfEvent} more` : names.join('; ');
}
