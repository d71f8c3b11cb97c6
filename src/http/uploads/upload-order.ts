import type { ResumableOptions } from '../../files/uploads/open-upload.ts';
import type { UploadRecord } from '../../files/uploads/upload-store.ts';
import { type ExpectedDigest, parseExpectedDigests } from '../../lib/headers/digest-fields.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { requestedModificationTime } from '../request/modification-time.ts';
import { type Preconditions, preconditions } from '../request/preconditions.ts';
import { uploadMetadata } from '../request/upload-metadata.ts';

/** Headers of the request that begins an upload that count at its end: conditions, and digests of the whole. */
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
 * What a request to begin an upload asks for.
 *
 * @param notes what the protocol needs to know again
 * @param metadataValue upload metadata from elsewhere than its header
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
  const kept = { ...notes, ...Object.fromEntries(headers) };
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

/** The conditions under which an upload was begun, for its end. */
export function keptConditions(exchange: Exchange, { path, notes }: UploadRecord): Promise<Preconditions> {
  return preconditions(exchange, path, { method: 'PUT', headers: notes });
}

/** The digests of the whole. @throws ServiceError `bad-request` when one is malformed */
export function representationDigests(notes: Readonly<Record<string, string>>): ExpectedDigest[] {
  return parseExpectedDigests({ 'repr-digest': notes['repr-digest'], 'oc-checksum': notes['oc-checksum'] });
}

/** The digests of what one request brings. @throws ServiceError `bad-request` when one is malformed */
export function contentDigests(exchange: Exchange): ExpectedDigest[] {
  return parseExpectedDigests({ 'content-digest': header(exchange, 'content-digest'), 'content-md5': header(exchange, 'content-md5') });
}
