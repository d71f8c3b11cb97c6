import { preferredType } from '../lib/accept-header.ts';
import { type Exchange, header } from './exchange.ts';

export type ReplyFormat = 'html' | 'json';
export type FolderFormat = ReplyFormat | 'zip';

const htmlType = 'text/html';
const jsonType = 'application/json';
const zipType = 'application/zip';

/**
 * Whether a reply is a page or JSON (decisions.md 4, "reply format"): `Accept` decides; where it says nothing, the
 * request's own content type; else a folder GET is a page and everything else JSON.
 */
export function replyFormat(exchange: Exchange): ReplyFormat {
  return accepted(exchange, [jsonType, htmlType]) === htmlType ? 'html' : 'json';
}

/** The form in which a folder is sent: page, JSON listing or ZIP archive. */
export function folderFormat(exchange: Exchange): FolderFormat {
  const type = accepted(exchange, [htmlType, jsonType, zipType]);
  if (type === zipType) return 'zip';
  return type === jsonType ? 'json' : 'html';
}

function accepted(exchange: Exchange, offers: string[]): string {
  const accept = header(exchange, 'accept');
  if (accept !== undefined && !/^\s*\*\/\*\s*$/.test(accept)) {
    const type = preferredType(accept, offers);
    if (type !== undefined) return type;
  }
  const contentType = mediaTypeOfRequest(exchange);
  if (contentType === jsonType) return jsonType;
  if (contentType === htmlType || contentType === 'multipart/form-data' || contentType === 'application/x-www-form-urlencoded')
    return htmlType;
  const isFolderGet = exchange.target.kind === 'member' && exchange.target.isFolder && (exchange.method === 'GET' || exchange.isHead);
  return isFolderGet && offers.length > 2 ? htmlType : jsonType;
}

/** The request's content type without parameters, in lower case; empty when it has none. */
export function mediaTypeOfRequest(exchange: Exchange): string {
  return (header(exchange, 'content-type') ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '';
}
