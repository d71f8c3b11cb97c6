import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import type { UploadRecord } from '../../files/uploads/upload-store.ts';
import { type ErrorCode, isServiceError, ServiceError } from '../../lib/errors.ts';
import type { ExpectedDigest } from '../../lib/headers/digest-fields.ts';
import { formatHttpDate } from '../../lib/headers/http-dates.ts';
import { errorsReply, faultHeaders, statusOf } from '../reply/error-reply.ts';
import { mergeHeaders, type Reply } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, type HttpHandler, type HttpMiddleware, header } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { announcedLength, hasBody } from '../request/request-body.ts';
import { heldResult } from '../rest/held.ts';
import { cancel, requestedRecord, requestedUpload } from './draft.ts';
import { withHeaders } from './draft-replies.ts';
import { checkRequestSize, completeUpload, headersOfLines, receiveContent } from './upload-content.ts';
import { limitField, postTarget, uploadOrder, uploadUrl } from './upload-request.ts';

/** The reply to OPTIONS for a URL where uploads begin, with the limits that apply to all accounts. */
export function withUploadLimit({ service }: Exchange, reply: Reply): Reply {
  const limit = limitField({ 'max-append-size': service.options.maximum_request_size });
  return { ...reply, headers: { ...reply.headers, 'upload-limit': limit } };
}

/** The reply to OPTIONS of the collection of uploads, and of an upload. @param allow the methods of the URL */
export function describeUploads(exchange: Exchange, allow: string): Reply {
  return withUploadLimit(exchange, { status: 204, headers: { allow, ...tusDescription } });
}

/** Treats a POST as another method, for clients that can only send POST (tus 1.0.0, X-HTTP-Method-Override). */
export const overridden: HttpMiddleware = async ({ env: exchange }, next) => {
  const handlers: Readonly<Record<string, HttpHandler>> = { PATCH: appendTusUpload, DELETE: endTusUpload, HEAD: showTusUpload };
  const handler = speaksTus(exchange) ? handlers[header(exchange, 'x-http-method-override')?.trim().toUpperCase() ?? ''] : undefined;
  return handler ? handler(exchange) : next();
};

function isOverridden(exchange: Exchange): boolean {
  return header(exchange, 'x-http-method-override') !== undefined;
}

/** POST of tus to the collection of uploads: creates an upload, perhaps with its first content (docs/spec/uploads.md#tus). */
export const createTusUpload = tus(async (exchange: Exchange) => {
  const lengthBytes = bytesField(exchange, 'upload-length');
  if (defersLength(exchange) === (lengthBytes !== undefined))
    throw new ServiceError('bad-request', 'Either Upload-Length or Upload-Defer-Length is needed.');
  checkRequestSize(exchange);
  const hasContent = hasBody(exchange);
  if (hasContent) checkTusContentType(exchange);
  const digests = readChecksum(exchange);
  const { path, metadataValue } = postTarget(exchange);
  const metadata = header(exchange, 'upload-metadata');
  const notes: Record<string, string> = metadata === undefined ? {} : { 'upload-metadata': metadata };
  let created: Record<string, string> = {};
  try {
    const order = await uploadOrder(exchange, path, lengthBytes, notes, metadataValue);
    const upload = await exchange.files.beginResumable(path, order, () => exchange.outgoing.destroy());
    const location = uploadUrl(exchange, upload.record.id);
    created = { location, ...tusState(upload.record) };
    await receiveContent(exchange, upload, { digests, overrunEnds: false });
    if (upload.receivedBytes === lengthBytes) {
      const headers = await completeUpload(exchange, upload);
      return await respond(exchange, { status: 201, headers: mergeHeaders({ location, ...tusState(upload.record) }, headers) });
    }
    await upload.keep(true);
    return await respond(exchange, { status: 201, headers: { location, ...tusState(upload.record) } });
  } catch (error) {
    throw heldResult(error) ? withHeaders(error, { ...created, 'upload-offset': String(lengthBytes) }) : tusRefusal(error);
  }
});

/** tus 1.0.0, checksum: the digest of a request is not that of its content. */
const checksumMismatch = 460;

