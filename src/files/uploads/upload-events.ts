import { createHash } from 'node:crypto';
import { transferData } from '../operations/file-download.ts';
import type { UploadRecord } from './upload-store.ts';

/**
 * The UUID of an event that an upload has once at most: made of its ID, so that one that a killed process may have told is the same event
 * when it is told again.
 */
export function eventUuidOf(uploadId: string, eventId: number): string {
  const bytes = createHash('sha256').update(`${uploadId} ${eventId}`).digest().subarray(0, 16);
  // RFC 9562 §5.8: version 8, of an implementation's own making.
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/**
 * What the events of an upload carry that may take several requests.
 *
 * @param requests that brought content
 */
export function resumedData(record: UploadRecord, requests = record.requests, sizeBytes = record.offsetBytes): Record<string, unknown> {
  return {
    ...transferData(record.activeMs / 1000, sizeBytes, 'write'),
    metadata: record.metadata,
    api_backend: record.backendUuid === undefined ? undefined : 'yes',
    resumed: Math.max(0, requests - 1),
  };
}
