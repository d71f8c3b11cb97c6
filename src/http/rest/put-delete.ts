import { eventIds } from '../../events/event-ids.ts';
import type { Entry } from '../../files/entry.ts';
import type { UploadResult } from '../../files/operations/file-upload.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { createDigestVerifier, parseExpectedDigests } from '../../lib/headers/digest-fields.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { messageFor } from '../html/problem-message.ts';
import { errorsReply } from '../reply/error-reply.ts';
import { droppedReply } from '../reply/receipt.ts';
import { mergeHeaders, type ReplyHeaders } from '../reply/reply.ts';
import { respond } from '../reply/respond.ts';
import { type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';
import { redirectFolder } from '../request/member-url.ts';
import { entryValidators, isConditional, preconditions } from '../request/preconditions.ts';
import { announcedLength, hasBody } from '../request/request-body.ts';
import { memberUrlPath, serverPathValue } from '../request/request-target.ts';
import { requestedModificationTime, uploadMetadata } from '../request/upload-metadata.ts';
import { checkDigest, checkReceivedLength, checkRequestBytes, receiveBody } from './upload-stream.ts';

/**
 * Answers MKCOL (RFC 4918 §9.3; docs/spec/webdav.md#mkcol): 201 for a new folder, 405 if the name exists, 409 without a parent, 415 with a
 * body.
 */
export async function makeCollection(exchange: Exchange): Promise<Response> {
  const { path } = exchange;
  if (hasBody(exchange)) throw new ServiceError('media-type-unsupported', 'MKCOL must not have a body.');
  const { files } = exchange;
  if (exchange.incoming.headers.if !== undefined) (await preconditions(exchange, path))(files.inspect(path, 'createFolder'));
  try {
    await files.createFolder(path);
  } catch (error) {
    if (!isServiceError(error, 'exists')) throw error;
    throw new ServiceError('method-not-allowed', 'A file or folder of this name exists.', { cause: error });
  }
  return respond(exchange, { status: 201 });
}

/** Answers DELETE of a file with 204 (docs/spec/files.md#deletion). */
export async function deleteFile(exchange: Exchange): Promise<Response> {
  const { path } = exchange;
  const conditions = await preconditions(exchange, path);
  const verify = (current: Entry) => {
    if (!current.isFolder) conditions(current);
  };
  try {
    await exchange.files.deleteFile(path, verify);
  } catch (error) {
    // Windows Explorer and other clients omit the final slash of a folder and do not follow redirects.
    if (isServiceError(error, 'is-folder') && exchange.service.options.webdav_compatibility) return deleteFolder(exchange);
    throw redirectFolder(path, error);
  }
  return respond(exchange, { status: 204 });
}

/** Answers DELETE of a folder with all its content: 204, or 422 with an item for each path that remains (docs/spec/files.md#deletion). */
export async function deleteFolder(exchange: Exchange): Promise<Response> {
  const { path } = exchange;
  const left = await exchange.files.deleteFolder(path, { verify: await preconditions(exchange, path) });
  if (left.length === 0) return respond(exchange, { status: 204 });
  const items = left.map(({ relativePath, code, message }) => ({ target: relativePath, message: messageFor(exchange, { code, message }) }));
  return respond(exchange, errorsReply(422, items));
}

/**
 * Returns the headers that the API back-end adds to the reply to an upload (docs/spec/delivery.md#upload-back-end). If the back-end's reply
 * is not valid, returns the configured headers instead, and emits `backendReplyInvalid`. The file is stored in both cases.
 */
export async function backendReplyHeaders(exchange: Exchange, path: VirtualPath, result: UploadResult): Promise<ReplyHeaders> {
  const { options } = exchange.service;
  if (!options.api_backend_uuid) return {};
  const headers: ReplyHeaders = {};
  if (result.delivery?.outcome === 'delivered') {
    const replied = result.delivery.headers ?? [];
    for (const name of options.api_passthrough_headers) {
      const values = replied.flatMap(([other, value]) => (other.toLowerCase() === name.toLowerCase() ? [value] : []));
      if (values.length > 0) headers[name] = values;
    }
    return headers;
  }
  await exchange.files.events.emitDurable(eventIds.backendReplyInvalid, path, {
    handler: options.api_backend_uuid,
    details: result.delivery?.outcome ?? 'no such event handler',
    status: result.delivery?.status,
  });
  for (const [name, value] of options.api_partial_success_headers) headers[name] = value;
  return headers;
}

/**
 * Answers PUT of a file with 201, whether the file is new or replaces an old one (docs/spec/files.md#uploads). A refusal is sent before the
 * body is read. The old file stays until the new file is complete and verified.
 */
export async function putFile(exchange: Exchange): Promise<Response> {
  const { path, service, files } = exchange;
  refuseUnsupportedHeaders(exchange);
  const expectedSizeBytes = announcedLength(exchange);
  const limitBytes = service.options.maximum_request_size;
  checkRequestBytes(expectedSizeBytes ?? 0, limitBytes);
  const metadata = uploadMetadata(exchange);
  const digests = parseExpectedDigests(integrityHeaders(exchange));
  const modifiedMs = requestedModificationTime(exchange);
  const verify = isConditional(exchange) ? await preconditions(exchange, path) : undefined;
  const backendUuid = service.options.api_backend_uuid || undefined;
  const isDigested = exchange.visit !== undefined;
  const upload = await files.openUpload(path, { expectedSizeBytes, metadata, modifiedMs, verify, backendUuid, isDigested });
  let result: UploadResult;
  try {
    const verifier = digests.length > 0 ? createDigestVerifier(digests) : undefined;
    checkReceivedLength(exchange, await receiveBody(exchange, upload, verifier, limitBytes));
    checkDigest(verifier);
    result = await upload.commit();
  } catch (error) {
    await upload.abort(error);
    throw error;
  }
  const passed = await backendReplyHeaders(exchange, result.path, result);
  if (exchange.visit) return respond(exchange, droppedReply(result, passed));
  const own = {
    etag: entryValidators(result.entry).etag,
    'event-id': result.eventUuid,
    'x-oc-mtime': modifiedMs === undefined ? undefined : 'accepted',
    ...storedElsewhere(path, result.path),
  };
  return respond(exchange, { status: 201, headers: mergeHeaders(own, passed) });
}

/** If a file was stored under another name than the requested name (`on_name_taken`), returns headers with the actual name. */
function storedElsewhere(asked: VirtualPath, stored: VirtualPath): ReplyHeaders {
  return stored === asked ? {} : { location: memberUrlPath(stored, false), 'server-path': serverPathValue(stored) };
}

/** Answers PUT of a folder with 201 (docs/spec/files.md#folders). A body is refused, because a folder has no content. */
export async function putFolder(exchange: Exchange): Promise<Response> {
  if (hasBody(exchange)) throw new ServiceError('bad-request', 'PUT of a folder must not have a body; the URL of a file has no final "/".');
  await exchange.files.createFolder(exchange.path);
  return respond(exchange, { status: 201 });
}

/**
 * Refuses headers that would damage the file. If a partial PUT were taken for a complete one, the rest of the file would be lost (RFC 9110
 * §14.4). If an encoded body were stored unchanged, it would be served as if it were plain (§8.4).
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

/** Refuses MKCOL with a body by 415, also at URLs that do not support MKCOL at all (docs/spec/webdav.md#mkcol). */
export const refuseMkcolBody: HttpMiddleware = ({ env: exchange }, next) => {
  if (exchange.method === 'MKCOL' && hasBody(exchange)) throw new ServiceError('media-type-unsupported', 'MKCOL must not have a body.');
  return next();
};
