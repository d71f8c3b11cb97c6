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
import { mergeHeaders, type ReplyHeaders } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { type Preconditions, validatorsOf } from '../request/preconditions.ts';
import { announcedLength } from '../request/request-body.ts';
import { serverPathOf } from '../request/request-target.ts';
import { backendReplyHeaders } from '../rest/put-delete.ts';
import { checkReceivedLength, receiveBody } from '../rest/upload-stream.ts';
import { uploadLimit } from './draft-replies.ts';
import { keptConditions, representationDigests } from './upload-request.ts';

/** How a request brings content. */
interface ContentRequest {
  /** Digests of this content alone: all of it counts, or none. */
  digests: readonly ExpectedDigest[];
  /** Sees the content as it comes, besides. */
  observer?: DigestVerifier | undefined;
  /** Whether content behind the announced end is the end of the upload, and not of the request alone. */
  overrunEnds: boolean;
}

/**
 * Takes the content of a request into an upload. What has come when the client goes away is kept for another request, unless a digest decides
 * about all of it. An upload whose client was not told of it ends with any fault.
 *
 * @throws ServiceError; the upload is over then, or released for another request
 */
export async function receiveContent(exchange: Exchange, upload: ResumableUpload, request: ContentRequest): Promise<void> {
  const { digests, observer } = request;
  const verifier = digests.length === 0 ? undefined : createDigestVerifier(digests);
  const limitBytes = exchange.service.options.maximum_request_size;
  await upload.open(verifier === undefined);
  try {
    checkReceivedLength(exchange, await receiveBody(exchange, upload, bothOf(verifier, observer), limitBytes));
    const mismatch = verifier?.mismatch();
    if (mismatch) throw new ServiceError('digest-mismatch', `The content does not have the digest that ${mismatch} announced.`);
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
    clientOf(exchange).files.emit(eventIds.clientWentAway, upload.record.path, { total_write: upload.record.offsetBytes });
}

function isEnd(error: unknown, { overrunEnds }: ContentRequest): boolean {
  if (isOverrun(error)) return overrunEnds;
  // Of one request: a better one may go on.
  if (isServiceError(error, 'digest-mismatch', 'length-mismatch', 'bad-request')) return false;
  if (isServiceError(error, 'too-large')) return error.details.of_file === true;
  return isFinal(error);
}

/** Refuses a request that announces more than the service takes, before any upload hears of it. @throws ServiceError `too-large` */
export function checkRequestSize(exchange: Exchange): void {
  const limitBytes = exchange.service.options.maximum_request_size;
  if (limitBytes > 0 && (announcedLength(exchange) ?? 0) > limitBytes)
    throw new ServiceError('too-large', `A request must not be larger than ${limitBytes} bytes.`, {
      details: { reply_headers: { 'upload-limit': uploadLimit(exchange) } },
    });
}

function bothOf(first: DigestVerifier | undefined, second: DigestVerifier | undefined): DigestVerifier | undefined {
  if (!first || !second) return first ?? second;
  return {
    update(chunk) {
      first.update(chunk);
      second.update(chunk);
    },
    mismatch: () => first.mismatch() ?? second.mismatch(),
  };
}

/** Looks at the whole content of an upload: the digests that were announced, and the one that was asked for. */
export interface WholeContent extends DigestVerifier {
  /** Of what was looked at; undefined when nobody asked. */
  sha256(): Buffer | undefined;
}

/** What is to be found out about the whole content; undefined for nothing. */
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
 * Completes an upload whose content is all there, through the same door as every upload.
 *
 * @param seen what the one request that brought all of it has found out; undefined has the content read again
 * @returns the headers of the reply that a PUT of the whole would have had
 * @throws ServiceError; the upload is over then, unless the fault may pass
 */
export async function completeUpload(exchange: Exchange, upload: ResumableUpload, seen?: WholeContent): Promise<ReplyHeaders> {
  const { path, modifiedMs } = upload.record;
  let whole: WholeContent | undefined;
  let verify: Preconditions;
  try {
    verify = await keptConditions(exchange, upload.record);
    whole = seen ?? (await lookAt(upload));
    const mismatch = whole?.mismatch();
    if (mismatch) throw new ServiceError('digest-mismatch', `The content does not have the digest that ${mismatch} announced.`);
  } catch (error) {
    await upload.fail(error);
    throw error;
  }
  const result = await upload.commit(verify);
  try {
    const sha256 = whole?.sha256();
    const own: ReplyHeaders = {
      etag: validatorsOf(result.entry).etag,
      'x-oc-mtime': modifiedMs === undefined ? undefined : 'accepted',
      'repr-digest': sha256 && formatReprDigest(sha256),
      'server-path': serverPathOf(path),
    };
    const headers = mergeHeaders(own, await backendReplyHeaders(exchange, path, result));
    // It is done, whether that can be noted or not: who looks after uploads finds out.
    await upload.conclude({ kind: 'stored', headers: linesOf(headers) }).catch(() => {});
    return headers;
  } finally {
    upload.release();
  }
}

async function lookAt(upload: ResumableUpload): Promise<WholeContent | undefined> {
  const whole = wholeContent(upload.record.notes);
  if (whole) await upload.read((chunk) => whole.update(chunk));
  return whole;
}

function linesOf(headers: ReplyHeaders): [string, string][] {
  return Object.entries(headers).flatMap(([name, value]) => {
    if (value === undefined) return [];
    return typeof value === 'object' ? value.map((one): [string, string] => [name, one]) : [[name, String(value)] as [string, string]];
  });
}

/** The headers of a reply that was kept. */
export function headersOfLines(lines: readonly (readonly [string, string])[]): ReplyHeaders {
  const headers: Record<string, string[]> = {};
  for (const [name, value] of lines) headers[name] = [...(headers[name] ?? []), value];
  return headers;
}
