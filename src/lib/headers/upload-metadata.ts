import { ServiceError } from '../errors.ts';
import { latin1ToUtf8 } from './header-fields.ts';

/**
 * Reads `Upload-Metadata` of tus 1.0.0: keys separated by commas, each with an optional UTF-8 value in Base64. @throws ServiceError
 * `bad-request`
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
