import * as z from 'zod';
import {
  actOn,
  type CollectionName,
  type HeldAction,
  type Item,
  parseSelection,
  removeSelected,
  selectedItems,
} from '../../control/collection.ts';
import { ServiceError } from '../../lib/errors.ts';
import { contentDisposition } from '../../lib/headers/header-fields.ts';
import { baseName } from '../../lib/virtual-path.ts';
import { answerJson, cutWhenOver, replyHeaders } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { mayReview } from '../login/administrators.ts';
import { readRequest } from '../request-body.ts';
import { Parameters, pathPart } from './parameters.ts';
import type { HeldTargets } from './schemas/accounts.ts';

export const usualLimit = 1000;
export const highestLimit = 10_000;

type ConsoleCollection = Exclude<CollectionName, 'held'>;

/** The `action` of event `administratorAction` when items are removed from a collection. */
const removals: Readonly<Record<ConsoleCollection, string>> = {
  sessions: 'session-end',
  bans: 'ban-lift',
  locks: 'lock-break',
  uploads: 'upload-cancel',
  trash: 'trash-end',
};

export const collectionNames = Object.keys(removals) as ConsoleCollection[];

/** Maximum number of items that event `administratorAction` names. */
const maxIdsOfEvent = 20;

/** Answers `GET /api/sessions`, `/api/locks`, `/api/bans`, `/api/uploads`, `/api/trash` and `/api/held` with the selected items. */
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
  const comparedText = (value: unknown) => (typeof value === 'number' ? '' : String(value ?? '').toLowerCase());
  const hasSearch = (item: object) => Object.values(item).some((value) => comparedText(value).includes(search));
  const found = search === '' ? items : items.filter(hasSearch);
  return answerJson(c, { items: found.slice(0, limit), total: found.length });
}

/** Answers `DELETE`: removes the selected items, or all with `all=1`. Emits `administratorAction` if any were removed. */
export function removeItems(name: ConsoleCollection): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const { name: by } = requireAdministrator(c);
    const items = await removeSelected(c.env.service.sources.collections[name], parseSelection(c.env.query), by);
    if (items.length > 0) await recordAction(c, removals[name], ...describeItems(items));
    return answerJson(c, { removed: items.length });
  };
}

/** Maximum number of trash items in one request to restore them. A body with this many IDs is below the size limit of bodies. */
const maxRestored = 1000;

export const restoreOrder = z.strictObject({
  ids: z.array(z.string()).min(1).max(maxRestored),
  path: z
    .string()
    .optional()
    .describe('Another path, or another name in the former folder, for example if the former path is taken; only with a single ID.'),
});
export const restoreResults = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      path: z.string().describe('Virtual path to which the item was restored.').optional(),
      error: z.string().optional().describe('Why the item was not restored; absent if it was.'),
      code: z.string().optional().describe('The reason as a code, such as `exists` if the path is taken.'),
    }),
  ),
});

/**
 * Answers `POST /api/trash/restore`: restores items to their former paths, or one item to another path, without checking the rights of
 * their accounts. Event `administratorAction` names the items that were restored.
 */
export async function restoreItems(c: ConsoleContext): Promise<Response> {
  const { ids, path } = await readRequest(c, restoreOrder);
  if (path !== undefined && ids.length !== 1) throw new ServiceError('bad-request', 'With "path", "ids" must have exactly one ID.');
  const { trash } = c.env.service.sources.collections;
  const items = (await trash.restore?.(await selectedItems(trash, { ids }), requireAdministrator(c).name, path)) ?? [];
  const done = items.filter(({ shown }) => shown.problem === undefined);
  if (done.length > 0) await recordAction(c, 'trash-restore', ...describeItems(done));
  const found = new Map(items.map(({ shown }) => [shown.id, shown]));
  const results = [...new Set(ids)].map((id) => {
    const shown = found.get(id);
    if (!shown) return { id, error: 'The item is not in the trash.', code: 'not-found' };
    return shown.problem === undefined ? { id, path: shown.path } : { id, error: shown.problem, code: shown.code };
  });
  return answerJson(c, { results });
}

