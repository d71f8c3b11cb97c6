import { type Exchange, header } from '../request/exchange.ts';
import { reservedName } from '../request/request-target.ts';

/*
 * The header fields of Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload), which tus 1.0.0 shares in part. A value of another
 * form makes the field count for nothing, as the draft says.
 */

/** The iterations of the draft that are spoken: what tus-js-client has under two names, and those of July 2026. */
const interopVersions: ReadonlySet<number> = new Set([5, 6, 8, 9]);

/** The iteration of the draft that the client speaks; undefined for none that is known here. */
export function interopVersion(exchange: Exchange): number | undefined {
  const version = integerField(exchange, 'upload-draft-interop-version');
  return version !== undefined && interopVersions.has(version) ? version : undefined;
}

/** `Upload-Complete`: whether the request brings the end of the content. */
export function uploadComplete(exchange: Exchange): boolean | undefined {
  const match = /^ *\?([01]) *(?:;.*)?$/.exec(header(exchange, 'upload-complete') ?? '');
  return match ? match[1] === '1' : undefined;
}

/** `Upload-Offset`: where the content of the request belongs, in bytes. */
export function uploadOffset(exchange: Exchange): number | undefined {
  return integerField(exchange, 'upload-offset');
}

/** `Upload-Length`: size of the whole, in bytes. */
export function uploadLength(exchange: Exchange): number | undefined {
  return integerField(exchange, 'upload-length');
}

function integerField(exchange: Exchange, name: string): number | undefined {
  // RFC 9651 §3.3.1: 15 digits at most.
  const match = /^ *(\d{1,15}) *(?:;.*)?$/.exec(header(exchange, name) ?? '');
  return match ? Number(match[1]) : undefined;
}

/** The value of `Upload-Complete`. */
export function completeField(isComplete: boolean): string {
  return isComplete ? '?1' : '?0';
}

/** What limits an upload: bytes of the whole, bytes of one request, seconds that it is kept; undefined for no limit. */
interface AnnouncedLimits {
  maxSize?: number | undefined;
  maxAppendSize?: number | undefined;
  maxAge?: number | undefined;
}

/** The value of `Upload-Limit`; without any limit it says so. */
export function limitField({ maxSize, maxAppendSize, maxAge }: AnnouncedLimits): string {
  const members = Object.entries({ 'max-size': maxSize, 'max-append-size': maxAppendSize, 'max-age': maxAge });
  const limits = members.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}`]));
  return limits.length === 0 ? 'min-size=0' : limits.join(', ');
}

/** Name of the collection of uploads below `/home/__svc__/`. */
const collection = 'uploads';

/** The path of an upload's URL. */
export function uploadUrl(id: string): string {
  return `/home/${reservedName}/${collection}/${id}`;
}

/** The ID in the URL that a request is about. */
export function uploadIdOf({ target }: Exchange): string {
  return target.kind === 'account-service' ? target.name.slice(collection.length + 1) : '';
}
