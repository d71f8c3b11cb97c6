import type { Trashed } from '../../files/trash/trash-folder.ts';
import { ServiceError } from '../../lib/errors.ts';
import { showTrashPage } from '../html/trash-page.ts';
import { errorsReply } from '../reply/error-reply.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { replyFormat } from '../request/reply-format.ts';
import { hasBody, readJsonObject } from '../request/request-body.ts';
import { itemId, serverPathValue } from '../request/request-target.ts';
import { restoreMember } from './member-actions.ts';

/** Returns an item of the trash as replies show it (docs/spec/files.md#trash). `deleted` is in seconds, to the millisecond. */
function shownTrashed({ id, path, sizeBytes, isFolder, deletedMs, origin }: Trashed) {
  return { id, path, size: sizeBytes, is_directory: isFolder, deleted: Math.round(deletedMs) / 1000, by: origin.account.name };
}

/** Answers GET of the trash with the items that the account may restore, newest first. */
export async function showTrash(exchange: Exchange): Promise<Response> {
  if (replyFormat(exchange) === 'html') return showTrashPage(exchange);
  const trash = (await signedIn(exchange).files.trash.list()).map(shownTrashed);
  return respond(exchange, jsonReply(200, { trash }, uncached));
}

/** Answers DELETE of the trash with 204. If the account may not delete some items, answers 422 with those items. */
export async function emptyTrash(exchange: Exchange): Promise<Response> {
  const left = await signedIn(exchange).files.trash.empty();
  if (left.length === 0) return respond(exchange, { status: 204 });
  const items = left.map(({ id }) => ({ target: id, message: 'Permission denied.' }));
  return respond(exchange, errorsReply(422, items));
}

/** Answers DELETE of one item of the trash. */
export async function endTrashed(exchange: Exchange): Promise<Response> {
  await signedIn(exchange).files.trash.end(itemId(exchange.target));
  return respond(exchange, { status: 204 });
}

/** Answers POST of a restoration with 201 and the path. If the body names another path, the item is restored there. */
export async function restoreTrashed(exchange: Exchange): Promise<Response> {
  const wanted = await wantedPath(exchange);
  const path = await restoreMember(signedIn(exchange).files, itemId(exchange.target), wanted);
  return respond(exchange, { status: 201, headers: { 'server-path': serverPathValue(path) } });
}

async function wantedPath(exchange: Exchange): Promise<string | undefined> {
  if (!hasBody(exchange)) return undefined;
  const body = await readJsonObject(exchange, 'The path for a restoration must be sent as application/json.');
  const unknown = Object.keys(body).find((key) => key !== 'path');
  if (unknown !== undefined) throw new ServiceError('bad-request', `The body has the unknown member "${unknown}".`);
  if (body.path === undefined) return undefined;
  if (typeof body.path !== 'string') throw new ServiceError('bad-request', '"path" must be a string.');
  return body.path;
}
