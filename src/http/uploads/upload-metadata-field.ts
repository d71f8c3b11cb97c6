import { ServiceError } from '../../lib/errors.ts';

/**
 * Reads `Upload-Metadata` of tus 1.0.0: pairs of a key and its value in Base64, by commas; a value may be left out.
 *
 * @returns values as UTF-8
 * @throws ServiceError `bad-request` for a value that is no Base64 or no UTF-8, a key that is empty or comes twice
 */
export function parseUploadMetadata(text: string): Map<string, string> {
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
