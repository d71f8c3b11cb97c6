import type { HeldUpload } from '../../files/inspections/holding.ts';
import { ServiceError } from '../../lib/errors.ts';
import { showHeldPage } from '../html/held-page.ts';
import { jsonReply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { replyFormat } from '../request/reply-format.ts';
import { heldCollection, isReached, ownHeld } from './held.ts';

/** Answers GET of the collection with the account's own held uploads. */
export async function listHeld(exchange: Exchange): Promise<Response> {
  if (replyFormat(exchange) === 'html') return showHeldPage(exchange);
  return respond(exchange, jsonReply(200, { held: (await ownHeld(exchange)).map(shownHeld) }, uncached));
}

/** Answers GET of a held upload. */
export async function showHeld(exchange: Exchange): Promise<Response> {
  const { account, files } = signedIn(exchange);
  const record = await files.environment.held.find(requestedId(exchange), account.uuid);
  if (!isReached(exchange, record.path)) throw new ServiceError('not-found', 'Path not found.');
  return respond(exchange, jsonReply(200, shownHeld(record), uncached));
}

/** Answers DELETE of a held upload: withdraws the upload. */
export async function withdrawHeld(exchange: Exchange): Promise<Response> {
  const { account, files } = signedIn(exchange);
  const id = requestedId(exchange);
  const record = await files.environment.held.find(id, account.uuid);
  if (!isReached(exchange, record.path)) throw new ServiceError('not-found', 'Path not found.');
  await files.environment.held.withdraw(id, account);
  return respond(exchange, { status: 204 });
}

function requestedId({ target }: Exchange): string {
  return target.kind === 'account-service' ? target.name.slice(heldCollection.length + 1) : '';
}

function shownHeld({ id, path, offsetBytes, held }: HeldUpload) {
  return { id, path, size: offsetBytes, time: Math.round(held.sinceMs) / 1000, reason: held.reason, state: held.state };
}
