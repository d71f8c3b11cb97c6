import { createHash } from 'node:crypto';
import type { ResumableUpload } from '../../files/uploads/resumable-upload.ts';
import { ServiceError } from '../../lib/errors.ts';
import { createDigestVerifier, type DigestVerifier, formatReprDigest, wantsReprDigest } from '../../lib/headers/digest-fields.ts';
import { mergeHeaders, type ReplyHeaders } from '../reply/reply.ts';
import type { Exchange } from '../request/exchange.ts';
import { type Preconditions, validatorsOf } from '../request/preconditions.ts';
import { serverPathOf } from '../request/request-target.ts';
import { backendReplyHeaders } from '../rest/upload-backend.ts';
import { keptConditions, representationDigests } from './upload-order.ts';

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
