import { isHeld } from '../../files/inspections/gate.ts';
import type { HeldUpload } from '../../files/inspections/holding.ts';
import type { ServiceError } from '../../lib/errors.ts';
import { baseName, type VirtualPath } from '../../lib/virtual-path.ts';
import { jsonReply, type Reply } from '../reply/reply.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { reservedName } from '../request/request-target.ts';

/** Name of the collection of held uploads below `/home/__svc__/`. */
export const heldCollection = 'held';

/** Returns the URL path of a held upload. */
export function heldUrl(id: string): string {
  return `/home/${reservedName}/${heldCollection}/${id}`;
}

/** A held upload that is reported to the client as a success. */
export interface HeldResult {
  id: string;
  /** Virtual path of the file. */
  path: string;
}

/** If an error only means that a file is held, returns the held upload. Undefined for other errors, or if the client must get a failure. */
export function heldResult(error: unknown): HeldResult | undefined {
  if (!isHeld(error) || error.code !== 'held') return undefined;
  return { id: error.details.held_id as string, path: error.details.held_path as string };
}

/** Builds the reply, with status 202, to a request whose file is held (docs/spec/inspections.md#replies-to-clients). */
export function heldReply({ visit }: Exchange, { id, path }: HeldResult, headers: Reply['headers'] = {}): Reply {
  // A visitor must not see paths of the link's creator, and has no page of held uploads.
  if (visit)
    return jsonReply(202, { results: [{ target: baseName(path as VirtualPath), held: id }] }, { ...headers, 'cache-control': 'no-store' });
  return jsonReply(202, { results: [{ target: path, held: id }] }, { ...headers, location: heldUrl(id), 'cache-control': 'no-store' });
}

/** Returns the account's own held uploads. For a token, returns only the uploads that the token can reach. */
export async function ownHeld(exchange: Exchange): Promise<HeldUpload[]> {
  const { account, files } = signedIn(exchange);
  return (await files.environment.held.list(account.uuid)).filter(({ path }) => isReached(exchange, path));
}

/** Returns whether the client can reach a path. A token or link can limit the client to some of the account's paths. */
export function isReached(exchange: Exchange, path: VirtualPath): boolean {
  const { account, files } = signedIn(exchange);
  return !account.grant || files.may(path, 'confirmDeletion') || files.may(path, 'createFile');
}

/** Details that a client gets about a refusal. If there is a `message`, it replaces the neutral message. */
export interface ShownRefusal {
  inspection?: string;
  message?: string | undefined;
  response?: unknown;
}

/** Returns the details that the service shows to clients about a refusal by an inspection (`public_error`). */
export function shownRefusal(exchange: Exchange, { details }: Pick<ServiceError, 'details'>): ShownRefusal {
  if (typeof details.inspection !== 'string') return {};
  const { inspection } = details;
  if (!exchange.service.options.public_error) return { inspection };
  const { message, public_response } = (details.public_refusal ?? {}) as { message?: string; public_response?: unknown };
  return { inspection, message, response: public_response };
}
