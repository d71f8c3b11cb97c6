import { isServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import type { Exchange } from '../request/exchange.ts';
import { urlPathOf } from '../request/request-target.ts';

/** Raised in place of a reply when a folder was asked for without its final `/`. */
export class FolderRedirect extends Error {
  readonly path: VirtualPath;

  constructor(path: VirtualPath) {
    super('The path is a folder.');
    this.path = path;
  }
}

/**
 * The redirect to the `/` form of a folder: 302 for GET and HEAD, 307 for the rest; the query is kept
 * (docs/spec/http.md#redirects-to-folders).
 */
export function folderRedirectReply(exchange: Exchange, path: VirtualPath): Reply {
  const status = exchange.method === 'GET' || exchange.isHead ? 302 : 307;
  return { status, headers: { location: urlPathOf(path, true) + exchange.target.query } };
}

/** Turns "this is a folder" of a file URL into the redirect, for methods that mean the folder then. */
export function redirectFolder(path: VirtualPath, error: unknown): unknown {
  return isServiceError(error, 'is-folder') ? new FolderRedirect(path) : error;
}
