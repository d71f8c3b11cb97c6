import type { UploadResult } from '../../files/operations/file-upload.ts';
import { ServiceError } from '../../lib/errors.ts';
import { createDigestVerifier, parseExpectedDigests } from '../../lib/headers/digest-fields.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { mergeHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { clientOf, type Exchange, header } from '../request/exchange.ts';
import { requestedModificationTime } from '../request/modification-time.ts';
import { isConditional, preconditions, validatorsOf } from '../request/preconditions.ts';
import { announcedLength, hasBody } from '../request/request-body.ts';
import { uploadMetadata } from '../request/upload-metadata.ts';
import { backendReplyHeaders } from './upload-backend.ts';
import { checkReceivedLength, receiveBody } from './upload-stream.ts';

/**
 * PUT of a file (docs/spec/files.md#uploads): 201 for a new and for an overwritten file. Everything that can be refused is
 * refused before the body is asked for; the old file stays until the new one is complete and verified.
 */
export async function putFile(c: HttpContext): Promise<Response> {
  const exchange = c.env;
  const path = pathOf(c);
  const { service } = exchange;
  const { files } = clientOf(exchange);
  refuseUnsupportedHeaders(exchange);
  const expectedSizeBytes = announcedLength(exchange);
  const limitBytes = service.options.maximum_request_size;
  if (limitBytes > 0 && (expectedSizeBytes ?? 0) > limitBytes)
    throw new ServiceError('too-large', `A request must not be larger than ${limitBytes} bytes.`);
  const metadata = uploadMetadata(exchange);
  const digests = parseExpectedDigests(integrityHeaders(exchange));
  const modifiedMs = requestedModificationTime(exchange);
  const verify = isConditional(exchange) ? await preconditions(exchange, path) : undefined;
  const backendUuid = service.options.api_backend_uuid || undefined;
  const upload = await files.openUpload(path, { expectedSizeBytes, metadata, modifiedMs, verify, backendUuid });
  let result: UploadResult;
  try {
    const verifier = digests.length > 0 ? createDigestVerifier(digests) : undefined;
    checkReceivedLength(exchange, await receiveBody(exchange, upload, verifier, limitBytes));
    const mismatch = verifier?.mismatch();
    if (mismatch) throw new ServiceError('digest-mismatch', `The content does not have the digest that ${mismatch} announced.`);
    result = await upload.commit();
  } catch (error) {
    await upload.abort(error);
    throw error;
  }
  const headers = { etag: validatorsOf(result.entry).etag, 'x-oc-mtime': modifiedMs === undefined ? undefined : 'accepted' };
  return respond(c, { status: 201, headers: mergeHeaders(headers, await backendReplyHeaders(exchange, path, result)) });
}

/** PUT of a folder: 201; a body makes no sense there (docs/spec/files.md#folders). */
export async function putFolder(c: HttpContext): Promise<Response> {
  if (hasBody(c.env)) throw new ServiceError('bad-request', 'PUT of a folder takes no body; a file URL has no "/" at its end.');
  await clientOf(c.env).files.createFolder(pathOf(c));
  return respond(c, { status: 201 });
}

/**
 * RFC 9110 §14.4: a partial PUT that a server takes for a whole one destroys the file. §8.4: stored as sent, a coded
 * body would come back as something else.
 */
export function refuseUnsupportedHeaders(exchange: Exchange): void {
  if (header(exchange, 'content-range') !== undefined) throw new ServiceError('bad-request', 'Content-Range is not supported on PUT.');
  const coding = header(exchange, 'content-encoding')?.trim().toLowerCase();
  if (coding !== undefined && coding !== 'identity' && coding !== '') {
    throw new ServiceError('media-type-unsupported', 'Content-Encoding is not supported on PUT; send the file as it is.');
  }
}

function integrityHeaders(exchange: Exchange) {
  return {
    'content-md5': header(exchange, 'content-md5'),
    'content-digest': header(exchange, 'content-digest'),
    'repr-digest': header(exchange, 'repr-digest'),
    'oc-checksum': header(exchange, 'oc-checksum'),
  };
}
