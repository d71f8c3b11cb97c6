import type { ResumableOptions } from '../../files/uploads/open-upload.ts';
import { isOverrun, type ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import type { UploadRecord } from '../../files/uploads/upload-store.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { storedReply } from '../reply/receipt.ts';
import { mergeHeaders, type Reply, type ReplyHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import type { Exchange } from '../request/exchange.ts';
import { mediaTypeOfRequest } from '../request/reply-format.ts';
import { announcedLength, hasBody } from '../request/request-body.ts';
import { refuseUnsupportedHeaders } from '../rest/put-delete.ts';
import {
  afterFault,
  announceProgress,
  announceUpload,
  lengthProblem,
  offsetProblem,
  overReply,
  stateHeaders,
  withHeaders,
} from './draft-replies.ts';
import { checkRequestSize, completeUpload, headersOfLines, receiveContent, type WholeContent, wholeContent } from './upload-content.ts';
import {
  contentDigests,
  integerField,
  interopVersion,
  postTarget,
  requestedUploadId,
  uploadComplete,
  uploadOrder,
  uploadUrl,
} from './upload-request.ts';

/**
 * Returns whether a PUT begins a resumable upload. A PUT with the whole content does so only if the client names a version of the draft
 * (`interopVersion`), because other clients cannot resume an upload.
 */
export function beginsUpload(exchange: Exchange): boolean {
  const isComplete = uploadComplete(exchange);
  return isComplete === false || (isComplete === true && interopVersion(exchange) !== undefined);
}

/** Handles PUT of a file, or of its first part, from a client that can resume the upload (docs/spec/uploads.md#the-draft). */
export function putUpload(exchange: Exchange): Promise<Response> {
  return createUpload(exchange, exchange.path);
}

/** Handles POST of a file, or of its first part, to the collection of uploads. */
export async function postUpload(exchange: Exchange): Promise<Response> {
  const { path, metadataValue } = postTarget(exchange);
  return createUpload(exchange, path, metadataValue);
}

async function createUpload(exchange: Exchange, path: VirtualPath, metadataValue?: string): Promise<Response> {
  refuseUnsupportedHeaders(exchange);
  checkRequestSize(exchange);
  const isComplete = uploadComplete(exchange) ?? true;
  const contentBytes = announcedLength(exchange);
  const lengthBytes = integerField(exchange, 'upload-length') ?? (isComplete ? contentBytes : undefined);
  const isContradiction = isComplete
    ? contentBytes !== undefined && lengthBytes !== contentBytes
    : (contentBytes ?? 0) > (lengthBytes ?? Number.POSITIVE_INFINITY);
  if (isContradiction) return respond(exchange, lengthProblem(true));
  const digests = contentDigests(exchange);
  const order = await uploadOrder(exchange, path, lengthBytes, {}, metadataValue);
  const upload = await beginUpload(exchange, path, order);
  const whole = isComplete ? wholeContent(order.notes) : undefined;
  upload.isKnownToClient = announceUpload(exchange, upload);
  if (digests.length === 0) announceProgress(exchange, upload);
  try {
    await receiveContent(exchange, upload, { digests, observer: whole, overrunEnds: true });
  } catch (error) {
    if (isOverrun(error)) return respond(exchange, lengthProblem(true));
    throw afterFault(exchange, error, upload.record);
  }
  return isComplete ? finish(exchange, upload, whole) : keepBegun(exchange, upload);
}

async function beginUpload(exchange: Exchange, path: VirtualPath, order: ResumableOptions): Promise<ResumableUpload> {
  try {
    return await exchange.files.beginResumable(path, order, () => exchange.outgoing.destroy());
  } catch (error) {
    throw afterFault(exchange, error);
  }
}

async function finish(exchange: Exchange, upload: ResumableUpload, whole: WholeContent | undefined): Promise<Response> {
  try {
    const headers = await completeUpload(exchange, upload, whole);
    const own = { location: uploadUrl(exchange, upload.record.id), ...stateHeaders(exchange, upload.record, true) };
    return respond(exchange, stored(exchange, upload.record, mergeHeaders(own, headers)));
  } catch (error) {
    throw afterFault(exchange, error, upload.record);
  }
}

/** Returns the reply to the request that completes an upload. */
function stored({ visit }: Exchange, record: UploadRecord, headers: ReplyHeaders): Reply {
  return visit ? storedReply(record, headers) : { status: 201, headers };
}

async function keepBegun(exchange: Exchange, upload: ResumableUpload): Promise<Response> {
  await upload.keep(true);
  const headers = { location: uploadUrl(exchange, upload.record.id), ...stateHeaders(exchange, upload.record, false) };
  return respond(exchange, { status: 201, headers });
}

const partialUpload = 'application/partial-upload';

/**
 * Takes the hold of the requested upload. If a newer request asks for the upload later, ends the connection of this request.
 *
 * @throws ServiceError `not-found`, also for uploads of other accounts
 */
export function requestedUpload(exchange: Exchange): Promise<ResumableUpload> {
  return exchange.files.resumable(requestedUploadId(exchange), () => exchange.outgoing.destroy());
}

/**
 * Returns the record of an upload, to answer a query. Ends a request that is still sending content to this upload.
 * @throws ServiceError `not-found`, also for uploads of other accounts
 */
export function requestedRecord(exchange: Exchange): Promise<UploadRecord> {
  return exchange.files.inspectResumable(requestedUploadId(exchange));
}

/** Handles HEAD and GET of an upload, which return its progress (docs/spec/uploads.md#the-draft). */
export async function showUpload(exchange: Exchange): Promise<Response> {
  const record = await requestedRecord(exchange);
  const { outcome, lengthBytes } = record;
  if (outcome?.kind === 'failed') return respond(exchange, overReply(exchange, outcome));
  const headers = {
    ...stateHeaders(exchange, record, outcome !== undefined),
    'upload-length': lengthBytes,
    'cache-control': 'no-store',
    ...(outcome && toldAgain(exchange, headersOfLines(outcome.headers))),
  };
  return respond(exchange, { status: 204, headers });
}

/**
 * Returns the headers that a client missed if it did not get the first reply. They say whether the upload is held; a visitor also gets the
 * receipt.
 */
function toldAgain({ visit }: Exchange, headers: ReplyHeaders): ReplyHeaders {
  return visit ? headers : { held: headers.held };
}

/** Handles DELETE of an upload. Cancels the upload or, if the upload has finished, removes its record. */
export async function cancelUpload(exchange: Exchange): Promise<Response> {
  await cancel(exchange);
  return respond(exchange, { status: 204 });
}

/** Cancels the upload that the URL names or, if the upload has finished, removes its record. */
export async function cancel(exchange: Exchange): Promise<void> {
  // Newer requests have to wait for this request. If they ended this request, the client would not learn that the upload was cancelled.
  const upload = await exchange.files.resumable(requestedUploadId(exchange));
  if (upload.record.outcome) await upload.forget();
  else await upload.end(new ServiceError('not-found', 'The client cancelled the upload.'), 'cancelled');
}

/** Handles PATCH of an upload: appends more content, or the last part. */
export async function appendToUpload(exchange: Exchange): Promise<Response> {
  const offsetBytes = integerField(exchange, 'upload-offset');
  const isComplete = uploadComplete(exchange);
  checkType(exchange);
  checkRequestSize(exchange);
  if (offsetBytes === undefined || isComplete === undefined)
    throw new ServiceError('bad-request', 'A PATCH of an upload must have the headers Upload-Offset and Upload-Complete.');
  const digests = contentDigests(exchange);
  const upload = await requestedUpload(exchange);
  const refused = await refusal(exchange, upload, offsetBytes, isComplete);
  if (refused) return respond(exchange, refused);
  if (digests.length === 0) announceProgress(exchange, upload);
  try {
    await receiveContent(exchange, upload, { digests, overrunEnds: true });
    if (!isComplete) return await keep(exchange, upload);
    if (upload.receivedBytes !== (upload.record.lengthBytes ?? upload.receivedBytes)) {
      await upload.keep(false);
      return await respond(exchange, lengthProblem(false));
    }
    const headers = await completeUpload(exchange, upload);
    return await respond(exchange, stored(exchange, upload.record, mergeHeaders(stateHeaders(exchange, upload.record, true), headers)));
  } catch (error) {
    if (isOverrun(error)) return respond(exchange, lengthProblem(true));
    throw afterFault(exchange, error, upload.record);
  }
}

/** If a request cannot continue an upload, ends the upload or releases the hold on it, and returns the reply; otherwise undefined. */
async function refusal(exchange: Exchange, upload: ResumableUpload, offsetBytes: number, isComplete: boolean): Promise<Reply | undefined> {
  const { record } = upload;
  const released = (reply: Reply) => {
    upload.release();
    return reply;
  };
  if (record.outcome?.kind === 'failed') return released(overReply(exchange, record.outcome));
  if (offsetBytes !== record.offsetBytes) return released(offsetProblem(exchange, record, offsetBytes));
  if (record.outcome) {
    const isSame = isComplete && !hasBody(exchange);
    const headers = mergeHeaders(stateHeaders(exchange, record, true), headersOfLines(record.outcome.headers));
    return released(isSame ? stored(exchange, record, headers) : lengthProblem(false));
  }
  const contentBytes = announcedLength(exchange);
  const endBytes = contentBytes === undefined ? undefined : offsetBytes + contentBytes;
  const announced = [integerField(exchange, 'upload-length'), isComplete ? endBytes : undefined].filter((length) => length !== undefined);
  const lengthBytes = record.lengthBytes ?? announced[0];
  if (lengthBytes !== undefined && (endBytes ?? offsetBytes) > lengthBytes) {
    await upload.end(new ServiceError('length-mismatch', 'The content is longer than the announced length of the upload.'));
    return lengthProblem(true);
  }
  if (announced.some((length) => length !== lengthBytes)) return released(lengthProblem(false));
  try {
    if (lengthBytes !== undefined) await upload.setLength(lengthBytes);
  } catch (error) {
    await upload.fail(error);
    throw afterFault(exchange, error, upload.record);
  }
  return undefined;
}

async function keep(exchange: Exchange, upload: ResumableUpload): Promise<Response> {
  await upload.keep(true);
  return respond(exchange, { status: 204, headers: stateHeaders(exchange, upload.record, false) });
}

// Interop version 5 of the draft defines no media type, so clients of this version may send any type.
function checkType(exchange: Exchange): void {
  const type = mediaTypeOfRequest(exchange);
  if (type === partialUpload || interopVersion(exchange) === 5) return;
  const fault = new ServiceError('media-type-unsupported', `The content type of a PATCH must be ${partialUpload}.`);
  throw withHeaders(fault, { 'accept-patch': partialUpload });
}
