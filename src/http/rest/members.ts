import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { HttpMiddleware } from '../environment.ts';
import { handleFormPost } from '../html/form-post.ts';
import { sendHtmlListing } from '../html/html-listing.ts';
import type { Handled } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { folderFormat, mediaTypeOfRequest } from '../request/reply-format.ts';
import { hasBody } from '../request/request-body.ts';
import { postFolderCommands } from './folder-commands.ts';
import { sendJsonListing } from './folder-listing.ts';
import { getFile } from './get-file.ts';
import { FolderRedirect, redirectFolder } from './member-redirect.ts';
import { sendZip } from './zip-download.ts';

/** GET and HEAD of a file's URL: the file, or the redirect to the folder of that name. */
export async function getFileOrRedirect(exchange: Exchange, path: VirtualPath): Promise<Handled> {
  try {
    return await getFile(exchange, path);
  } catch (error) {
    throw redirectFolder(path, error);
  }
}

/** GET and HEAD of a folder, in the form that the client asks for. */
export async function getFolder(exchange: Exchange, path: VirtualPath): Promise<Handled> {
  const format = folderFormat(exchange);
  if (exchange.isHead) clientOf(exchange).files.noteHead(path, true);
  switch (format) {
    case 'json':
      return sendJsonListing(exchange, path);
    case 'zip':
      return sendZip(exchange, path);
    case 'html':
      return sendHtmlListing(exchange, path);
    default:
      return format satisfies never;
  }
}

/** POST to a folder: a form of the pages, or commands. */
export async function postFolder(exchange: Exchange, path: VirtualPath): Promise<Handled> {
  const type = mediaTypeOfRequest(exchange);
  if (type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded') return handleFormPost(exchange, path);
  return postFolderCommands(exchange, path);
}

/** MKCOL with a body is refused for the body, also where there is no MKCOL (docs/spec/webdav.md#mkcol). */
export const refuseMkcolBody: HttpMiddleware = ({ env: { exchange } }, next) => {
  if (exchange.method === 'MKCOL' && hasBody(exchange)) throw new ServiceError('media-type-unsupported', 'MKCOL takes no body.');
  return next();
};

/** POST to a folder whose URL lacks its final slash is sent there. */
export const redirectPostOfFolder: HttpMiddleware = ({ env: { exchange } }, next) => {
  const { method, target, client } = exchange;
  if (method === 'POST' && target.kind === 'member' && client?.files.look(target.path)?.isFolder) throw new FolderRedirect(target.path);
  return next();
};
