import { isSecretHeader } from '../lib/headers/header-fields.ts';
import type { RemoteResult } from '../lib/remote/remote-endpoint.ts';
import type { RecordedReply } from './records/delivery-record.ts';

/** Maximum size in bytes of a reply that is kept with a failed delivery (docs/spec/delivery.md#records). */
const keptReplyBytes = 64 * 1024;

/** Returns the status and reason of a reply, or the reason why there was no reply. */
export function statusText(result: RemoteResult): string {
  return result.kind === 'reply' ? `${result.status} ${result.reason}`.trimEnd() : result.message;
}

/** Converts a reply for records. Secret headers are masked. */
export function recordReply({ status, reason, headers, body, isTruncated }: Extract<RemoteResult, { kind: 'reply' }>): RecordedReply {
  return {
    status,
    reason,
    headers: headers.map(([name, value]) => [name, isSecretHeader(name) ? '***' : value]),
    body: body.subarray(0, keptReplyBytes).toString('utf8'),
    is_truncated: isTruncated || body.length > keptReplyBytes,
  };
}
