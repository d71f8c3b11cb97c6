import * as z from 'zod';
import { type CollectionName, type Item, parseSelection, removeSelected, selectedItems } from '../../control/collection.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readRequest } from '../request-body.ts';
import { Parameters } from './parameters.ts';

/** Default and maximum number of items in a list. */
export const usualLimit = 1000;
export const highestLimit = 10_000;

type ConsoleCollection = Exclude<CollectionName, 'held'>;

/** Names of the removals in event `administratorAction`. */
const removals: Readonly<Record<ConsoleCollection, string>> = {
  sessions: 'session-end',
  bans: 'ban-lift',
  locks: 'lock-break',
  uploads: 'upload-cancel',
  trash: 'trash-end',
};

export const collectionNames = Object.keys(removals) as ConsoleCollection[];

/** Maximum number of IDs that one event names. */
const maxIdsOfEvent = 20;

/** `GET /api/sessions`, `/api/locks`, `/api/bans`, `/api/uploads`, `/api/trash` and `/api/held`. */
export function listItems(name: ConsoleCollection | 'held'): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const query = new URLSearchParams(c.env.query);
    for (const own of ['limit', 'search']) query.delete(own);
    const items = await selectedItems(c.env.service.sources.collections[name], parseSelection(query));
    return answerFound(
      c,
      items.map(({ shown }) => shown),
    );
  };
}

/** Answers with the items that contain the text `search` of the query, at most `limit` of them. */
export function answerFound(c: ConsoleContext, items: readonly object[]): Response {
  const parameters = Parameters.fromQuery(c.env.query, [...c.env.query.keys()]);
  const limit = parameters.number('limit', { usual: usualLimit, max: highestLimit });
  const search = parameters.text('search')?.toLowerCase() ?? '';
  const textOf = (value: unknown) => (typeof value === 'number' ? '' : String(value ?? '').toLowerCase());
  const hasSearch = (item: object) => Object.values(item).some((value) => textOf(value).includes(search));
  const found = search === '' ? items : items.filter(hasSearch);
  return answerJson(c, { items: found.slice(0, limit), total: found.length });
}

/** Answers `DELETE` of the items that the query names, or of all items with `all=1`. Emits `administratorAction`. */
export function removeItems(name: ConsoleCollection): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const { name: by } = requireAdministrator(c);
    const items = await removeSelected(c.env.service.sources.collections[name], parseSelection(c.env.query), by);
    if (items.length > 0) await recordAction(c, removals[name], describeItems(items));
    return answerJson(c, { removed: items.length });
  };
}

/** Maximum number of items of the trash that one request restores. Their IDs fit into a body. */
const maxRestored = 1000;

export const restoreOrder = z.strictObject({ ids: z.array(z.string()).min(1).max(maxRestored) });
export const restoreResults = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      path: z.string().describe('Virtual path where it is again.').optional(),
      error: z.string().optional().describe('Why it was not restored; absent when it was.'),
    }),
  ),
});

/**
 * Answers `POST /api/trash/restore`. It restores items to their former paths, with all rights. Event `administratorAction` names the
 * restored ones.
 */
export async function restoreItems(c: ConsoleContext): Promise<Response> {
  const { ids } = await readRequest(c, restoreOrder);
  const { trash } = c.env.service.sources.collections;
  const items = (await trash.restore?.(await selectedItems(trash, { ids }), requireAdministrator(c).name)) ?? [];
  const done = items.filter(({ shown }) => shown.problem === undefined);
  if (done.length > 0) await recordAction(c, 'trash-restore', describeItems(done));
  const found = new Map(items.map(({ shown }) => [shown.id, shown]));
  const results = [...new Set(ids)].map((id) => {
    const shown = found.get(id);
    const error = shown ? shown.problem : 'The trash does not have it.';
    return error === undefined ? { id, path: shown?.path } : { id, error };
  });
  return answerJson(c, { results });
}

/** Names items for people. At most twenty are named. */
export function describeItems(items: readonly Item[]): string {
  const names = items.slice(0, maxIdsOfEvent).map(({ shown: { id, account, address, path } }) => {
    const about = [account, path, address === id ? undefined : address].filter((part) => part !== undefined && part !== '');
    return about.length > 0 ? `${id} (${about.join(', ')})` : id;
  });
  return items.length > maxIdsOfEvent ? `${names.join('; ')}; and ${items.length - maxIdsOfEvent} more` : names.join('; ');
}
