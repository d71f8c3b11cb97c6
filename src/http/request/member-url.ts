import { isServiceError, ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { Reply } from '../reply/reply.ts';
import type { Exchange } from './exchange.ts';
import { isOwnAuthority } from './own-origin.ts';
import { parseRequestTarget, type RequestTarget } from './request-target.ts';

/** Thrown if a folder was requested without the final `/`. */
export class FolderRedirect extends Error {
  readonly path: VirtualPath;

  constructor(path: VirtualPath) {
    super('The path is a folder.');
    this.path = path;
  }
}

/**
 * Builds the redirect to a folder's URL with a final `/` (docs/spec/http.md#redirects-to-folders). The status is 302 for GET and HEAD, and
 * 307 for other methods. The query is kept.
 */
export function folderRedirectReply(exchange: Exchange, path: VirtualPath): Reply {
  const status = exchange.method === 'GET' || exchange.isHead ? 302 : 307;
  return { status, headers: { location: exchange.urlOf(path, true) + exchange.target.query } };
}

/** Converts the fault `is-folder` to the redirect; returns other errors unchanged. */
export function redirectFolder(path: VirtualPath, error: unknown): unknown {
  return isServiceError(error, 'is-folder') ? new FolderRedirect(path) : error;
}

/** The URL of a member. `isFolder` is true if the URL ends in `/`. */
export type MemberUrl = Pick<Extract<RequestTarget, { kind: 'member' }>, 'path' | 'isFolder'>;

/**
 * Returns the member to which a URL in a request header leads. The URL is absolute, or only a path.
 *
 * @throws ServiceError `bad-request`, `name-invalid`, `other-host`, `never-allowed`, `name-reserved`
 */
export function memberOfUrl(exchange: Exchange, text: string): MemberUrl {
  const target = parseRequestTarget(pathOfUrl(exchange, text));
  if (target.query !== '') throw new ServiceError('bad-request', 'The destination must not have a query; write %3F.');
  if (target.kind === 'member') return target;
  if (target.kind === 'account-service') throw new ServiceError('name-reserved', 'This name is reserved.');
  throw new ServiceError('never-allowed', 'The destination is outside /home/.');
}

function pathOfUrl(exchange: Exchange, text: string): string {
  if (text.includes('#')) throw new ServiceError('bad-request', 'The destination must not have a fragment; write %23.');
  if (text.startsWith('/') && !text.startsWith('//')) return text;
  const url = /^([a-z][a-z0-9+.-]*):\/\/([^/?]*)(.*)$/i.exec(text);
  if (!url) throw new ServiceError('bad-request', 'The destination must be a URL or an absolute path.');
  const [, scheme = '', authority = '', path = ''] = url;
  const host = authority.replace(/^[^@]*@/, '');
  if (/^(:\d*)?$/.test(host)) throw new ServiceError('bad-request', 'The destination has no host.');
  if (!/^https?$/i.test(scheme) || !isOwnAuthority(exchange, host))
    throw new ServiceError('other-host', 'The destination is on another host.');
  return path === '' ? '/' : path;
}
