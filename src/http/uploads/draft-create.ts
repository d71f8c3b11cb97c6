import type { ResumableOptions } from '../../files/uploads/open-upload.ts';
import { isOverrun, type ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { mergeHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { announcedLength } from '../request/request-body.ts';
import { refuseUnsupportedHeaders } from '../rest/put.ts';
import { completeUpload, type WholeContent, wholeContent } from './complete-upload.ts';
import { afterFault, announceProgress, announceUpload, lengthProblem, stateHeaders } from './draft-replies.ts';
import { postTarget } from './post-target.ts';
import { checkRequestSize, receiveContent } from './receive-content.ts';
import { interopVersion, uploadComplete, uploadLength, uploadUrl } from './upload-fields.ts';
import { contentDigests, uploadOrder } from './upload-order.ts';

/**
 * Whether a PUT begins an upload that may take several requests. One that brings all of it needs no more than what it gets anyway, unless
 * its client understands where to go on.
 */
export function beginsUpload(exchange: Exchange): boolean {
  const isComplete = uploadComplete(exchange);
  return isComplete === false || (isComplete === true && interopVersion(exchange) !== undefined);
}

/** PUT of a file, or of the beginning of one, by a client that can go on with it (docs/spec/uploads.md#the-draft). */
export function putUpload(c: HttpContext): Promise<Response> {
  return createUpload(c, pathOf(c));
}

/** POST of a file, or of the beginning of one, to the collection of uploads. */
export async function postUpload(c: HttpContext): Promise<Response> {
  const { path, metadataValue } = postTarget(c.env);
  return createUpload(c, path, metadataValue);
}

async function createUpload(c: HttpContext, path: VirtualPath, metadataValue?: string): Promise<Response> {
  const exchange = c.env;
  refuseUnsupportedHeaders(exchange);
  checkRequestSize(exchange);
  const isComplete = uploadComplete(exchange) ?? true;
  const contentBytes = announcedLength(exchange);
  const lengthBytes = uploadLength(exchange) ?? (isComplete ? contentBytes : undefined);
  if (isComplete && contentBytes !== undefined && lengthBytes !== contentBytes) return respond(c, lengthProblem(true));
  if (!isComplete && (contentBytes ?? 0) > (lengthBytes ?? Number.POSITIVE_INFINITY)) return respond(c, lengthProblem(true));
  const digests = contentDigests(exchange);
  const order = await uploadOrder(exchange, path, lengthBytes, {}, metadataValue);
  const upload = await beginUpload(exchange, path, order);
  const whole = isComplete ? wholeContent(order.notes) : undefined;
  upload.isTold = announceUpload(exchange, upload);
  if (digests.length === 0) announceProgress(exchange, upload);
  try {
    await receiveContent(exchange, upload, { digests, observer: whole, overrunEnds: true });
  } catch (error) {
    if (isOverrun(error)) return respond(c, lengthProblem(true));
    throw afterFault(exchange, error, upload.record);
  }
  return isComplete ? finish(c, upload, whole) : keep(c, upload);
}

async function beginUpload(exchange: Exchange, path: VirtualPath, order: ResumableOptions): Promise<ResumableUpload> {
  try {
    return await clientOf(exchange).files.beginResumable(path, order, () => exchange.outgoing.destroy());
  } catch (error) {
    throw afterFault(exchange, error);
  }
}

async function finish(c: HttpContext, upload: ResumableUpload, whole: WholeContent | undefined): Promise<Response> {
  try {
    const headers = await completeUpload(c.env, upload, whole);
    const own = { location: uploadUrl(upload.record.id), ...stateHeaders(c.env, upload.record, true) };
    return respond(c, { status: 201, headers: mergeHeaders(own, headers) });
  } catch (error) {
    throw afterFault(c.env, error, upload.record);
  }
}

async function keep(c: HttpContext, upload: ResumableUpload): Promise<Response> {
  await upload.keep(true);
  const headers = { location: uploadUrl(upload.record.id), ...stateHeaders(c.env, upload.record, false) };
  return respond(c, { status: 201, headers });
}
