import { ServiceError } from '../../lib/errors.ts';
import { utf8OfLatin1 } from '../../lib/headers/header-bytes.ts';
import { memberPath, segmentsOf, type VirtualPath, virtualPathOf } from '../../lib/virtual-path.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { reservedName } from '../request/request-target.ts';
import { parseUploadMetadata } from './upload-metadata-field.ts';

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
