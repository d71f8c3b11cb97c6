import type { UploadRecord } from '../../files/uploads/upload-store.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { ExpectedDigest } from '../../lib/headers/digest-fields.ts';
import { formatHttpDate } from '../../lib/headers/http-dates.ts';
import type { HttpMiddleware } from '../environment.ts';
import { type Exchange, header } from '../request/exchange.ts';

/** The version of tus that is spoken. */
const tusVersion = '1.0.0';

const algorithms = { sha1: 20, sha256: 32, md5: 16 } as const;

/** The content type of every request that brings content. */
export const tusContentType = 'application/offset+octet-stream';

/** Whether a request is one of tus. */
export function speaksTus(exchange: Exchange): boolean {
  return header(exchange, 'tus-resumable') !== undefined;
}

/** Headers of every reply to a request of tus, and to OPTIONS. */
const tusHeaders = { 'tus-resumable': tusVersion } as const;

/** Has every reply to a request of tus say so, whoever gives it. */
export const answerAsTus: HttpMiddleware = ({ env: exchange }, next) => {
  if (speaksTus(exchange)) exchange.protocolHeaders = tusHeaders;
  return next();
};

/** What OPTIONS tells of tus. */
export const tusDescription = {
  ...tusHeaders,
  'tus-version': tusVersion,
  'tus-extension': 'creation,creation-with-upload,creation-defer-length,checksum,termination,expiration',
  'tus-checksum-algorithm': Object.keys(algorithms).join(','),
} as const;

/** Refuses versions of tus that are not spoken. @throws ServiceError `precondition-failed` with `Tus-Version` */
export function checkTusVersion(exchange: Exchange): void {
  if (header(exchange, 'tus-resumable')?.trim() === tusVersion) return;
  throw new ServiceError('precondition-failed', `This version of tus is not supported, ${tusVersion} is.`, {
    details: { reply_headers: { 'tus-version': tusVersion } },
  });
}

/** A number of bytes. @returns undefined when the header is missing @throws ServiceError `bad-request` for what is no number */
export function bytesField(exchange: Exchange, name: 'upload-offset' | 'upload-length'): number | undefined {
  const text = header(exchange, name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text.trim())) throw new ServiceError('bad-request', `The ${name} header is not a number of bytes.`);
  return Number(text);
}

/** Whether the length comes later. @throws ServiceError `bad-request` for another value than 1, or none beside the length */
export function defersLength(exchange: Exchange): boolean {
  const text = header(exchange, 'upload-defer-length');
  if (text === undefined) return false;
  if (text.trim() !== '1') throw new ServiceError('bad-request', 'Upload-Defer-Length must be 1.');
  return true;
}

/**
 * `Upload-Checksum`: the digest of what a request brings.
 *
 * @throws ServiceError `bad-request` for one that is malformed or not supported, or is announced as a trailer, which nobody would look at
 */
export function checksumOf(exchange: Exchange): ExpectedDigest[] {
  if (/(^|,)\s*upload-checksum\s*(,|$)/i.test(header(exchange, 'trailer') ?? ''))
    throw new ServiceError('bad-request', 'Upload-Checksum is not supported as a trailer.');
  const text = header(exchange, 'upload-checksum');
  if (text === undefined) return [];
  const [name = '', value = ''] = text.trim().split(/ +/);
  const algorithm = name as keyof typeof algorithms;
  const expected = Buffer.from(value, 'base64');
  if (!Object.hasOwn(algorithms, name) || expected.length !== algorithms[algorithm])
    throw new ServiceError(
      'bad-request',
      `Upload-Checksum must be one of ${Object.keys(algorithms).join(', ')}, and the digest in Base64.`,
    );
  return [{ field: 'Upload-Checksum', algorithm, expected }];
}

/** How far an upload is, and until when it waits. */
export function tusState({ offsetBytes, outcome, expiresMs }: UploadRecord): Record<string, string> {
  const expires: Record<string, string> = outcome ? {} : { 'upload-expires': formatHttpDate(expiresMs) };
  return { 'upload-offset': String(offsetBytes), ...expires };
}
