import type { ResumableOptions } from '../../files/uploads/open-upload.ts';
import type { UploadRecord } from '../../files/uploads/upload-store.ts';
import { ServiceError } from '../../lib/errors.ts';
import { type ExpectedDigest, parseExpectedDigests } from '../../lib/headers/digest-fields.ts';
import { dispositionFileName } from '../../lib/headers/header-fields.ts';
import { parseUploadMetadata } from '../../lib/headers/tus-headers.ts';
import { memberPath, pathFromSegments, pathSegments, type VirtualPath } from '../../lib/virtual-path.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { type Preconditions, preconditions } from '../request/preconditions.ts';
import { linkUrlPath, reservedName } from '../request/request-target.ts';
import { requestedModificationTime, uploadMetadata } from '../request/upload-metadata.ts';

/**
 * Reads the target of a POST to the collection of uploads: the `path` of `Upload-Metadata`. Without it, the name is the `filename` of
 * `Upload-Metadata` or `Content-Disposition`, and the folder is the `folder` of `Upload-Metadata` or the query, or else the home folder.
 *
 * @returns the path, and the upload metadata in the syntax of the header that `metadata_fields` names
 * @throws ServiceError `bad-request`, `name-invalid`, `name-reserved`
 */
export function postTarget(exchange: Exchange): { path: VirtualPath; metadataValue: string | undefined } {
  const metadata = parseUploadMetadata(header(exchange, 'upload-metadata') ?? '');
  const field = exchange.service.options.metadata_fields?.header.toLowerCase();
  const metadataValue = [...metadata].find(([key]) => key.toLowerCase() === field)?.[1];
  const path = targetPath(exchange, metadata);
  if (exchange.visit) return { path: exchange.visit.targetOf(path), metadataValue };
  if (pathSegments(path)[0] === reservedName) throw new ServiceError('name-reserved', 'This name is reserved.');
  return { path, metadataValue };
}

function targetPath(exchange: Exchange, metadata: ReadonlyMap<string, string>): VirtualPath {
  const path = metadata.get('path');
  if (path !== undefined) return checkedPath(path);
  const name = metadata.get('filename') ?? dispositionFileName(header(exchange, 'content-disposition') ?? '');
  if (name === undefined)
    throw new ServiceError('bad-request', 'Upload-Metadata must name the path of the file, or Content-Disposition its filename.');
  const folder = metadata.get('folder') ?? new URLSearchParams(exchange.target.query).get('folder') ?? '/';
  const [last, ...others] = pathSegments(checkedPath(name)).toReversed();
  if (last === undefined || others.length > 0) throw new ServiceError('name-invalid', 'A filename must not contain a path separator.');
  return memberPath(checkedPath(folder), last);
}

function checkedPath(text: string): VirtualPath {
  return pathFromSegments(text.split('/').filter((segment) => segment !== ''));
}

// Header fields of Resumable Uploads for HTTP (draft-ietf-httpbis-resumable-upload), some also of tus 1.0.0. A malformed value counts as
// absent, as the draft requires.

/** The supported versions of the draft. tus-js-client offers 5 and 6. The current versions, as of July 2026, are 8 and 9. */
const interopVersions: ReadonlySet<number> = new Set([5, 6, 8, 9]);

/** Returns the draft version that the client uses; undefined if it is not supported. */
export function interopVersion(exchange: Exchange): number | undefined {
  const version = integerField(exchange, 'upload-draft-interop-version');
  return version !== undefined && interopVersions.has(version) ? version : undefined;
}

/** Reads `Upload-Complete`. @returns whether the request contains the end of the content; undefined without a valid header */
export function uploadComplete(exchange: Exchange): boolean | undefined {
  const match = /^ *\?([01]) *(?:;.*)?$/.exec(header(exchange, 'upload-complete') ?? '');
  return match ? match[1] === '1' : undefined;
}

