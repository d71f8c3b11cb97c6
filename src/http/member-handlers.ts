import { ServiceError } from '../lib/errors.ts';
import type { VirtualPath } from '../lib/virtual-path.ts';
import { deleteFile, deleteFolder } from './delete.ts';
import type { Exchange } from './exchange.ts';
import { postFolderCommands } from './folder-commands.ts';
import { sendJsonListing } from './folder-listing.ts';
import { handleFormPost } from './form-post.ts';
import { getFile } from './get-file.ts';
import { sendHtmlListing } from './html-listing.ts';
import { FolderRedirect, redirectFolder } from './member-redirect.ts';
import { putFile, putFolder } from './put.ts';
import type { Handled } from './reply.ts';
import { folderFormat, mediaTypeOfRequest } from './reply-format.ts';
import { serverPathOf } from './request-target.ts';
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

/** The methods of file URLs. */
const fileHandlers: Readonly<Record<string, MemberHandler>> = {
  GET: getFileOrRedirect,
  HEAD: getFileOrRedirect,
  PUT: putFile,
  DELETE: deleteFile,
};

/** The methods of folder URLs. */
const folderHandlers: Readonly<Record<string, MemberHandler>> = {
  GET: getFolder,
  HEAD: getFolder,
  PUT: putFolder,
  DELETE: deleteFolder,
  POST: postFolder,
};

/** Answers a request about a file or folder; the client is authenticated. */
export async function handleMember(exchange: Exchange): Promise<Handled> {
  const { target, method } = exchange;
  if (target.kind !== 'member') throw new ServiceError('not-found', 'Path not found.');
  const handlers = target.isFolder ? folderHandlers : fileHandlers;
  const handler = handlers[method];
  if (handler) return handler(exchange, target.path);
  const allow = allowOf(target.isFolder);
  if (method === 'OPTIONS') return { status: 204, headers: { allow, 'server-path': serverPathOf(target.path) } };
  if (method === 'POST' && !target.isFolder) await redirectPostOfFolder(exchange, target.path);
  throw new ServiceError('method-not-allowed', `${method} is not supported here.`, { details: { allow } });
}

/** The value of `Allow` for a file or a folder URL. */
export function allowOf(isFolder: boolean): string {
  return ['OPTIONS', ...Object.keys(isFolder ? folderHandlers : fileHandlers)].join(', ');
}

async function redirectPostOfFolder(exchange: Exchange, path: VirtualPath): Promise<void> {
  const entry = exchange.client?.files.look(path);
  if (entry?.isFolder) throw new FolderRedirect(path);
}
