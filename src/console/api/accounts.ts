import * as z from 'zod';
import { credentialKinds } from '../../accounts/credential-kinds.ts';
import { checkQuestion, decide } from '../../config/cases/decision.ts';
import { answerJson } from '../answer.ts';
import { type ConsoleContext, recordAction, requireAdministrator } from '../environment.ts';
import { readRequest } from '../request-body.ts';
import { answerFound } from './collections.ts';
import { accountLimits } from './limits.ts';
import { Parameters, pathPart } from './parameters.ts';

/** Answers `GET /api/accounts` with a page of accounts, sorted by name. */
export async function listAccounts(c: ConsoleContext): Promise<Response> {
  const parameters = Parameters.fromQuery(c.env.query, ['search', 'group', 'limit', 'cursor']);
  const selection = {
    search: parameters.text('search') ?? '',
    group: parameters.text('group'),
    after: parameters.text('cursor'),
    limit: parameters.number('limit', accountLimits),
  };
  return answerJson(c, await c.env.service.sources.accounts.list(selection));
}

/** Answers `GET /api/accounts/{name}` with an account. */
export async function showAccount(c: ConsoleContext): Promise<Response> {
  Parameters.fromQuery(c.env.query, []);
  return answerJson(c, await c.env.service.sources.accounts.find(pathPart(c, 'name')));
}

const text = z.string().max(10_000);

/** The body of `POST /api/explain`. Its members have the names of the options of `svc explain`. */
export const explainRequest = z.strictObject({
  user: text.describe('Name of the account.'),
  group: text.optional().describe('Group of the account, if only the authentication endpoint knows it.'),
  method: text.describe('An HTTP method, an SFTP request, or `LOGIN`.'),
  path: text.optional().describe('Path of the URL, `/home/…`; for SFTP the path that the client sends; none for `LOGIN`.'),
  destination: text.optional().describe('Destination of a copy, move or rename.'),
  service: text.optional().describe('For `LOGIN`: UUID of the SSH service; default: the first one.'),
  credentials: z
    .array(z.enum(credentialKinds))
    .min(1)
    .max(2)
    .optional()
    .describe('For `LOGIN`: credentials in the order in which the client presents them.'),
});

/**
 * Answers `POST /api/explain` with the decision of the running configuration about a request. Nothing is changed, and no other server is
 * contacted.
 */
export async function explainDecision(c: ConsoleContext): Promise<Response> {
  const question = checkQuestion(await readRequest(c, explainRequest));
  const { config } = c.env.service.sources.configuration.running();
  return answerJson(c, decide(config, question));
}

const maxIds = 1000;

const maxIdsOfEvent = 20;

export const grantOrder = z.strictObject({ ids: z.array(z.string()).min(1).max(maxIds) });

/** Answers `GET /api/tokens` and `/api/links` with the valid tokens or links, newest first. */
export function listGrants(kind: 'token' | 'link'): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const account = Parameters.fromQuery(c.env.query, ['limit', 'search', 'account']).text('account');
    return answerFound(c, await c.env.service.sources.grants.list(kind, account));
  };
}

/** Answers `POST /api/tokens/revoke` and `/api/links/revoke`. Emits `administratorAction` if anything was revoked. */
export function revokeGrants(kind: 'token' | 'link'): (c: ConsoleContext) => Promise<Response> {
  return async (c) => {
    const { ids } = await readRequest(c, grantOrder);
    const revoked = await c.env.service.sources.grants.revoke(kind, ids, requireAdministrator(c).name);
    const named = revoked.slice(0, maxIdsOfEvent).join('; ');
    if (revoked.length > 0) await recordAction(c, `${kind}-revoke`, revoked.length > maxIdsOfEvent ? `${named}; …` : named);
    return answerJson(c, { revoked });
  };
}
