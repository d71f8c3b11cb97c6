import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { handleFormPost } from '../html/form-post.ts';
import { sendHtmlListing } from '../html/html-listing.ts';
import type { Handled } from '../reply/reply.ts';
import type { Exchange } from '../request/exchange.ts';
import { folderFormat, mediaTypeOfRequest } from '../request/reply-format.ts';
import { hasBody } from '../request/request-body.ts';
import { copyMember, moveMember } from '../webdav/copy-move.ts';
import { lockMember, unlockMember } from '../webdav/locks.ts';
import { makeCollection } from '../webdav/mkcol.ts';
import { propfind } from '../webdav/propfind.ts';
import { refuseProperties } from '../webdav/proppatch.ts';
import { isClassTwo, optionsReply } from '../webdav/webdav-class.ts';
import { deleteFile, deleteFolder } from './delete.ts';
import { postFolderCommands } from './folder-commands.ts';
import { sendJsonListing } from './folder-listing.ts';
import { getFile } from './get-file.ts';
import { FolderRedirect, redirectFolder } from './member-redirect.ts';
import { putFile, putFolder } from './put.ts';
import { sendZip } from './zip-download.ts';

type MemberHandler = (exchange: Exchange, path: VirtualPath) => Promise<Handled> | Handled;

async function getFileOrRedirect(exchange: Exchange, path: VirtualPath): Promise<Handled> {
  try {
    return await getFile(exchange, path);
  } catch (error) {
    throw redirectFolder(path, error);
  }
}

async function getFolder(exchange: Exchange, path: VirtualPath): Promise<Handled> {
  const format = folderFormat(exchange);
  if (exchange.isHead) exchange.client?.files.noteHead(path, true);
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

async function postFolder(exchange: Exchange, path: VirtualPath): Promise<Handled> {
  const type = mediaTypeOfRequest(exchange);
  if (type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded') return handleFormPost(exchange, path);
  return postFolderCommands(exchange, path);
}

const webdavHandlers: Readonly<Record<string, MemberHandler>> = {
  PROPFIND: propfind,
  PROPPATCH: refuseProperties,
  COPY: copyMember,
  MOVE: moveMember,
};

/** The methods of file URLs. */
const fileHandlers: Readonly<Record<string, MemberHandler>> = {
  GET: getFileOrRedirect,
  HEAD: getFileOrRedirect,
  PUT: putFile,
  DELETE: deleteFile,
  ...webdavHandlers,
};

const mkcolHandlers: Readonly<Record<string, MemberHandler>> = {
  MKCOL: (exchange, path) => makeCollection(exchange, path, allowOf(exchange)),
};

/** The methods of folder URLs. */
const folderHandlers: Readonly<Record<string, MemberHandler>> = {
  GET: getFolder,
  HEAD: getFolder,
  PUT: putFolder,
  DELETE: deleteFolder,
  POST: postFolder,
  ...mkcolHandlers,
  ...webdavHandlers,
};

const lockHandlers: Readonly<Record<string, MemberHandler>> = { LOCK: lockMember, UNLOCK: unlockMember };

function handlersOf(exchange: Exchange): Readonly<Record<string, MemberHandler>> {
  const { target, service } = exchange;
  const handlers = target.kind === 'member' && target.isFolder ? folderHandlers : fileHandlers;
  if (!service.options.webdav_compatibility) return handlers;
  return { ...handlers, ...mkcolHandlers, ...(isClassTwo(exchange) ? lockHandlers : {}) };
}

/** Answers a request about a file or folder; the client is authenticated. */
export async function handleMember(exchange: Exchange): Promise<Handled> {
  const { target, method } = exchange;
  if (target.kind !== 'member') throw new ServiceError('not-found', 'Path not found.');
  const handler = handlersOf(exchange)[method];
  if (handler) return handler(exchange, target.path);
  const allow = allowOf(exchange);
  if (method === 'OPTIONS') return optionsReply(exchange, allow);
  if (method === 'MKCOL' && hasBody(exchange)) throw new ServiceError('media-type-unsupported', 'MKCOL takes no body.');
  if (method === 'POST' && !target.isFolder) await redirectPostOfFolder(exchange, target.path);
  throw new ServiceError('method-not-allowed', `${method} is not supported here.`, { details: { allow } });
}

/** The value of `Allow` for the URL of a request. */
function allowOf(exchange: Exchange): string {
  return ['OPTIONS', ...Object.keys(handlersOf(exchange))].join(', ');
}

async function redirectPostOfFolder(exchange: Exchange, path: VirtualPath): Promise<void> {
  const entry = exchange.client?.files.look(path);
  if (entry?.isFolder) throw new FolderRedirect(path);
}
