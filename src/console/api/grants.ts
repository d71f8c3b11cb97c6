import * as z from 'zod';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readRequest } from '../request-body.ts';
import { highestLimit, usualLimit } from './collections.ts';
import { Parameters } from './parameters.ts';

/** Tokens and links that one request names. */
const maxIds = 1000;

/** IDs that one event names. */
const maxIdsOfEvent = 20;

export const grantOrder = z.strictObject({ ids: z.array(z.string()).min(1).max(maxIds) });

/** `GET /api/tokens` and `/api/links`: those in force, newest first. */
export function listGrants(kind: 'token' | 'link'): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const query = Object.fromEntries(c.env.query);
    const limit = new Parameters(query, ['limit', 'account']).number('limit', { usual: usualLimit, max: highestLimit });
    const items = await c.env.service.sources.grants.list(kind, c.env.query.get('account') ?? undefined);
    return answerJson(c, { items: items.slice(0, limit), total: items.length });
  };
}

/** `POST /api/tokens/revoke` and `/api/links/revoke`. Event `administratorAction`. */
export function revokeGrants(kind: 'token' | 'link'): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const { ids } = await readRequest(c, grantOrder);
    const revoked = await c.env.service.sources.grants.revoke(kind, ids, requireAdministrator(c).name);
    const named = revoked.slice(0, maxIdsOfEvent).join('; ');
    if (revoked.length > 0) await recordAction(c, `${kind}-revoke`, revoked.length > maxIdsOfEvent ? `${named}; …` : named);
    return answerJson(c, { revoked });
  };
}
