import { answerJson } from '../answer.ts';
import type { ConsoleContext } from '../environment.ts';
import { accountLimits } from './limits.ts';
import { Parameters, pathPart } from './parameters.ts';

/** `GET /api/accounts`: a page of the accounts, by name. */
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

/** `GET /api/accounts/{name}`. */
export async function showAccount(c: ConsoleContext): Promise<Response> {
  Parameters.fromQuery(c.env.query, []);
  return answerJson(c, await c.env.service.sources.accounts.find(pathPart(c, 'name')));
}
