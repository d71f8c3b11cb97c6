import { ServiceError } from '../../lib/errors.ts';
import type { HttpContext } from '../environment.ts';
import { mergeHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { clientOf, header } from '../request/exchange.ts';
import { hasBody } from '../request/request-body.ts';
import { completeUpload } from './complete-upload.ts';
import { postTarget } from './post-target.ts';
import { checkRequestSize, receiveContent } from './receive-content.ts';
import { tus, tusRefusal } from './tus-faults.ts';
import { bytesField, checksumOf, defersLength, tusState } from './tus-fields.ts';
import { checkTusContentType } from './tus-resource.ts';
import { uploadUrl } from './upload-fields.ts';
import { uploadOrder } from './upload-order.ts';

/** POST of tus to the collection of uploads: an upload is created, perhaps with its first content (docs/spec/uploads.md#tus). */
export const createTusUpload = tus(async (c: HttpContext) => {
  const exchange = c.env;
  const lengthBytes = bytesField(exchange, 'upload-length');
  if (defersLength(exchange) === (lengthBytes !== undefined))
    throw new ServiceError('bad-request', 'Either Upload-Length or Upload-Defer-Length is needed.');
  checkRequestSize(exchange);
  const hasContent = hasBody(exchange);
  if (hasContent) checkTusContentType(exchange);
  const digests = checksumOf(exchange);
  const { path, metadataValue } = postTarget(exchange);
  const metadata = header(exchange, 'upload-metadata');
  const notes: Record<string, string> = metadata === undefined ? {} : { 'upload-metadata': metadata };
  try {
    const order = await uploadOrder(exchange, path, lengthBytes, notes, metadataValue);
    const upload = await clientOf(exchange).files.beginResumable(path, order, () => exchange.outgoing.destroy());
    const location = uploadUrl(upload.record.id);
    await receiveContent(exchange, upload, { digests, overrunEnds: false });
    if (upload.receivedBytes === lengthBytes) {
      const headers = await completeUpload(exchange, upload);
      return await respond(c, { status: 201, headers: mergeHeaders({ location, ...tusState(upload.record) }, headers) });
    }
    await upload.keep(true);
    return await respond(c, { status: 201, headers: { location, ...tusState(upload.record) } });
  } catch (error) {
    throw tusRefusal(error);
  }
});
