import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { HttpContext } from '../environment.ts';
import { mergeHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { announcedLength, hasBody } from '../request/request-body.ts';
import { completeUpload, headersOfLines } from './complete-upload.ts';
import { cancel, recordOf, uploadOf } from './draft-resource.ts';
import { checkRequestSize, receiveContent } from './receive-content.ts';
import { tus, tusFault, UploadOver } from './tus-faults.ts';
import { bytesField, checksumOf, tusContentType, tusState } from './tus-fields.ts';

/** HEAD of tus: how far the upload is. */
export const showTusUpload = tus(async (c: HttpContext) => {
  const record = await recordOf(c.env);
  const { lengthBytes, outcome, notes } = record;
  if (outcome?.kind === 'failed') throw overOf(outcome);
  const headers = {
    ...tusState(record),
    ...(lengthBytes === undefined ? { 'upload-defer-length': '1' } : { 'upload-length': lengthBytes }),
    'upload-metadata': notes['upload-metadata'],
    'cache-control': 'no-store',
  };
  return respond(c, { status: 200, headers });
});

/** DELETE of tus: the upload is given up, or what is known of one that is done. */
export const endTusUpload = tus(async (c: HttpContext) => {
  await cancel(c.env);
  return respond(c, { status: 204 });
});

/** PATCH of tus: more content. The upload is complete with the last byte. */
export const appendTusUpload = tus(async (c: HttpContext) => {
  const exchange = c.env;
  checkTusContentType(exchange);
  checkRequestSize(exchange);
  const offsetBytes = bytesField(exchange, 'upload-offset');
  if (offsetBytes === undefined) throw new ServiceError('bad-request', 'The Upload-Offset header is missing.');
  const saidBytes = bytesField(exchange, 'upload-length');
  const digests = checksumOf(exchange);
  const upload = await uploadOf(exchange);
  const { outcome } = upload.record;
  try {
    checkPlace(exchange, upload, offsetBytes, saidBytes);
    if (outcome?.kind === 'stored') {
      upload.release();
      return await respond(c, { status: 204, headers: mergeHeaders(tusState(upload.record), headersOfLines(outcome.headers)) });
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
      return await respond(c, { status: 204, headers: mergeHeaders(tusState(upload.record), headers) });
    }
    await upload.keep(true);
    return await respond(c, { status: 204, headers: tusState(upload.record) });
  } catch (error) {
    throw tusFault(error, upload);
  }
});

/** @throws ServiceError `media-type-unsupported` for content of another type than that of tus */
export function checkTusContentType(exchange: Exchange): void {
  if (header(exchange, 'content-type')?.split(';', 1)[0]?.trim().toLowerCase() !== tusContentType)
    throw new ServiceError('media-type-unsupported', `The content of a request is ${tusContentType}.`);
}

// An offset that is not the upload's is the one conflict that clients can mend: they ask for it, and go on.
function checkPlace(exchange: Exchange, { record }: ResumableUpload, offsetBytes: number, saidBytes: number | undefined): void {
  const { outcome, lengthBytes } = record;
  if (outcome?.kind === 'failed') throw overOf(outcome);
  if (offsetBytes !== record.offsetBytes)
    throw new ServiceError('exists', `The upload is at byte ${record.offsetBytes}, not ${offsetBytes}.`);
  if (saidBytes !== undefined && (lengthBytes === undefined ? saidBytes < offsetBytes : saidBytes !== lengthBytes))
    throw new ServiceError('bad-request', 'The Upload-Length is not that of the upload.');
  const endBytes = offsetBytes + (announcedLength(exchange) ?? 0);
  if (endBytes > (lengthBytes ?? saidBytes ?? Number.POSITIVE_INFINITY) || (outcome && hasBody(exchange)))
    throw new ServiceError('too-large', 'The request brings more than the upload was announced with.');
}

function overOf({ code, message }: { code: string; message: string }): UploadOver {
  return new UploadOver(new ServiceError(code as ServiceError['code'], message));
}
