import { namesType, preferredType } from '../../lib/headers/accept-header.ts';
import { type Exchange, header } from './exchange.ts';

export type ReplyFormat = 'html' | 'json';
export type FolderFormat = ReplyFormat | 'zip';

const htmlType = 'text/html';
const jsonType = 'application/json';
const zipType = 'application/zip';

/** Returns whether a reply is sent as a page or as JSON (docs/spec/http.md#reply-format). */
export function replyFormat(exchange: Exchange): ReplyFormat {
  return chosenFormat(exchange, 'json');
}

/** Returns the format in which a folder is sent: a page, a JSON listing or a ZIP archive. */
export function folderFormat(exchange: Exchange): FolderFormat {
  return preferredType(header(exchange, 'accept'), [htmlType, jsonType, zipType]) === zipType ? 'zip' : chosenFormat(exchange, 'html');
}

/** Returns whether a client explicitly asks for JSON. After a form, other clients are redirected, as browsers expect. */
export function asksForJson(exchange: Exchange): boolean {
  return replyFormat(exchange) === 'json' && namesType(header(exchange, 'accept'), jsonType);
}

/**
 * Chooses JSON for a request with a JSON body. Otherwise `Accept` decides. Without `Accept`, the content type `text/html` selects a page.
 * The content type of a form decides nothing, because scripts send forms, too.
 * @param otherwise the format for a request that states no preference
 */
function chosenFormat(exchange: Exchange, otherwise: ReplyFormat): ReplyFormat {
  const contentType = mediaTypeOfRequest(exchange);
  if (contentType === jsonType) return 'json';
  const silent = contentType === htmlType ? 'html' : otherwise;
  // A wildcard in `Accept` selects the first type of the list.
  const type = preferredType(header(exchange, 'accept'), silent === 'html' ? [htmlType, jsonType] : [jsonType, htmlType]);
  return type === undefined ? silent : type === htmlType ? 'html' : 'json';
}

/** Returns the request's content type without parameters, in lower case; empty if there is none. */
export function mediaTypeOfRequest(exchange: Exchange): string {
  return (header(exchange, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