/** Reads an integer field. `Upload-Offset` and `Upload-Length` are in bytes. */
export function integerField(
  exchange: Exchange,
  name: 'upload-draft-interop-version' | 'upload-offset' | 'upload-length',
): number | undefined {
  // An integer has at most 15 digits (RFC 9651 §3.3.1).
  const match = /^ *(\d{1,15}) *(?:;.*)?$/.exec(header(exchange, name) ?? '');
  return match ? Number(match[1]) : undefined;
}

/** Returns the value of `Upload-Complete`. */
export function completeField(isComplete: boolean): string {
  return isComplete ? '?1' : '?0';
}

/**
 * Returns the value of `Upload-Limit`: bytes of the whole upload, bytes of one request, and lifetime in seconds. Undefined means no limit.
 * A size of 0 means no limit, too.
 */
export function limitField(limits: { 'max-size'?: number; 'max-append-size'?: number; 'max-age'?: number | undefined }): string {
  const members = Object.entries(limits).filter(([name, value]) => value !== undefined && (value > 0 || name === 'max-age'));
  return members.length === 0 ? 'min-size=0' : members.map(([name, value]) => `${name}=${value}`).join(', ');
}

/** Name of the collection of uploads below `/home/__svc__/`. */
const collection = 'uploads';

/** Returns the URL path of an upload. */
export function uploadUrl({ visit }: Exchange, id: string): string {
  if (visit) return linkUrlPath(visit.secret, `/${collection}/${id}` as VirtualPath, false);
  return `/home/${reservedName}/${collection}/${id}`;
}

/** Returns the ID of the upload that the URL of a request names. */
export function requestedUploadId({ target }: Exchange): string {
  if (target.kind === 'link') return target.below.slice(collection.length + 2);
  return target.kind === 'account-service' ? target.name.slice(collection.length + 1) : '';
}

/** Headers with conditions and digests, in the request that begins an upload. They are needed when the upload ends. */
const keptHeaders = [
  'if',
  'if-match',
  'if-none-match',
  'if-modified-since',
  'if-unmodified-since',
  'repr-digest',
  'oc-checksum',
  'want-repr-digest',
] as const;

/**
 * Reads a request that begins an upload.
 *
 * @param notes further values that the protocol needs later
 * @param metadataValue upload metadata from another place, such as `Upload-Metadata`; used only if the metadata header is missing
 * @throws ServiceError `bad-request`, `metadata-invalid`
 */
export async function uploadOrder(
  exchange: Exchange,
  path: VirtualPath,
  lengthBytes: number | undefined,
  notes: Readonly<Record<string, string>> = {},
  metadataValue?: string,
): Promise<ResumableOptions> {
  const headers = keptHeaders.flatMap((name) => {
    const value = header(exchange, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  // The receipt of a visitor's uploads contains their digests, so they are always computed.
  const ofLink = exchange.visit ? { 'want-repr-digest': 'sha-256=10' } : {};
  const kept = { ...notes, ...Object.fromEntries(headers), ...ofLink };
  representationDigests(kept);
  return {
    lengthBytes,
    notes: kept,
    metadata: uploadMetadata(exchange, metadataValue),
    modifiedMs: requestedModificationTime(exchange),
    backendUuid: exchange.service.options.api_backend_uuid || undefined,
    verify: await preconditions(exchange, path, { method: 'PUT', headers: kept }),
  };
}

/** Returns the conditions that the client set when it began an upload. They are checked when the upload is complete. */
export function keptConditions(exchange: Exchange, { path, notes }: UploadRecord): Promise<Preconditions> {
  return preconditions(exchange, path, { method: 'PUT', headers: notes });
}

/** Returns the announced digests of the whole content. @throws ServiceError `bad-request` if one is malformed */
export function representationDigests(notes: Readonly<Record<string, string>>): ExpectedDigest[] {
  return parseExpectedDigests({ 'repr-digest': notes['repr-digest'], 'oc-checksum': notes['oc-checksum'] });
}

/** Returns the announced digests of one request's content. @throws ServiceError `bad-request` if one is malformed */
export function contentDigests(exchange: Exchange): ExpectedDigest[] {
  return parseExpectedDigests({ 'content-digest': header(exchange, 'content-digest'), 'content-md5': header(exchange, 'content-md5') });
}
