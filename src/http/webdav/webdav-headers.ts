import type { ReplacementRules } from '../../files/operations/replacement.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { type MemberUrl, memberOfUrl } from '../request/member-url.ts';
import { requestedModificationTime } from '../request/modification-time.ts';

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