/** Returns a text that names up to 20 items and says how many more there are, and the IDs of the named items. */
function describeItems(items: readonly Item[]): [string, string[]] {
  const told = items.slice(0, maxIdsOfEvent).map(({ shown }) => shown);
  const names = told.map(({ id, account, address, path }) => {
    const [first = id, ...others] = [path, account, address].filter((part) => part !== undefined && part !== '');
    return others.length > 0 ? `${first} (${others.join(', ')})` : String(first);
  });
  if (items.length > maxIdsOfEvent) names.push(`and ${items.length - maxIdsOfEvent} more`);
  return [names.join('; '), told.map(({ id }) => id)];
}

/** Maximum number of held uploads in one request. A body with this many IDs is below the size limit of bodies. */
const maxIds = 1000;

export const heldOrder = z.strictObject({ ids: z.array(z.string()).min(1).max(maxIds) });
export const discardOrder = heldOrder.extend({
  reason: z.string().optional().describe('Recorded in the event; the sender of the file sees it, too.'),
});
export const heldResults = z.object({
  results: z.array(
    z.object({
      id: z.string(),
      error: z.string().optional().describe('Why the action failed; absent if it succeeded.'),
      code: z.string().optional().describe('The reason as a code, such as `not-found` if the upload is no longer held.'),
    }),
  ),
});

/** Answers `POST /api/held/targets`: what has the names of held uploads now, and would be replaced. Nothing is changed. */
export async function findHeldTargets(c: ConsoleContext): Promise<Response> {
  const { ids } = await readRequest(c, heldOrder);
  const { held } = c.env.service.sources.collections;
  const results: HeldTargets['results'] = [];
  for (const id of new Set(ids)) {
    try {
      const found = await held.target?.(id);
      const target = found ? { size: found.sizeBytes, modified: new Date(found.modifiedMs).toISOString(), outcome: found.outcome } : null;
      results.push({ id, target });
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      results.push({ id, error: error.message, code: error.code });
    }
  }
  return answerJson(c, { results });
}

/**
 * Answers `POST /api/held/release`, `discard` and `inspect-again`. Event `administratorAction` names the uploads for which the action
 * succeeded.
 */
export function actOnHeld(action: HeldAction): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const order: z.infer<typeof discardOrder> = await readRequest(c, action === 'discard' ? discardOrder : heldOrder);
    const { ids, reason } = order;
    const { held } = c.env.service.sources.collections;
    const named = await selectedItems(held, { ids });
    const results = await actOn(held, action, ids, requireAdministrator(c).name, reason);
    const done = new Set(results.filter(({ error }) => error === undefined).map(({ id }) => id));
    const items = named.filter(({ handle }) => done.has(handle));
    if (items.length > 0) await recordAction(c, `held-${action}`, ...describeItems(items));
    return answerJson(c, { results });
  };
}

/**
 * Answers `GET /api/held/{id}/content` with the file, for reviewers and operators. Emits `administratorAction`, except for HEAD.
 *
 * @throws ServiceError `forbidden` for a viewer
 */
export async function sendHeldContent(c: ConsoleContext): Promise<Response> {
  if (!mayReview(requireAdministrator(c))) throw new ServiceError('forbidden', 'The role viewer may not see the content of files.');
  const { held } = c.env.service.sources.collections;
  const id = pathPart(c, 'id');
  const [item] = await selectedItems(held, { ids: [id] });
  const content = await held.content?.(id);
  if (!item || !content) throw new ServiceError('not-found', 'There is no such held upload.');
  const headers = {
    ...replyHeaders(c),
    'content-type': 'application/octet-stream',
    'content-length': String(content.sizeBytes),
    'content-disposition': contentDisposition('attachment', baseName(content.path)),
  };
  if (c.env.method === 'HEAD') return new Response(null, { headers });
  await recordAction(c, 'held-download', ...describeItems([item]));
  cutWhenOver(c);
  return new Response(ReadableStream.from(content.chunks()) as ReadableStream<Uint8Array>, { headers });
}
