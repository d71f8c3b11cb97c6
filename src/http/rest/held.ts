import { isHeld } from '../../files/inspections/gate.ts';
import type { HeldUpload } from '../../files/inspections/holding.ts';
import { ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import { jsonReply, type Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { reservedName } from '../request/request-target.ts';

/** Name of the collection of held uploads below `/home/__svc__/`. */
const collection = 'held';

/** The path of a held upload's URL. */
export function heldUrl(id: string): string {
  return `/home/${reservedName}/${collection}/${id}`;
}

/** A held upload that a client is told of as a success. */
export interface HeldResult {
  id: string;
  /** Virtual path. */
  path: string;
}

/** The held upload that a fault tells of; undefined for another fault, and where the client is to hear of a failure. */
export function heldResult(error: unknown): HeldResult | undefined {
  if (!isHeld(error) || error.code !== 'held') return undefined;
  return { id: error.details.held_id as string, path: error.details.held_path as string };
}

/** The reply to a request whose file is held: 202 (docs/spec/inspections.md#what-clients-hear). */
export function heldReply({ visit }: Exchange, { id, path }: HeldResult, headers: Reply['headers'] = {}): Reply {
  // A visitor sees no path of the link's maker, and has no page of what is held.
  if (visit)
    return jsonReply(202, { results: [{ target: baseName(path as VirtualPath), held: id }] }, { ...headers, 'cache-control': 'no-store' });
  return jsonReply(202, { results: [{ target: path, held: id }] }, { ...headers, location: heldUrl(id), 'cache-control': 'no-store' });
}

/** GET of the collection: the account's own held uploads. */
export async function listHeld(exchange: Exchange): Promise<Response> {
  const { account, files } = signedIn(exchange);
  const records = (await files.environment.held.list(account.uuid)).filter(({ path }) => isReached(exchange, path));
  return respond(exchange, jsonReply(200, { held: records.map(shownHeld) }, uncached));
}

/** GET of a held upload. */
export async function showHeld(exchange: Exchange): Promise<Response> {
  const { account, files } = signedIn(exchange);
  const record = await files.environment.held.find(requestedId(exchange), account.uuid);
  if (!isReached(exchange, record.path)) throw new ServiceError('not-found', 'Path not found.');
  return respond(exchange, jsonReply(200, shownHeld(record), uncached));
}

/** DELETE of a held upload: its account withdraws it. */
export async function withdrawHeld(exchange: Exchange): Promise<Response> {
  const { account, files } = signedIn(exchange);
  const id = requestedId(exchange);
  const record = await files.environment.held.find(id, account.uuid);
  if (!isReached(exchange, record.path)) throw new ServiceError('not-found', 'Path not found.');
  await files.environment.held.withdraw(id, account);
  return respond(exchange, { status: 204 });
}

/** Whether the holder of a token or link reaches what the account has at a path; the account itself does. */
function isReached(exchange: Exchange, path: VirtualPath): boolean {
  const { account, files } = signedIn(exchange);
  return !account.grant || files.may(path, 'confirmDeletion') || files.may(path, 'createFile');
}

const uncached = { 'cache-control': 'no-store' };

function requestedId({ target }: Exchange): string {
  return target.kind === 'account-service' ? target.name.slice(collection.length + 1) : '';
}

function shownHeld({ id, path, offsetBytes, held }: HeldUpload) {
  return { id, path, size: offsetBytes, time: Math.round(held.sinceMs) / 1000, reason: held.reason, state: held.state };
}

/** Facts of a refusal that a client hears beside its neutral message. */
export interface ShownRefusal {
  /** UUID of the inspection. */
  inspection?: string;
  message?: string | undefined;
  response?: unknown;
}

/** The words of the inspection that refused a file, as far as the service shows them (`public_error`). */
export function shownRefusal(exchange: Exchange, { details }: Pick<ServiceError, 'details'>): ShownRefusal {
  if (typeof details.inspection !== 'string') return {};
  const { inspection } = details;
  if (!exchange.service.options.public_error) return { inspection };
  const { message, public_response } = (details.public_refusal ?? {}) as { message?: string; public_response?: unknown };
  return { inspection, message, response: public_response };
}
