import type { Grant } from '../../auth/grants/grant.ts';
import { readLinkChange, readLinkOrder } from '../../auth/grants/link-order.ts';
import { shownLink } from '../../auth/grants/shown-grant.ts';
import { requireLinks, requireSharable } from '../../files/sharing.ts';
import { ServiceError } from '../../lib/errors.ts';
import { pathSegments, type VirtualPath } from '../../lib/virtual-path.ts';
import { postSharedForm, showSharedPage } from '../html/shared-page.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { publicOrigin } from '../request/own-origin.ts';
import { mediaTypeOfRequest, replyFormat } from '../request/reply-format.ts';
import { readJsonObject } from '../request/request-body.ts';
import { itemId, linkUrlPath, reservedName } from '../request/request-target.ts';

const notJson = 'A link must be described as application/json.';

/** Answers POST of a new link (docs/spec/links.md#making-links). Only this reply, with status 201, shows the link's URL. */
async function makeLink(exchange: Exchange): Promise<Response> {
  const { account, context, files } = signedIn(exchange);
  requireLinks(files);
  const body = await readJsonObject(exchange, notJson);
  const { grants } = exchange.service;
  const order = await readLinkOrder(body, account.links, grants.clock.nowMs());
  const [path] = order.paths;
  if (pathSegments(path)[0] === reservedName) throw new ServiceError('name-reserved', 'This name is reserved.');
  requireSharable(files, path, order.link.kind);
  const { grant, secret } = await grants.make(account, order, account.name, context);
  const { id, ...shown } = shownLink(grant);
  const url = publicOrigin(exchange) + linkUrlPath(secret, '/' as VirtualPath, true);
  const headers = { ...uncached, location: `/home/${reservedName}/links/${id}` };
  return respond(exchange, jsonReply(201, { id, url, ...shown }, headers));
}

function ownLinks(exchange: Exchange): Promise<Grant[]> {
  return exchange.service.grants.list('link', signedIn(exchange).account);
}

/** Answers GET of the links that the account created. */
export async function listLinks(exchange: Exchange): Promise<Response> {
  requireLinks(signedIn(exchange).files);
  const links = await ownLinks(exchange);
  if (replyFormat(exchange) === 'html') return showSharedPage(exchange, links);
  return respond(exchange, jsonReply(200, { links: links.map(shownLink) }, uncached));
}

/** Answers POST to the collection: a JSON request for a new link, or a form of the page. */
export function postLinks(exchange: Exchange): Promise<Response> {
  if (mediaTypeOfRequest(exchange) !== 'application/x-www-form-urlencoded') return makeLink(exchange);
  requireLinks(signedIn(exchange).files);
  return postSharedForm(exchange, { own: () => ownLinks(exchange), revoke: (ids) => revoke(exchange, ids) });
}

async function ownLink(exchange: Exchange): Promise<Grant> {
  const id = itemId(exchange.target);
  const link = (await ownLinks(exchange)).find((own) => own.id === id);
  if (!link) throw new ServiceError('not-found', 'There is no such link.');
  return link;
}

/** Answers PATCH of a link with its new settings (docs/spec/links.md#changing-links). */
export async function changeLink(exchange: Exchange): Promise<Response> {
  const { account, context, files } = signedIn(exchange);
  requireLinks(files);
  const body = await readJsonObject(exchange, notJson);
  const { id, link, paths: [path = '/' as VirtualPath] = [] } = await ownLink(exchange);
  const kind = link?.kind ?? 'download';
  requireSharable(files, path, kind);
  const { grants } = exchange.service;
  const change = await readLinkChange(body, kind, account.links, grants.clock.nowMs());
  return respond(exchange, jsonReply(200, shownLink(await grants.change(id, change, account.name, context)), uncached));
}

/** Answers DELETE of a link with 204. Before the reply, the link ends for all visitors, and their downloads are cut. */
export async function revokeLink(exchange: Exchange): Promise<Response> {
  await revoke(exchange, [(await ownLink(exchange)).id]);
  return respond(exchange, { status: 204 });
}

async function revoke(exchange: Exchange, ids: readonly string[]): Promise<number> {
  const { account, context } = signedIn(exchange);
  return (await exchange.service.grants.end(ids, 'revoked', account.name, context)).length;
}