/** An error that finally ended or prevented an upload. tus clients repeat a 409 or 423 for ever, so it gets another status. */
class UploadOver extends Error {
  readonly fault: Pick<ServiceError, 'code' | 'message'>;

  constructor(fault: Pick<ServiceError, 'code' | 'message'>) {
    super(fault.message);
    this.fault = fault;
  }
}

/** Marks an error that ended the upload; the reply to another error has the upload's state. */
function tusFault(error: unknown, { record }: ResumableUpload): unknown {
  if (!isServiceError(error) || error.code === 'client-gone') return error;
  return record.outcome?.kind === 'failed' ? new UploadOver(error) : withHeaders(error, tusState(record));
}

/** Marks an error that prevented an upload. */
export function tusRefusal(error: unknown): unknown {
  return isServiceError(error) && statusOf[error.code] === 409 ? new UploadOver(error) : error;
}

function statusOfEnd(code: ErrorCode): number {
  if (['forbidden', 'never-allowed', 'name-reserved', 'name-taken', 'retained', 'fixed-folder', 'read-only'].includes(code)) return 403;
  return code === 'not-found' ? 410 : 422;
}

/** A handler of tus requests: checks the version, and answers errors as tus clients understand them. */
export function tus(handler: HttpHandler): HttpHandler {
  return async (exchange: Exchange) => {
    try {
      checkTusVersion(exchange);
      return await handler(exchange);
    } catch (error) {
      const held = heldResult(error);
      if (held) {
        const headers = mergeHeaders(faultHeaders(error as ServiceError), { held: held.id, ...uncached });
        return respond(exchange, { status: exchange.method === 'POST' && !isOverridden(exchange) ? 201 : 204, headers });
      }
      if (error instanceof UploadOver)
        return respond(exchange, errorsReply(statusOfEnd(error.fault.code), [{ message: error.message }], uncached));
      if (isServiceError(error, 'digest-mismatch'))
        return respond(exchange, errorsReply(checksumMismatch, [{ message: error.message }], { ...faultHeaders(error), ...uncached }));
      throw error;
    }
  };
}

const uncached = { 'cache-control': 'no-store' };

/** The version of tus that is spoken. */
const tusVersion = '1.0.0';

const algorithms = { sha1: 20, sha256: 32, md5: 16 } as const;

/** The content type of every request that brings content. */
const tusContentType = 'application/offset+octet-stream';

/** Whether a request is one of tus. */
export function speaksTus(exchange: Exchange): boolean {
  return header(exchange, 'tus-resumable') !== undefined;
}

/** Headers of every reply to a request of tus, and to OPTIONS. */
const tusHeaders = { 'tus-resumable': tusVersion } as const;

/** Marks every reply to a request of tus, errors included. */
export const answerAsTus: HttpMiddleware = ({ env: exchange }, next) => {
  if (speaksTus(exchange)) exchange.protocolHeaders = tusHeaders;
  return next();
};

/** Headers that describe tus in replies to OPTIONS. */
export const tusDescription = {
  ...tusHeaders,
  'tus-version': tusVersion,
  'tus-extension': 'creation,creation-with-upload,creation-defer-length,checksum,termination,expiration',
  'tus-checksum-algorithm': Object.keys(algorithms).join(','),
} as const;

/** Refuses other versions of tus. @throws ServiceError `precondition-failed` with `Tus-Version` */
export function checkTusVersion(exchange: Exchange): void {
  if (header(exchange, 'tus-resumable')?.trim() === tusVersion) return;
  throw new ServiceError('precondition-failed', `This version of tus is not supported, ${tusVersion} is.`, {
    details: { reply_headers: { 'tus-version': tusVersion } },
  });
}

/** A number of bytes. @returns undefined when the header is missing @throws ServiceError `bad-request` for anything but a number */
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

