import type { ListedEntry } from '../../files/entry.ts';
import type { Search } from '../../files/operations/search.ts';
import { sortedByName } from '../../files/operations/sorted-listing.ts';
import { namesType } from '../../lib/headers/accept-header.ts';
import type { VirtualPath } from '../../lib/virtual-path.ts';
import { handleFormPost } from '../html/form-post.ts';
import { sendHtmlListing } from '../html/html-listing.ts';
import { type AskedSearch, sendSearchPage } from '../html/search-page-reply.ts';
import { sendChunks } from '../reply/send-chunks.ts';
import { type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';
import { FolderRedirect } from '../request/member-url.ts';
import { folderFormat, mediaTypeOfRequest } from '../request/reply-format.ts';
import { postFolderCommands } from './folder-commands.ts';
import { sendZip } from './zip-download.ts';

/** Returns the members of one entry in the JSON listing (docs/spec/files.md#listings). Times are in seconds, with milliseconds. */
function entryMembers(entry: ListedEntry): string {
  const modified = Math.round(entry.modifiedMs) / 1000;
  return `"name":${JSON.stringify(entry.name)},"is_directory":${entry.isFolder},"modified":${modified},"size":${entry.sizeBytes}`;
}

/** Answers GET and HEAD of a folder with JSON, as a stream. @param facts JSON members that precede `content` */
async function sendJsonListing(exchange: Exchange, facts: object): Promise<Response> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    vary: 'accept, content-type',
  };
  return sendChunks(exchange, headers, jsonChunks(facts, sortedByName(exchange.files.openListing(exchange.path))));
}

async function* jsonChunks(facts: object, listing: AsyncIterable<ListedEntry[]>): AsyncGenerator<string> {
  const open = JSON.stringify({ ...facts, content: [] }).slice(0, -2);
  let before = open;
  for await (const batch of listing) {
    yield before + batch.map((entry) => `{${entryMembers(entry)}}`).join(',');
    before = batch.length > 0 ? ',' : '';
  }
  yield before === open ? `${open}]}` : ']}';
}

const linesType = 'application/x-ndjson';

/**
 * Returns the requested search in a folder (`?search=TEXT`), or in all files of the account (`&scope=everywhere`). The text is empty
 * without a search.
 */
function askedSearch({ target, path }: Exchange): AskedSearch {
  const query = new URLSearchParams(target.query);
  const isEverywhere = query.get('scope') === 'everywhere';
  // Visitors of a link cannot search.
  return {
    text: target.kind === 'link' ? '' : (query.get('search') ?? '').trim(),
    isEverywhere,
    top: isEverywhere ? ('/' as VirtualPath) : path,
  };
}

/** Whether a client explicitly asks for JSON lines. */
function asksForLines(exchange: Exchange): boolean {
  return namesType(header(exchange, 'accept'), linesType);
}

/** Answers GET of a search with a line of JSON for each result, sent as soon as it is found (docs/spec/files.md#listings). */
function sendFoundLines(exchange: Exchange, { top, text }: AskedSearch): Promise<Response> {
  const headers = { 'content-type': linesType, 'cache-control': 'no-store', vary: 'accept, content-type' };
  return sendChunks(exchange, headers, lines(exchange.files.search(top, text)), { startsAfter: 0 });
}

async function* lines(search: Search): AsyncGenerator<string> {
  for await (const batch of search) yield batch.map((entry) => `{"path":${JSON.stringify(entry.path)},${entryMembers(entry)}}\n`).join('');
  if (search.isTruncated) yield '{"truncated":true}\n';
}

/** Answers GET and HEAD of a folder in the format that the client asks for. @param facts JSON members that precede those of the folder */
export async function getFolder(exchange: Exchange, facts: object = {}): Promise<Response> {
  const format = folderFormat(exchange);
  const search = askedSearch(exchange);
  if (exchange.isHead) exchange.files.emitHead(exchange.path, true);
  else if (search.text !== '' && asksForLines(exchange)) return sendFoundLines(exchange, search);
  else if (search.text !== '' && format !== 'zip')
    return format === 'json' ? sendFoundLines(exchange, search) : sendSearchPage(exchange, search);
  switch (format) {
    case 'json':
      return sendJsonListing(exchange, facts);
    case 'zip':
      return sendZip(exchange);
    case 'html':
      return sendHtmlListing(exchange);
    default:
      return format satisfies never;
  }
}

/** Answers POST to a folder, which is a form of the pages or a list of commands. */
export async function postFolder(exchange: Exchange): Promise<Response> {
  const type = mediaTypeOfRequest(exchange);
  if (type === 'multipart/form-data' || type === 'application/x-www-form-urlencoded') return handleFormPost(exchange);
  return postFolderCommands(exchange);
}

/** Redirects a POST to a folder whose URL lacks the final slash. */
export const redirectPostOfFolder: HttpMiddleware = ({ env: { method, target, client } }, next) => {
  if (method === 'POST' && target.kind === 'member' && client?.files.inspect(target.path)?.isFolder) throw new FolderRedirect(target.path);
  return next();
};
