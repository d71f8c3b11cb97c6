import { eventIds } from '../../events/event-ids.ts';
import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import { isFinal, isOverrun } from '../../files/uploads/resumable-upload.ts';
import { isServiceError, ServiceError } from '../../lib/errors.ts';
import { createDigestVerifier, type DigestVerifier, type ExpectedDigest } from '../../lib/headers/digest-fields.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';
import { announcedLength } from '../request/request-body.ts';
import { checkReceivedLength, receiveBody } from '../rest/upload-stream.ts';
import { uploadLimit } from './draft-replies.ts';

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
  if (!upload.isTold || isEnd(error, request)) return upload.end(error);
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
