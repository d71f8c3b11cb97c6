import { ServiceError } from '../errors.ts';
import type { ExpectedDigest } from './digest-fields.ts';
import { latin1ToUtf8 } from './header-fields.ts';

/**
 * Parses `Upload-Metadata` of tus 1.0.0. It has keys separated by commas, each with an optional UTF-8 value in Base64.
 *
 * @throws ServiceError `bad-request` if it is malformed
 */
export function parseUploadMetadata(text: string): Map<string, string> {
  const metadata = new Map<string, string>();
  if (text.trim() === '') return metadata;
  for (const pair of text.split(',')) {
    const match = /^([\x21-\x2b\x2d-\x7e]+)(?: +([A-Za-z0-9+/]*={0,2}))?$/.exec(pair.trim());
    if (!match) throw malformed('has an item that is not a key and a value in Base64');
    const [, key = '', value = ''] = match;
    if (metadata.has(key)) throw malformed(`has the key "${key}" twice`);
    const text = latin1ToUtf8(Buffer.from(value, 'base64').toString('latin1'));
    if (text === undefined) throw malformed('has a value that is not UTF-8');
    metadata.set(key, text);
  }
  return metadata;
}

function malformed(what: string): ServiceError {
  return new ServiceError('bad-request', `The Upload-Metadata header ${what}.`);
}

/** Algorithms of `Upload-Checksum`, with the length of their digests in bytes. */
export const checksumAlgorithms = { sha1: 20, sha256: 32, md5: 16 } as const;

/**
 * Parses `Upload-Checksum`, the digest of a request's content.
 *
 * @throws ServiceError `bad-request` if it is malformed, unsupported or a trailer
 */
export function uploadChecksum(text: string | undefined, trailer = ''): ExpectedDigest[] {
  if (/(^|,)\s*upload-checksum\s*(,|$)/i.test(trailer))
    throw new ServiceError('bad-request', 'Upload-Checksum is not supported as a trailer.');
  if (text === undefined) return [];
  const [name = '', value = ''] = text.trim().split(/ +/);
  const algorithm = name as keyof typeof checksumAlgorithms;
  const expected = Buffer.from(value, 'base64');
  if (!Object.hasOwn(checksumAlgorithms, name) || expected.length !== checksumAlgorithms[algorithm])
    throw new ServiceError(
      'bad-request',
      `Upload-Checksum must be an algorithm (${Object.keys(checksumAlgorithms).join(', ')}), followed by the digest in Base64.`,
    );
  return [{ field: 'Upload-Checksum', algorithm, expected }];
}
