import type { Entry } from '../../files/entry.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf } from '../request/exchange.ts';

/** One entry as the JSON listing writes it (docs/spec/files.md#listings): times in seconds with milliseconds. */
function entryJson(entry: Entry): string {
  const modified = Math.round(entry.modifiedMs) / 1000;
  return `{"name":${JSON.stringify(entry.name)},"is_directory":${entry.isFolder},"modified":${modified},"size":${entry.sizeBytes}}`;
}

/** GET and HEAD of a folder as JSON, streamed: memory does not grow with the folder. */
export async function sendJsonListing(c: HttpContext): Promise<Response> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept, content-type',
  };
  return sendChunks(c, headers, jsonChunks(clientOf(c.env).files.openListing(pathOf(c))));
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
