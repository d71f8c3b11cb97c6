import { ServiceError } from '../../lib/errors.ts';
import { utf8OfLatin1 } from '../../lib/headers/header-bytes.ts';
import { memberPath, segmentsOf, type VirtualPath, virtualPathOf } from '../../lib/virtual-path.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { reservedName } from '../request/request-target.ts';

/**
 * Reads `Upload-Metadata` of tus 1.0.0: pairs of a key and its value in Base64, by commas; a value may be left out.
 *
 * @returns values as UTF-8
 * @throws ServiceError `bad-request` for a value that is no Base64 or no UTF-8, a key that is empty or comes twice
 */
function parseUploadMetadata(text: string): Map<string, string> {
  const metadata = new Map<string, string>();
  if (text.trim() === '') return metadata;
  for (const pair of text.split(',')) {
    const match = /^([\x21-\x2b\x2d-\x7e]+)(?: +([A-Za-z0-9+/]*={0,2}))?$/.exec(pair.trim());
    if (!match) throw malformed('has an item that is not a key and a value in Base64');
    const [, key = '', value = ''] = match;
    if (metadata.has(key)) throw malformed(`has the key "${key}" twice`);
    metadata.set(key, textOf(value));
  }
  return metadata;
}

function textOf(base64: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(base64, 'base64'));
  } catch {
    throw malformed('has a value that is not UTF-8');
  }
}

function malformed(what: string): ServiceError {
  return new ServiceError('bad-request', `The Upload-Metadata header ${what}.`);
}

/** What a POST to the collection of uploads is about. */
interface PostTarget {
  path: VirtualPath;
  /** Upload metadata, as the header of `metadata_fields` would have it. */
  metadataValue: string | undefined;
}

/**
 * Reads where a file will be that is posted to the collection of uploads: `path` of `Upload-Metadata`, or its `filename`, or that of
 * `Content-Disposition`, in the `folder` that `Upload-Metadata` or the query names; without one in the home folder.
 *
 * @throws ServiceError `bad-request`, `name-invalid`, `name-reserved`
 */
export function postTarget(exchange: Exchange): PostTarget {
  const metadata = parseUploadMetadata(header(exchange, 'upload-metadata') ?? '');
  const field = exchange.service.options.metadata_fields?.header.toLowerCase();
  const metadataValue = [...metadata].find(([key]) => key.toLowerCase() === field)?.[1];
  const path = pathOf(exchange, metadata);
  if (segmentsOf(path)[0] === reservedName) throw new ServiceError('name-reserved', 'This name is reserved.');
  return { path, metadataValue };
}

function pathOf(exchange: Exchange, metadata: ReadonlyMap<string, string>): VirtualPath {
  const path = metadata.get('path');
  if (path !== undefined) return checkedPath(path);
  const name = metadata.get('filename') ?? dispositionFileName(header(exchange, 'content-disposition') ?? '');
  if (name === undefined)
    throw new ServiceError('bad-request', 'Upload-Metadata must name the path of the file, or Content-Disposition its filename.');
  const folder = metadata.get('folder') ?? new URLSearchParams(exchange.target.query).get('folder') ?? '/';
  const [last, ...others] = segmentsOf(checkedPath(name)).toReversed();
  if (last === undefined || others.length > 0) throw new ServiceError('name-invalid', 'A filename must not contain a path separator.');
  return memberPath(checkedPath(folder), last);
}

function checkedPath(text: string): VirtualPath {
  return virtualPathOf(text.split('/').filter((segment) => segment !== ''));
}

/** The file name of a `Content-Disposition` (RFC 6266); `filename*` counts before `filename`. */
function dispositionFileName(text: string): string | undefined {
  const extended = /;\s*filename\*\s*=\s*UTF-8'[^']*'([^;\s]+)/i.exec(text)?.[1];
  if (extended !== undefined) return decoded(extended);
  const match = /;\s*filename\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^;\s"]+))/i.exec(text);
  const name = match?.[1]?.replace(/\\(.)/g, '$1') ?? match?.[2];
  return name === undefined ? undefined : utf8OfLatin1(name);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch (error) {
    throw new ServiceError('bad-request', 'The filename of Content-Disposition is not valid UTF-8.', { cause: error });
  }
}
