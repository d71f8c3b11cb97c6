import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import type { UploadRecord } from '../../files/uploads/upload-store.ts';
import { type ErrorCode, isServiceError, ServiceError } from '../../lib/errors.ts';
import { formatHttpDate } from '../../lib/headers/http-dates.ts';
import { checksumAlgorithms, uploadChecksum } from '../../lib/headers/tus-headers.ts';
import { errorsReply, faultHeaders, statusCodes } from '../reply/error-reply.ts';
import { mergeHeaders, type Reply, uncached } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, type HttpHandler, type HttpMiddleware, header } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { announcedLength, hasBody } from '../request/request-body.ts';
import { heldResult } from '../rest/held.ts';
import { cancel, requestedRecord, requestedUpload } from './draft.ts';
import { withHeaders } from './draft-replies.ts';
import { checkRequestSize, completeUpload, headersOfLines, receiveContent } from './upload-content.ts';
import { limitField, postTarget, uploadOrder, uploadUrl } from './upload-request.ts';

/** Adds `Upload-Limit` to the reply to OPTIONS of URLs where uploads begin. The header has the limits that apply to all accounts. */
export function withUploadLimit({ service }: Exchange, reply: Reply): Reply {
  const limit = limitField({ 'max-append-size': service.options.maximum_request_size });
  return { ...reply, headers: { ...reply.headers, 'upload-limit': limit } };
}

/** Builds the reply to OPTIONS of the collection of uploads or of one upload. @param allow the methods of the URL */
export function describeUploads(exchange: Exchange, allow: string): Reply {
  return withUploadLimit(exchange, { status: 204, headers: { allow, ...tusDescription } });
}

/** Treats a POST as another method, for tus clients that can send only POST (tus 1.0.0, X-HTTP-Method-Override). */
export const overridden: HttpMiddleware = async ({ env: exchange }, next) => {
  const handlers: Readonly<Record<string, HttpHandler>> = { PATCH: appendTusUpload, DELETE: endTusUpload, HEAD: showTusUpload };
  const handler = speaksTus(exchange) ? handlers[header(exchange, 'x-http-method-override')?.trim().toUpperCase() ?? ''] : undefined;
  return handler ? handler(exchange) : next();
};

function isOverridden(exchange: Exchange): boolean {
  return header(exchange, 'x-http-method-override') !== undefined;
}

/**
 * Handles POST with tus to the collection of uploads. The request creates an upload, and can already contain the first content
 * (docs/spec/uploads.md#tus).
 */
