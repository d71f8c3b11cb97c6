import { namesType, preferredType } from '../../lib/headers/accept-header.ts';
import { type Exchange, header } from './exchange.ts';

export type ReplyFormat = 'html' | 'json';
export type FolderFormat = ReplyFormat | 'zip';

const htmlType = 'text/html';
const jsonType = 'application/json';
const zipType = 'application/zip';

/** Whether a reply is a page or JSON (docs/spec/http.md#reply-format). */
export function replyFormat(exchange: Exchange): ReplyFormat {
  return chosenFormat(exchange, 'json');
}

/** The form in which a folder is sent: page, JSON listing or ZIP archive. */
export function folderFormat(exchange: Exchange): FolderFormat {
  return preferredType(header(exchange, 'accept'), [htmlType, jsonType, zipType]) === zipType ? 'zip' : chosenFormat(exchange, 'html');
}

/** Whether a client names JSON, and so is not redirected like browsers. */
export function asksForJson(exchange: Exchange): boolean {
  return replyFormat(exchange) === 'json' && namesType(header(exchange, 'accept'), jsonType);
}

/**
 * A JSON body means JSON. Else `Accept` decides, else the content type `text/html` means a page; that of a form means nothing, as scripts send forms, too.
 * @param otherwise the format of a request without any preference
 */
function chosenFormat(exchange: Exchange, otherwise: ReplyFormat): ReplyFormat {
  const contentType = mediaTypeOfRequest(exchange);
  if (contentType === jsonType) return 'json';
  const silent = contentType === htmlType ? 'html' : otherwise;
  // A wildcard gets the first offer.
  const type = preferredType(header(exchange, 'accept'), silent === 'html' ? [htmlType, jsonType] : [jsonType, htmlType]);
  return type === undefined ? silent : type === htmlType ? 'html' : 'json';
}

/** The request's content type without parameters, in lower case; empty when it has none. */
export function mediaTypeOfRequest(exchange: Exchange): string {
  return (header(exchange, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
