import { commonPaths } from '../../accounts/narrowing.ts';
import type { Grant } from '../../auth/grants/grant.ts';
import type { MadeGrant } from '../../auth/grants/grants.ts';
import { shownToken } from '../../auth/grants/shown-grant.ts';
import { readTokenOrder } from '../../auth/grants/token-order.ts';
import { ServiceError } from '../../lib/errors.ts';
import { isObject } from '../../lib/json.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { jsonReply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { hasBody, readJsonBody } from '../request/request-body.ts';

const uncached = { 'cache-control': 'no-store' };

/** GET of the account's tokens in force; the holder of a token sees those that it made. */
export async function listTokens(exchange: Exchange): Promise<Response> {
  const { account } = signedIn(exchange);
  requireRight(exchange, undefined);
  const tokens = await exchange.service.grants.list('token', account);
  return respond(exchange, jsonReply(200, { tokens: tokens.map(shownToken) }, uncached));
}

/** POST of a new token: 201 with its secret, which is told here alone (docs/spec/tokens.md#making-one). */
export async function makeToken(exchange: Exchange): Promise<Response> {
  const { account, context } = signedIn(exchange);
  requireRight(exchange, undefined);
  const { grants } = exchange.service;
  const order = readTokenOrder(await readObject(exchange), account.tokens, grants.clock.nowMs());
  requireRight(exchange, order.paths);
  return madeReply(exchange, await grants.make(account, order, account.name, context));
}

/** DELETE of a token: it is over when the reply arrives, with all that it made. */
export async function revokeToken(exchange: Exchange): Promise<Response> {
  const { account, context } = signedIn(exchange);
  if (account.grant?.token !== requestedId(exchange)) requireRight(exchange, undefined);
  const grant = ownToken(exchange);
  await exchange.service.grants.end([grant.id], 'revoked', account.name, context);
  return respond(exchange, { status: 204 });
}

/** POST of a rotation: 201 with a new token in place of the former one. */
export async function rotateToken(exchange: Exchange): Promise<Response> {
  const { account, context } = signedIn(exchange);
  requireRight(exchange, undefined);
  const grant = ownToken(exchange);
  const { overlap = 0, ...others } = hasBody(exchange) ? await readObject(exchange) : {};
  const unknown = Object.keys(others)[0];
  if (unknown !== undefined) throw new ServiceError('bad-request', `The body has the unknown member "${unknown}".`);
  if (typeof overlap !== 'number' || !(overlap >= 0) || !Number.isFinite(overlap))
    throw new ServiceError('bad-request', '"overlap" must be a number of seconds.');
  const limits = { overlapMs: overlap * 1000, maximumMs: account.tokens.maximum_days * 86_400_000 };
  return madeReply(exchange, await exchange.service.grants.rotate(grant.id, limits, account.name, context));
}

/** Refuses clients without the right to make tokens at some paths. @param paths undefined: all that the client reaches */
function requireRight(exchange: Exchange, paths: readonly VirtualPath[] | undefined): void {
  const { account, files } = signedIn(exchange);
  if (!account.tokens.enabled) throw new ServiceError('never-allowed', 'The account has no tokens.');
  const reached = paths ?? commonPaths(account.permissions.options.narrowings) ?? ['/' as VirtualPath];
  if (!reached.every((path) => files.may(path, 'createToken')))
    throw new ServiceError('never-allowed', 'The account may not make tokens (`allow-create-token`).');
}

/** The token of the URL. @throws ServiceError `not-found`, also for a token of another account, and one that the client's token did not make */
function ownToken(exchange: Exchange): Grant {
  const { account } = signedIn(exchange);
  const { service } = exchange;
  const id = requestedId(exchange);
  const grant = service.grants.inForce(id);
  const token = account.grant?.token;
  const isOwn = grant?.kind === 'token' && grant.account.uuid === account.uuid;
  if (!isOwn || (token !== undefined && token !== id && !service.grants.isMadeBy(grant, token)))
    throw new ServiceError('not-found', 'There is no such token.');
  return grant;
}

function requestedId({ target }: Exchange): string {
  return target.kind === 'account-service' ? (target.name.split('/')[1] ?? '') : '';
}

function madeReply(exchange: Exchange, { grant, secret }: MadeGrant): Promise<Response> {
  const { id, ...shown } = shownToken(grant);
  const headers = { ...uncached, location: `/home/__svc__/tokens/${id}` };
  return respond(exchange, jsonReply(201, { id, token: secret, ...shown }, headers));
}

async function readObject(exchange: Exchange): Promise<Record<string, unknown>> {
  if (mediaTypeOfRequest(exchange) !== 'application/json')
    throw new ServiceError('media-type-unsupported', 'A token is described as application/json.');
  const body = await readJsonBody(exchange);
  if (!isObject(body)) throw new ServiceError('bad-request', 'The body must be an object.');
  return body;
}