export const createTusUpload = tus(async (exchange: Exchange) => {
  const lengthBytes = bytesField(exchange, 'upload-length');
  if (defersLength(exchange) === (lengthBytes !== undefined))
    throw new ServiceError('bad-request', 'Either Upload-Length or Upload-Defer-Length is needed.');
  checkRequestSize(exchange);
  const hasContent = hasBody(exchange);
  if (hasContent) checkTusContentType(exchange);
  const digests = uploadChecksum(header(exchange, 'upload-checksum'), header(exchange, 'trailer'));
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

/** Status for a request whose content does not have the announced digest (tus 1.0.0, checksum). */
const checksumMismatch = 460;

/**
 * An error that prevented an upload, or ended it for good. tus clients repeat a 409 or 423 for ever, so such an error gets another status.
 */
class UploadOver extends Error {
  readonly fault: Pick<ServiceError, 'code' | 'message'>;

  constructor(fault: Pick<ServiceError, 'code' | 'message'>) {
    super(fault.message);
    this.fault = fault;
  }
}

/** Wraps an error that ended the upload in `UploadOver`. To any other error, adds headers with the state of the upload. */
function tusFault(error: unknown, { record }: ResumableUpload): unknown {
  if (!isServiceError(error) || error.code === 'client-gone') return error;
  return record.outcome?.kind === 'failed' ? new UploadOver(error) : withHeaders(error, tusState(record));
}

/** Wraps an error that prevented an upload in `UploadOver`, if its status would make tus clients repeat the request for ever. */
export function tusRefusal(error: unknown): unknown {
  return isServiceError(error) && statusCodes[error.code] === 409 ? new UploadOver(error) : error;
}

function statusOfEnd(code: ErrorCode): number {
  if (['forbidden', 'never-allowed', 'name-reserved', 'name-taken', 'retained', 'fixed-folder', 'read-only'].includes(code)) return 403;
  return code === 'not-found' ? 410 : 422;
}

/** Wraps a handler of tus requests: checks the version, and converts errors to replies that tus clients understand. */
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

const tusVersion = '1.0.0';

/** The content type of every tus request that contains content. */
const tusContentType = 'application/offset+octet-stream';

/** Returns whether a client uses tus for a request. */
export function speaksTus(exchange: Exchange): boolean {
  return header(exchange, 'tus-resumable') !== undefined;
}

/** Headers of all replies to tus requests and to OPTIONS. */
const tusHeaders = { 'tus-resumable': tusVersion } as const;

export const answerAsTus: HttpMiddleware = ({ env: exchange }, next) => {
  if (speaksTus(exchange)) exchange.protocolHeaders = tusHeaders;
  return next();
};

/** Headers that describe tus in replies to OPTIONS. */
export const tusDescription = {
  ...tusHeaders,
  'tus-version': tusVersion,
  'tus-extension': 'creation,creation-with-upload,creation-defer-length,checksum,termination,expiration',
  'tus-checksum-algorithm': Object.keys(checksumAlgorithms).join(','),
} as const;

/** Refuses other versions of tus. @throws ServiceError `precondition-failed` with the header `Tus-Version` */
export function checkTusVersion(exchange: Exchange): void {
  if (header(exchange, 'tus-resumable')?.trim() === tusVersion) return;
  throw new ServiceError('precondition-failed', `This version of tus is not supported; the supported version is ${tusVersion}.`, {
    details: { reply_headers: { 'tus-version': tusVersion } },
  });
}

/** Reads a number of bytes. @returns undefined if the header is missing @throws ServiceError `bad-request` if it is not a number */
export function bytesField(exchange: Exchange, name: 'upload-offset' | 'upload-length'): number | undefined {
  const text = header(exchange, name);
  if (text === undefined) return undefined;
  if (!/^\d{1,15}$/.test(text.trim())) throw new ServiceError('bad-request', `The ${name} header is not a number of bytes.`);
  return Number(text);
}

/** Returns whether the client will send the length later. @throws ServiceError `bad-request` if the header has a value other than 1 */
export function defersLength(exchange: Exchange): boolean {
  const text = header(exchange, 'upload-defer-length');
  if (text === undefined) return false;
  if (text.trim() !== '1') throw new ServiceError('bad-request', 'Upload-Defer-Length must be 1.');
  return true;
}

/** Returns headers with the offset of an upload and the time when it expires. */
export function tusState({ offsetBytes, outcome, expiresMs }: UploadRecord): Record<string, string> {
  const expires: Record<string, string> = outcome ? {} : { 'upload-expires': formatHttpDate(expiresMs) };
  return { 'upload-offset': String(offsetBytes), ...expires };
}

/** Handles HEAD with tus: returns the state of the upload. */
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

/** Handles DELETE with tus. Cancels the upload or, if the upload has finished, removes its record. */
export const endTusUpload = tus(async (exchange: Exchange) => {
  await cancel(exchange);
  return respond(exchange, { status: 204 });
});

/** Handles PATCH with tus: appends content. The upload is complete when its last byte has arrived. */
export const appendTusUpload = tus(async (exchange: Exchange) => {
  checkTusContentType(exchange);
  checkRequestSize(exchange);
  const offsetBytes = bytesField(exchange, 'upload-offset');
  if (offsetBytes === undefined) throw new ServiceError('bad-request', 'The Upload-Offset header is missing.');
  const saidBytes = bytesField(exchange, 'upload-length');
  const digests = uploadChecksum(header(exchange, 'upload-checksum'), header(exchange, 'trailer'));
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

/** Checks that content has the type that tus requires. @throws ServiceError `media-type-unsupported` */
export function checkTusContentType(exchange: Exchange): void {
  if (mediaTypeOfRequest(exchange) !== tusContentType)
    throw new ServiceError('media-type-unsupported', `The content type of a tus request must be ${tusContentType}.`);
}

// A wrong offset (409) is the only conflict that clients can resolve: they request the current offset and continue from there.
function checkPlace(exchange: Exchange, { record }: ResumableUpload, offsetBytes: number, saidBytes: number | undefined): void {
  const { outcome, lengthBytes } = record;
  if (outcome?.kind === 'failed') throw uploadOver(outcome);
  if (offsetBytes !== record.offsetBytes)
    throw new ServiceError('exists', `The upload is at byte ${record.offsetBytes}, not ${offsetBytes}.`);
  if (saidBytes !== undefined && (lengthBytes === undefined ? saidBytes < offsetBytes : saidBytes !== lengthBytes))
    throw new ServiceError('bad-request', 'The Upload-Length contradicts the announced length or the offset.');
  const endBytes = offsetBytes + (announcedLength(exchange) ?? 0);
  if (endBytes > (lengthBytes ?? saidBytes ?? Number.POSITIVE_INFINITY) || (outcome && hasBody(exchange)))
    throw new ServiceError('too-large', 'The content is longer than the announced length of the upload.');
}

function uploadOver({ code, message }: { code: string; message: string }): UploadOver {
  return new UploadOver(new ServiceError(code as ServiceError['code'], message));
}
