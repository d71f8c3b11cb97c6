import { createHash } from 'node:crypto';
import { eventIds } from '../../events/event-ids.ts';
import { isFinal, isOverrun, type ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import {
  createDigestVerifier,
  type DigestVerifier,
  type ExpectedDigest,
  formatReprDigest,
  wantsReprDigest,
} from '../../lib/headers/digest-fields.ts';
import { receiptHeaders } from '../reply/receipt.ts';
import { mergeHeaders, type ReplyHeaders } from '../reply/reply.ts';
import { type Exchange, signedIn } from '../request/exchange.ts';
import { entryValidators, type Preconditions } from '../request/preconditions.ts';
import { announcedLength } from '../request/request-body.ts';
import { serverPathValue } from '../request/request-target.ts';
import { backendReplyHeaders } from '../rest/put-delete.ts';
import { checkDigest, checkReceivedLength, receiveBody } from '../rest/upload-stream.ts';
import { uploadLimit } from './draft-replies.ts';
import { keptConditions, representationDigests } from './upload-request.ts';

interface ContentRequest {
  /** Announced digests of this request's content alone. If one of them differs, the whole content of the request is discarded. */
  digests: readonly ExpectedDigest[];
  /** Also gets the content, for example to compute the digest of the whole file. */
  observer?: DigestVerifier | undefined;
  /** Whether the upload ends if its content becomes longer than its announced length. If not, only the request fails. */
  overrunEnds: boolean;
}

/**
 * Appends the content of a request to an upload. If the client disconnects, another request can continue after the content received so far.
 * If the interrupted request has a digest, its content is discarded. Any fault ends the upload if the client does not know its URL.
 *
 * @throws ServiceError; in this case the upload has ended, or its hold was given up, so that another request can continue the upload
 */
export async function receiveContent(exchange: Exchange, upload: ResumableUpload, request: ContentRequest): Promise<void> {
  const { digests, observer } = request;
  const verifier = digests.length === 0 ? undefined : createDigestVerifier(digests);
  const limitBytes = exchange.service.options.maximum_request_size;
  await upload.open(verifier === undefined);
  try {
    checkReceivedLength(exchange, await receiveBody(exchange, upload, combined(verifier, observer), limitBytes));
    checkDigest(verifier);
  } catch (error) {
    await settle(exchange, upload, error, request);
    throw error;
  }
}

async function settle(exchange: Exchange, upload: ResumableUpload, error: unknown, request: ContentRequest): Promise<void> {
  if (!upload.isKnownToClient || isEnd(error, request)) return upload.end(error);
  if (request.digests.length > 0) await upload.rollBack();
  await upload.keep(false);
  if (isServiceError(error, 'client-gone'))
    signedIn(exchange).files.events.emit(eventIds.clientWentAway, upload.record.path, { total_write: upload.record.offsetBytes });
}

function isEnd(error: unknown, { overrunEnds }: ContentRequest): boolean {
  if (isOverrun(error)) return overrunEnds;
  // Only this request is wrong, so a corrected request can continue the upload.
  if (isServiceError(error, 'digest-mismatch', 'length-mismatch', 'bad-request')) return false;
  if (isServiceError(error, 'too-large')) return error.details.of_file === true;
  return isFinal(error);
}

/** Refuses a request whose announced body is larger than the service accepts. @throws ServiceError `too-large` */
export function checkRequestSize(exchange: Exchange): void {
  const limitBytes = exchange.service.options.maximum_request_size;
  if (limitBytes > 0 && (announcedLength(exchange) ?? 0) > limitBytes)
    throw new ServiceError('too-large', `A request must not be larger than ${limitBytes} bytes.`, {
      details: { reply_headers: { 'upload-limit': uploadLimit(exchange) } },
    });
}

function combined(first: DigestVerifier | undefined, second: DigestVerifier | undefined): DigestVerifier | undefined {
  if (!first || !second) return first ?? second;
  return {
    update(chunk) {
      first.update(chunk);
      second.update(chunk);
    },
    mismatch: () => first.mismatch() ?? second.mismatch(),
  };
}

/** Reads the whole content of an upload, to check the announced digests and to compute the requested digest. */
export interface WholeContent extends DigestVerifier {
  /** The SHA-256 digest of the content; undefined if it was not requested. */
  sha256(): Buffer | undefined;
}

/** Creates the reader of a whole content; undefined if no digest was announced or requested when the upload began. */
export function wholeContent(notes: Readonly<Record<string, string>>): WholeContent | undefined {
  const digests = representationDigests(notes);
  const hash = wantsReprDigest(notes['want-repr-digest']) ? createHash('sha256') : undefined;
  if (digests.length === 0 && !hash) return undefined;
  const verifier = createDigestVerifier(digests);
  return {
    update(chunk) {
      verifier.update(chunk);
      hash?.update(chunk);
    },
    mismatch: () => verifier.mismatch(),
    sha256: () => hash?.digest(),
  };
}

/**
 * Completes an upload whose content has all arrived. It is committed in the same way as any other upload.
 *
 * @param seen the reader that saw the whole content, if one request sent it. Otherwise the stored content is read again
 * @returns the headers that the reply to a PUT of the whole file would have
 * @throws ServiceError; in this case the upload has ended, unless the fault could be temporary
 */
export async function completeUpload(exchange: Exchange, upload: ResumableUpload, seen?: WholeContent): Promise<ReplyHeaders> {
  const { modifiedMs } = upload.record;
  let sha256: Buffer | undefined;
  let whole: WholeContent | undefined;
  let verify: Preconditions;
  try {
    verify = await keptConditions(exchange, upload.record);
    whole = seen ?? (await readWhole(upload));
    checkDigest(whole);
    sha256 = whole?.sha256();
  } catch (error) {
    await upload.fail(error);
    throw error;
  }
  const result = await upload.commit(verify, exchange.visit && sha256);
  try {
    const own: ReplyHeaders = {
      etag: entryValidators(result.entry).etag,
      'event-id': result.eventUuid,
      'x-oc-mtime': modifiedMs === undefined ? undefined : 'accepted',
      'repr-digest': sha256 && formatReprDigest(sha256),
      ...(exchange.visit ? receiptHeaders(result) : { 'server-path': serverPathValue(result.path) }),
    };
    const headers = mergeHeaders(own, await backendReplyHeaders(exchange, result.path, result));
    // The file is stored even if the record of the upload cannot be updated. The upkeep of uploads notices that later.
    await upload.conclude({ kind: 'stored', headers: headerLines(headers) }).catch(() => {});
    return headers;
  } finally {
    upload.release();
  }
}

async function readWhole(upload: ResumableUpload): Promise<WholeContent | undefined> {
  const whole = wholeContent(upload.record.notes);
  if (whole) await upload.read((chunk) => whole.update(chunk));
  return whole;
}

function headerLines(headers: ReplyHeaders): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return typeof value === 'object' ? value.map((one): [string, string] => [name, one]) : [[name, String(value)] as [string, string]];
  });
}

/** Converts the stored lines of a reply to headers. */
export function headersOfLines(lines: readonly (readonly [string, string])[]): ReplyHeaders {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of lines) headers[name] = [...(headers[name] ?? []), value];
  return headers;
}
