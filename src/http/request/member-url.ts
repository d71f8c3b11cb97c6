import { ServiceError } from '../../lib/errors.ts';
import type { Exchange } from './exchange.ts';
import { isOwnAuthority } from './own-origin.ts';
import { parseRequestTarget, type RequestTarget } from './request-target.ts';

/** A URL of a member; `isFolder` says that it ends in `/`. */
export type MemberUrl = Pick<Extract<RequestTarget, { kind: 'member' }>, 'path' | 'isFolder'>;

/**
 * The member of the account that a URL of a request header means: absolute, or a path.
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
