import type { ListedEntry } from '../../files/entry.ts';
import { sortedByName } from '../../files/operations/sorted-listing.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf } from '../request/exchange.ts';

/** The members of one entry as the JSON listing writes it (docs/spec/files.md#listings): times in seconds with milliseconds. */
export function entryMembers(entry: ListedEntry): string {
  const modified = Math.round(entry.modifiedMs) / 1000;
  return `"name":${JSON.stringify(entry.name)},"is_directory":${entry.isFolder},"modified":${modified},"size":${entry.sizeBytes}`;
}

/** GET and HEAD of a folder as JSON, streamed. */
export async function sendJsonListing(c: HttpContext): Promise<Response> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept, content-type',
  };
  return sendChunks(c, headers, jsonChunks(sortedByName(clientOf(c.env).files.openListing(pathOf(c)))));
}

async function* jsonChunks(listing: AsyncIterable<ListedEntry[]>): AsyncGenerator<string> {
  let before = '{"content":[';
  for await (const batch of listing) {
    yield before + batch.map((entry) => `{${entryMembers(entry)}}`).join(',');
    before = batch.length > 0 ? ',' : '';
  }
  yield before === ',' ? ']}' : `${before}]}`;
}
