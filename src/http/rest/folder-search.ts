import type { Search } from '../../files/operations/search.ts';
import { namesType } from '../../lib/headers/accept-header.ts';
import { type HttpContext, pathOf } from '../environment.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { clientOf, type Exchange, header } from '../request/exchange.ts';
import { entryMembers } from './folder-listing.ts';

const linesType = 'application/x-ndjson';

/** What a query asks a folder to be searched for (`?search=TEXT`); empty when it does not. */
export function searchOf({ target }: Exchange): string {
  return target.query === '' ? '' : (new URLSearchParams(target.query).get('search') ?? '').trim();
}

/** Whether a client asks for lines of JSON by name. */
export function asksForLines(exchange: Exchange): boolean {
  return namesType(header(exchange, 'accept'), linesType);
}

/** GET of what a search finds, a line of JSON for each as soon as it is found (docs/spec/files.md#listings). */
export function sendFoundLines(c: HttpContext, text: string): Promise<Response> {
  const headers = { 'content-type': linesType, 'cache-control': 'no-store', vary: 'accept, content-type' };
  return sendChunks(c, headers, lines(clientOf(c.env).files.search(pathOf(c), text)), { startsAfter: 0 });
}

async function* lines(search: Search): AsyncGenerator<string> {
  for await (const batch of search) yield batch.map((entry) => `{"path":${JSON.stringify(entry.path)},${entryMembers(entry)}}\n`).join('');
  if (search.isTruncated) yield '{"truncated":true}\n';
}
