import type { Entry } from '../../files/entry.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import type { Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { type Preconditions, preconditions } from '../request/preconditions.ts';
import { urlPathOf } from '../request/request-target.ts';
import { redirectFolder } from '../rest/member-redirect.ts';
import { type TransferRequest, transferRequest } from './webdav-headers.ts';

/** COPY (docs/spec/webdav.md#copy-and-move; RFC 4918 §9.8): files only. 201 for a new destination, 204 for one that was replaced. */
export async function copyMember(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const request = transferRequest(exchange);
  const { destination, rules, modifiedMs } = request;
  const conditions = await preconditions(exchange, path);
  const verify = (source: Entry) => {
    checkForm(exchange, source, request);
    conditions(source);
  };
  const isConditional = rules.mayReplace === 'nothing';
  const { created } = await clientOf(exchange).files.copyFile(path, destination, { ...rules, isConditional, modifiedMs, verify });
  return respond(c, replyTo(destination, created, false, modifiedMs !== undefined));
}

/**
 * MOVE of a file or a folder (docs/spec/webdav.md#copy-and-move; RFC 4918 §9.9): 201 for a new destination, 204 for one that was replaced.
 */
export async function moveMember(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const request = transferRequest(exchange);
  const { destination, rules } = request;
  const conditions: Preconditions = await preconditions(exchange, path);
  let isFolder = false;
  const verify = (source: Entry) => {
    checkForm(exchange, source, request);
    conditions(source);
    isFolder = source.isFolder;
  };
  const { created } = await clientOf(exchange)
    .files.move(path, destination, { ...rules, verify })
    .catch((error: unknown) => Promise.reject(redirectFolder(path, error)));
  return respond(c, replyTo(destination, created, isFolder, false));
}

// Explorer and others name folders without the final slash and do not follow redirects.
function checkForm(exchange: Exchange, source: Entry, request: TransferRequest): void {
  const { target } = exchange;
  const isCompatible = exchange.service.options.webdav_compatibility;
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
      location: created ? urlPathOf(destination, isFolder) : undefined,
      'x-oc-mtime': keptTime ? 'accepted' : undefined,
    },
  };
}
