import type { ReplacementRules } from '../../files/operations/replacement.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { isOwnAuthority } from '../middleware/check-origin.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { requestedModificationTime } from '../request/modification-time.ts';
import { parseRequestTarget, type RequestTarget } from '../request/request-target.ts';

/** What PROPFIND lists: the resource itself, its members, or both. */
export interface ListingDepth {
  includesSelf: boolean;
  includesMembers: boolean;
}

/**
 * Reads `Depth` of PROPFIND (docs/spec/webdav.md#propfind): 0 and 1, each with `noroot`; missing and `infinity` count as 1.
 *
 * @throws ServiceError `bad-request`
 */
export function listingDepth(exchange: Exchange): ListingDepth {
  const match = /^(0|1|infinity)(\s*,\s*noroot)?$/i.exec((header(exchange, 'depth') ?? '1').trim());
  if (!match) throw new ServiceError('bad-request', 'Depth must be 0, 1 or infinity, with ",noroot" or without.');
  return { includesSelf: match[2] === undefined, includesMembers: match[1] !== '0' };
}

/** What the headers of COPY and MOVE ask for. */
export interface TransferRequest {
  destination: VirtualPath;
  /** Whether the destination's URL ends in `/`. */
  namesFolder: boolean;
  rules: ReplacementRules;
  /** `X-OC-Mtime`, Unix time in milliseconds. */
  modifiedMs: number | undefined;
}

/**
 * Reads and refuses all headers of COPY and MOVE (RFC 4918 §9.8, §9.9, §10.3, §10.6).
 *
 * @throws ServiceError `bad-request` for headers that are missing or malformed, `other-host`, `never-allowed` or `name-reserved` for
 *   a destination that is no member of the account
 */
export function transferRequest(exchange: Exchange): TransferRequest {
  const { target, method } = exchange;
  const depth = header(exchange, 'depth')?.trim().toLowerCase() ?? 'infinity';
  // RFC 4918 §9.9.2: a folder moves whole or not at all.
  const isKnown = method === 'COPY' || !(target.kind === 'member' && target.isFolder) ? ['0', 'infinity'] : ['infinity'];
  if (!isKnown.includes(depth)) throw new ServiceError('bad-request', `Depth must be ${isKnown.join(' or ')}.`);
  const overwrite = header(exchange, 'overwrite')?.trim();
  if (overwrite !== undefined && overwrite !== 'T' && overwrite !== 'F') throw new ServiceError('bad-request', 'Overwrite must be T or F.');
  const { path, isFolder } = destinationOf(exchange);
  return {
    destination: path,
    namesFolder: isFolder,
    rules: {
      // RFC 4918 §10.6 takes a missing header for T: no folder goes by that.
      mayReplace: overwrite === 'F' ? 'nothing' : overwrite === 'T' ? 'anything' : 'file',
      acrossKinds: exchange.service.options.webdav_compatibility,
    },
    modifiedMs: requestedModificationTime(exchange),
  };
}

function destinationOf(exchange: Exchange): MemberUrl {
  const lines = exchange.incoming.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'destination');
  const text = header(exchange, 'destination')?.trim() ?? '';
  if (text === '') throw new ServiceError('bad-request', 'The header Destination is missing.');
  if (lines.length > 1) throw new ServiceError('bad-request', 'There must be one header Destination.');
  return memberOfUrl(exchange, text);
}

/** A URL of a member; `isFolder` says that it ends in `/`. */
type MemberUrl = Pick<Extract<RequestTarget, { kind: 'member' }>, 'path' | 'isFolder'>;

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
