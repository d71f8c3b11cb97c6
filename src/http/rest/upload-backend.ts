import { eventIds } from '../../events/event-ids.ts';
import type { UploadResult } from '../../files/operations/file-upload.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { ReplyHeaders } from '../reply/reply.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';

/**
 * The headers that an upload's reply takes over from the API back-end (docs/spec/delivery.md#upload-back-end): those of a valid reply, or
 * the configured ones with event `backendReplyInvalid`. The file is stored either way.
 */
export async function backendReplyHeaders(exchange: Exchange, path: VirtualPath, result: UploadResult): Promise<ReplyHeaders> {
  const { options } = exchange.service;
  if (!options.api_backend_uuid) return {};
  const headers: ReplyHeaders = {};
  if (result.delivery?.outcome === 'delivered') {
    const replied = new Map<string, string[]>();
    for (const [name, value] of result.delivery.headers ?? []) {
      replied.set(name.toLowerCase(), [...(replied.get(name.toLowerCase()) ?? []), value]);
    }
    for (const name of options.api_passthrough_headers) {
      const values = replied.get(name.toLowerCase());
      if (values) headers[name] = values;
    }
    return headers;
  }
  await clientOf(exchange).files.emitDurable(eventIds.backendReplyInvalid, path, {
    handler: options.api_backend_uuid,
    details: result.delivery?.outcome ?? 'no such event handler',
    status: result.delivery?.status,
  });
  for (const [name, value] of options.api_partial_success_headers) headers[name] = value;
  return headers;
}
