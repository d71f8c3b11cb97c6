import type { Entry } from '../../files/entry.ts';
import type { ReplacementRules } from '../../files/operations/replacement.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header, signedIn } from '../request/exchange.ts';
import { type MemberUrl, memberOfUrl, redirectFolder } from '../request/member-url.ts';
import { preconditions } from '../request/preconditions.ts';
import { memberUrlPath } from '../request/request-target.ts';
import { requestedModificationTime } from '../request/upload-metadata.ts';

interface TransferRequest {
  destination: VirtualPath;
  namesFolder: boolean;
  rules: ReplacementRules;
  /** The value of `X-OC-Mtime` as Unix time in milliseconds. */
  modifiedMs: number | undefined;
}

/**
 * Reads the headers of COPY and MOVE (RFC 4918 §9.8, §9.9, §10.3, §10.6).
 *
 * @throws ServiceError `bad-request`; `other-host`, `never-allowed` or `name-reserved` for a destination outside the account's files
 */
export function transferRequest(exchange: Exchange): TransferRequest {
  const { target, method } = exchange;
  const depth = header(exchange, 'depth')?.trim().toLowerCase() ?? 'infinity';
  // A folder is moved as a whole, so MOVE of a folder allows only depth `infinity` (RFC 4918 §9.9.2).
  const isKnown = method === 'COPY' || !(target.kind === 'member' && target.isFolder) ? ['0', 'infinity'] : ['infinity'];
  if (!isKnown.includes(depth)) throw new ServiceError('bad-request', `Depth must be ${isKnown.join(' or ')}.`);
  const overwrite = header(exchange, 'overwrite')?.trim();
  if (overwrite !== undefined && overwrite !== 'T' && overwrite !== 'F') throw new ServiceError('bad-request', 'Overwrite must be T or F.');
  const { path, isFolder } = readDestination(exchange);
  return {
    destination: path,
    namesFolder: isFolder,
    rules: {
      // A missing header means `T` (RFC 4918 §10.6). Unlike the RFC, this service replaces folders only if the header says `T`.
      mayReplace: overwrite === 'F' ? 'nothing' : overwrite === 'T' ? 'anything' : 'file',
      acrossKinds: exchange.service.options.webdav_compatibility,
    },
    modifiedMs: requestedModificationTime(exchange),
  };
}

function readDestination(exchange: Exchange): MemberUrl {
  const lines = exchange.incoming.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'destination');
  const text = header(exchange, 'destination')?.trim() ?? '';
  if (text === '') throw new ServiceError('bad-request', 'The header Destination is missing.');
  if (lines.length > 1) throw new ServiceError('bad-request', 'There must be only one header Destination.');
  return memberOfUrl(exchange, text);
}

/**
 * Handles COPY of a file (docs/spec/webdav.md#copy-and-move; RFC 4918 §9.8). Replies 201 if the destination is new, 204 if it is replaced.
 * Folders are refused.
 */
export async function copyMember(exchange: Exchange): Promise<Response> {
  const { path } = exchange;
  const request = transferRequest(exchange);
  const { destination, rules, modifiedMs } = request;
  const conditions = await preconditions(exchange, path);
  const verify = (source: Entry) => {
    checkForm(exchange, source, request);
    conditions(source);
  };
  const isConditional = rules.mayReplace === 'nothing';
  const { created } = await exchange.files.copyFile(path, destination, { ...rules, isConditional, modifiedMs, verify });
  return respond(exchange, replyTo(destination, created, false, modifiedMs !== undefined));
}

/**
 * Handles MOVE of a file or a folder (docs/spec/webdav.md#copy-and-move; RFC 4918 §9.9). Replies 201 for a new destination, 204 for a
 * replaced one.
 */
export async function moveMember(exchange: Exchange): Promise<Response> {
  const { path } = exchange;
  const request = transferRequest(exchange);
  const { destination, rules } = request;
  const conditions = await preconditions(exchange, path);
  let isFolder = false;
  const verify = (source: Entry) => {
    checkForm(exchange, source, request);
    conditions(source);
    isFolder = source.isFolder;
  };
  const { created } = await signedIn(exchange)
    .files.move(path, destination, { ...rules, verify })
    .catch((error: unknown) => Promise.reject(redirectFolder(path, error)));
  return respond(exchange, replyTo(destination, created, isFolder, false));
}

// With `webdav_compatibility`, the URL of a folder needs no final slash, because clients such as Windows Explorer omit it and follow no
// redirect.
function checkForm(exchange: Exchange, source: Entry, request: TransferRequest): void {
  const { target, service } = exchange;
  const isCompatible = service.options.webdav_compatibility;
  const namesFolder = target.kind === 'member' && target.isFolder;
  if (namesFolder && !source.isFolder) throw new ServiceError('not-found', 'Path not found.');
  if (!namesFolder && source.isFolder && !isCompatible) throw new ServiceError('is-folder', 'The path is a folder.');
  if (request.namesFolder && !source.isFolder && !isCompatible)
    throw new ServiceError('exists', 'The destination of a file must not end in "/".');
}

function replyTo(destination: VirtualPath, created: boolean, isFolder: boolean, keptTime: boolean): Reply {
  return {
    status: created ? 201 : 204,
    headers: {
      location: created ? memberUrlPath(destination, isFolder) : undefined,
      'x-oc-mtime': keptTime ? 'accepted' : undefined,
    },
  };
}
