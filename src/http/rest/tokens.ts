import type { Grant } from '../../auth/grants/grant.ts';
import type { MadeGrant } from '../../auth/grants/grants.ts';
import { shownToken } from '../../auth/grants/shown-grant.ts';
import { readTokenOrder, requireKnown } from '../../auth/grants/token-order.ts';
import { requireTokenRights, requireTokens } from '../../files/sharing.ts';
import { ServiceError } from '../../lib/errors.ts';
import { postTokensForm, showTokensPage } from '../html/tokens-page.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { mediaTypeOfRequest, replyFormat } from '../request/reply-format.ts';
import { hasBody, readJsonObject } from '../request/request-body.ts';
import { itemId } from '../request/request-target.ts';

const notJson = 'A token must be described as application/json.';

/** Answers GET of the account's valid tokens. If the client itself uses a token, it gets only tokens that were created with this token. */
export async function listTokens(exchange: Exchange): Promise<Response> {
  requireTokens(signedIn(exchange).files);
  const tokens = await ownTokens(exchange);
  if (replyFormat(exchange) === 'html') return showTokensPage(exchange, tokens);
  return respond(exchange, jsonReply(200, { tokens: tokens.map(shownToken) }, uncached));
}

/** Answers POST to the collection: a JSON request for a new token, or a form of the page. */
export async function postTokens(exchange: Exchange): Promise<Response> {
  requireTokens(signedIn(exchange).files);
  if (mediaTypeOfRequest(exchange) !== 'application/x-www-form-urlencoded')
    return madeReply(exchange, await make(exchange, await readJsonObject(exchange, notJson)));
  const { account, context } = signedIn(exchange);
  return postTokensForm(exchange, {
    own: () => ownTokens(exchange),
    make: (order) => make(exchange, order),
    rotate: (id, overlapS) => rotate(exchange, id, overlapS),
    revoke: async (ids) => (await exchange.service.grants.end(ids, 'revoked', account.name, context)).length,
  });
}

/** Answers DELETE of a token. The token, and the tokens and links created with it, have ended before the reply is sent. */
export async function revokeToken(exchange: Exchange): Promise<Response> {
  const { account, context } = signedIn(exchange);
  if (account.grant?.token !== itemId(exchange.target)) requireTokens(signedIn(exchange).files);
  const grant = ownToken(exchange);
  await exchange.service.grants.end([grant.id], 'revoked', account.name, context);
  return respond(exchange, { status: 204 });
}

/** Answers POST of a rotation with 201 and a new token that replaces the old one. */
export async function rotateToken(exchange: Exchange): Promise<Response> {
  requireTokens(signedIn(exchange).files);
  const grant = ownToken(exchange);
  const body = hasBody(exchange) ? await readJsonObject(exchange, notJson) : {};
  requireKnown(body, ['overlap']);
  const { overlap = 0 } = body;
  if (typeof overlap !== 'number' || !(overlap >= 0) || !Number.isFinite(overlap))
    throw new ServiceError('bad-request', '"overlap" must be a number of seconds.');
  return madeReply(exchange, await rotate(exchange, grant.id, overlap));
}

function ownTokens(exchange: Exchange): Promise<Grant[]> {
  return exchange.service.grants.list('token', signedIn(exchange).account);
}

/** Creates a token (docs/spec/tokens.md#creating-tokens). Only the reply to this request shows the token's secret. */
async function make(exchange: Exchange, body: Readonly<Record<string, unknown>>): Promise<MadeGrant> {
  const { account, context } = signedIn(exchange);
  const { grants } = exchange.service;
  const order = readTokenOrder(body, account.tokens, grants.clock.nowMs());
  requireTokenRights(signedIn(exchange).files, order.paths);
  return grants.make(account, order, account.name, context);
}

function rotate(exchange: Exchange, id: string, overlapS: number): Promise<MadeGrant> {
  const { account, context } = signedIn(exchange);
  const { maximum, maximum_days } = account.tokens;
  const limits = { overlapMs: overlapS * 1000, maximum, maximumMs: maximum_days * 86_400_000 };
  return exchange.service.grants.rotate(id, limits, account.name, context);
}

/**
 * Returns the token that the URL names.
 *
 * @throws ServiceError `not-found`, also for other accounts' tokens. A client with a token finds only that token and those created with it
 */
function ownToken(exchange: Exchange): Grant {
  const { account } = signedIn(exchange);
  const { service } = exchange;
  const id = itemId(exchange.target);
  const grant = service.grants.inForce(id);
  const token = account.grant?.token;
  const isOwn = grant?.kind === 'token' && grant.account.uuid === account.uuid;
  if (!isOwn || (token !== undefined && token !== id && !service.grants.isMadeBy(grant, token)))
    throw new ServiceError('not-found', 'There is no such token.');
  return grant;
}

function madeReply(exchange: Exchange, { grant, secret }: MadeGrant): Promise<Response> {
  const { id, ...shown } = shownToken(grant);
  const headers = { ...uncached, location: `/home/__svc__/tokens/${id}` };
  return respond(exchange, jsonReply(201, { id, token: secret, ...shown }, headers));
}
