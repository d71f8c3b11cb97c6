import type { Entry } from '../../files/entry.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import type { alreadySent, Reply } from '../reply/reply.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf, type Exchange } from '../request/exchange.ts';

/** One entry as the JSON listing writes it (docs/spec/files.md#listings): times in seconds with milliseconds. */
function entryJson(entry: Entry): string {
  const modified = Math.round(entry.modifiedMs) / 1000;
  return `{"name":${JSON.stringify(entry.name)},"is_directory":${entry.isFolder},"modified":${modified},"size":${entry.sizeBytes}}`;
}

/** GET and HEAD of a folder as JSON, streamed: memory does not grow with the folder. */
export async function sendJsonListing(exchange: Exchange, path: VirtualPath): Promise<Reply | typeof alreadySent> {
  const { files } = clientOf(exchange);
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept, content-type',
  };
  const batches = files.openListing(path);
  return sendChunks(exchange, headers, jsonChunks(batches));
}

async function* jsonChunks(batches: AsyncIterable<Entry[]>): AsyncGenerator<string> {
  let separator = '{"content":[';
  for await (const batch of batches) {
    if (batch.length === 0) continue;
    yield separator + batch.map(entryJson).join(',');
    separator = ',';
  }
  yield separator === ',' ? ']}' : `${separator}]}`;
}
