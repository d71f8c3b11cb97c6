import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import type { FailedUpload, UploadRecord } from '../../files/uploads/upload-store.ts';
import { type ErrorCode, isServiceError, ServiceError } from '../../lib/errors.ts';
import { messageFor } from '../html/problem-message.ts';
import { errorsReply } from '../reply/error-reply.ts';
import { isHttp2 } from '../reply/outgoing.ts';
import type { Reply, ReplyHeaders } from '../reply/reply.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { completeField, interopVersion, limitField, uploadUrl } from './upload-request.ts';

/** `ServerResponse` uses this method for its own interim replies (100, 102, 103). Node.js 20 has no public method for a 104. */
interface RawReply {
  _writeRaw(text: string, encoding: 'latin1'): void;
}

/**
 * Sends an interim reply (RFC 9110 §15.2), unless the final reply has begun. Clients with HTTP/1.0 get none, because that version has no
 * interim replies.
 */
function send104({ incoming, outgoing }: Exchange, version: number, state: Readonly<Record<string, string>>): void {
  if (outgoing.headersSent) return;
  const headers = { 'upload-draft-interop-version': String(version), ...state };
  if (isHttp2(outgoing)) {
    if (!outgoing.destroyed && !outgoing.closed) outgoing.additionalHeaders({ ':status': 104, ...headers });
    return;
  }
  if (incoming.httpVersionMinor === 0) return;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  (outgoing as unknown as RawReply)._writeRaw(`HTTP/1.1 104 Upload Resumption Supported\r\n${lines.join('')}\r\n`, 'latin1');
}

/** Base URL of the problem types that the draft for resumable uploads defines (IANA registry of RFC 9457). */
const problemTypes = 'https://iana.org/assignments/http-problem-types#';

/** Returns headers that describe the progress of an upload. */
export function stateHeaders(exchange: Exchange, record: UploadRecord, isComplete: boolean): Record<string, string> {
  return {
    'upload-offset': String(record.offsetBytes),
    'upload-complete': completeField(isComplete),
    'upload-limit': uploadLimit(exchange, record),
  };
}

/** Returns the value of `Upload-Limit` for an upload of this account. @param record undefined for an upload that has not begun */
export function uploadLimit(exchange: Exchange, record?: UploadRecord): string {
  const { fileWriteSizeBytes } = signedIn(exchange).account;
  return limitField({
    'max-size': fileWriteSizeBytes,
    'max-append-size': exchange.service.options.maximum_request_size,
    'max-age': record && Math.max(0, Math.floor((record.expiresMs - exchange.service.clock.nowMs()) / 1000)),
  });
}

/** If the client understands interim replies with status 104, sends it the URL of the upload. @returns whether the URL was sent */
export function announceUpload(exchange: Exchange, { record }: ResumableUpload): boolean {
  const version = interopVersion(exchange);
  if (version === undefined || exchange.incoming.httpVersionMajor + exchange.incoming.httpVersionMinor / 10 < 1.1) return false;
  send104(exchange, version, { location: uploadUrl(exchange, record.id), 'upload-limit': uploadLimit(exchange, record) });
  return true;
}

/** If the client understands interim replies with status 104, sends it the number of stored bytes during the upload. */
export function announceProgress(exchange: Exchange, upload: ResumableUpload): void {
  const version = interopVersion(exchange);
  if (version === undefined) return;
  upload.onProgress = (offsetBytes) => send104(exchange, version, { 'upload-offset': String(offsetBytes) });
}

/** Builds the reply to requests for an upload that has failed. Clients get this reply until the record of the upload is removed. */
export function overReply(exchange: Exchange, { code, message }: FailedUpload): Reply {
  const item = { message: messageFor(exchange, { code: code as ErrorCode, message }) };
  return errorsReply(410, [item], { 'cache-control': 'no-store', 'upload-complete': completeField(true) });
}

/** Builds the reply to a request whose offset does not match the upload. */
export function offsetProblem(exchange: Exchange, record: UploadRecord, providedBytes: number): Reply {
  const title = 'offset from request does not match offset of resource';
  const members = { 'expected-offset': record.offsetBytes, 'provided-offset': providedBytes };
  return problemReply(409, 'mismatching-upload-offset', title, members, stateHeaders(exchange, record, false));
}

/** Builds the reply to lengths that contradict each other or the content. */
export function lengthProblem(isOver: boolean): Reply {
  const headers = { 'upload-complete': completeField(isOver) };
  return problemReply(400, 'inconsistent-upload-length', 'inconsistent length values for upload', {}, headers);
}

function problemReply(status: number, type: string, title: string, members: object, headers: ReplyHeaders): Reply {
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify({ type: problemTypes + type, title, status, ...members }),
  };
}

/** Adds headers to an error: whether the upload has ended, and the limits if one of them was exceeded. */
export function afterFault(exchange: Exchange, error: unknown, record?: UploadRecord): unknown {
  if (isServiceError(error, 'client-gone')) return error;
  return withHeaders(error, {
    ...(record && { 'upload-complete': completeField(record.outcome !== undefined) }),
    ...(isServiceError(error, 'too-large') && { 'upload-limit': uploadLimit(exchange, record) }),
  });
}

/** Adds headers to the reply with which a fault is answered. */
export function withHeaders(error: unknown, headers: Readonly<Record<string, string>>): unknown {
  if (error instanceof ServiceError) error.details.reply_headers = headers;
  return error;
}