/** `Upload-Checksum`: the digest of the content of a request. @throws ServiceError `bad-request` if it is malformed, not supported or a trailer */
export function readChecksum(exchange: Exchange): ExpectedDigest[] {
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

/** The offset of an upload, and when it expires. */
export function tusState({ offsetBytes, outcome, expiresMs }: UploadRecord): Record<string, string> {
  const expires: Record<string, string> = outcome ? {} : { 'upload-expires': formatHttpDate(expiresMs) };
  return { 'upload-offset': String(offsetBytes), ...expires };
}

/** HEAD of tus: the state of the upload. */
export const showTusUpload = tus(async (exchange: Exchange) => {
  const record = await requestedRecord(exchange);
  const { lengthBytes, outcome, notes } = record;
  if (outcome?.kind === 'failed') throw uploadOver(outcome);
  const headers = {
    ...tusState(record),
    ...(lengthBytes === undefined ? { 'upload-defer-length': '1' } : { 'upload-length': lengthBytes }),
    'upload-metadata': notes['upload-metadata'],
    'cache-control': 'no-store',
  };
  return respond(exchange, { status: 200, headers });
});

/** DELETE of tus: cancels the upload, or removes the record of one that is over. */
export const endTusUpload = tus(async (exchange: Exchange) => {
  await cancel(exchange);
  return respond(exchange, { status: 204 });
});

/** PATCH of tus: more content. The upload is complete with the last byte. */
export const appendTusUpload = tus(async (exchange: Exchange) => {
  checkTusContentType(exchange);
  checkRequestSize(exchange);
  const offsetBytes = bytesField(exchange, 'upload-offset');
  if (offsetBytes === undefined) throw new ServiceError('bad-request', 'The Upload-Offset header is missing.');
  const saidBytes = bytesField(exchange, 'upload-length');
  const digests = readChecksum(exchange);
  const upload = await requestedUpload(exchange);
  const { outcome } = upload.record;
  try {
    checkPlace(exchange, upload, offsetBytes, saidBytes);
    if (outcome?.kind === 'stored') {
      upload.release();
      return await respond(exchange, { status: 204, headers: mergeHeaders(tusState(upload.record), headersOfLines(outcome.headers)) });
    }
    if (saidBytes !== undefined) await upload.setLength(saidBytes);
  } catch (error) {
    upload.release();
    throw tusFault(error, upload);
  }
  try {
    await receiveContent(exchange, upload, { digests, overrunEnds: false });
    if (upload.receivedBytes === upload.record.lengthBytes) {
      const headers = await completeUpload(exchange, upload);
      return await respond(exchange, { status: 204, headers: mergeHeaders(tusState(upload.record), headers) });
    }
    await upload.keep(true);
    return await respond(exchange, { status: 204, headers: tusState(upload.record) });
  } catch (error) {
    throw tusFault(error, upload);
  }
});

/** @throws ServiceError `media-type-unsupported` for content of another type than that of tus */
export function checkTusContentType(exchange: Exchange): void {
  if (mediaTypeOfRequest(exchange) !== tusContentType)
    throw new ServiceError('media-type-unsupported', `The content of a request is ${tusContentType}.`);
}

// A wrong offset is the only conflict that clients can solve: they ask for the offset and continue.
function checkPlace(exchange: Exchange, { record }: ResumableUpload, offsetBytes: number, saidBytes: number | undefined): void {
  const { outcome, lengthBytes } = record;
  if (outcome?.kind === 'failed') throw uploadOver(outcome);
  if (offsetBytes !== record.offsetBytes)
    throw new ServiceError('exists', `The upload is at byte ${record.offsetBytes}, not ${offsetBytes}.`);
  if (saidBytes !== undefined && (lengthBytes === undefined ? saidBytes < offsetBytes : saidBytes !== lengthBytes))
    throw new ServiceError('bad-request', 'The Upload-Length differs from that of the upload.');
  const endBytes = offsetBytes + (announcedLength(exchange) ?? 0);
  if (endBytes > (lengthBytes ?? saidBytes ?? Number.POSITIVE_INFINITY) || (outcome && hasBody(exchange)))
    throw new ServiceError('too-large', 'The request brings more than the upload was announced with.');
}

function uploadOver({ code, message }: { code: string; message: string }): UploadOver {
  return new UploadOver(new ServiceError(code as ServiceError['code'], message));
}
