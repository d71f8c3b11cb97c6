import type { UploadResult } from '../../files/operations/file-upload.ts';
import type { UploadRecord } from '../../files/uploads/upload-store.ts';
import { formatReprDigest } from '../../lib/headers/digest-fields.ts';
import { baseName } from '../../lib/virtual-path.ts';
import { jsonReply, type Reply, type ReplyHeaders } from './reply.ts';

/** A file that a visitor uploaded, as replies show it. The reply must not reveal paths of the link's creator. */
export interface DroppedFile {
  target: string;
  size: number;
  digest: { 'sha-256': string };
  event_id: string;
}

/** Name of the header with the event ID of an uploaded file, for replies without a body. */
const eventIdHeader = 'event-id';

/** Converts the result of an upload to the form that the reply has (docs/spec/links.md#drop). */
export function droppedFile({ path, entry, sha256, eventUuid }: UploadResult): DroppedFile {
  const digest = { 'sha-256': sha256?.toString('base64') ?? '' };
  return { target: baseName(path), size: entry.sizeBytes, digest, event_id: eventUuid };
}

/** Returns the digest and the event ID of an upload as headers. */
export function receiptHeaders({ sha256, eventUuid }: UploadResult): ReplyHeaders {
  return { [eventIdHeader]: eventUuid, 'repr-digest': sha256 && formatReprDigest(sha256) };
}

/** Builds the reply, with status 201, to an upload that a visitor sent in one request. */
export function droppedReply(result: UploadResult, headers: ReplyHeaders): Reply {
  return jsonReply(201, { results: [droppedFile(result)] }, { ...headers, ...receiptHeaders(result), 'cache-control': 'no-store' });
}

/**
 * Builds the reply, with status 201, to the request that completes an upload that a visitor sent in parts.
 *
 * @param headers the headers from `receiptHeaders`, and others
 */
export function storedReply({ path, offsetBytes, completion }: UploadRecord, headers: ReplyHeaders): Reply {
  const digest = /^sha-256=:([^:]*):$/.exec(String(headers['repr-digest'] ?? ''))?.[1] ?? '';
  const file: DroppedFile = {
    target: completion?.numberedName ?? baseName(path),
    size: offsetBytes,
    digest: { 'sha-256': digest },
    event_id: String(headers[eventIdHeader] ?? ''),
  };
  return jsonReply(201, { results: [file] }, { ...headers, 'cache-control': 'no-store' });
}

/** Returns the path and query of the receipt of uploaded files, relative to the URL of the link. */
export function receiptQuery(files: readonly DroppedFile[]): string {
  return `receipt?ids=${files.map(({ event_id }) => event_id).join(',')}`;
}
