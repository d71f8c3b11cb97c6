import type { Reply } from '../reply/reply.ts';
import { type Exchange, header } from '../request/exchange.ts';

/**
 * Matches programs that mount a server read-only, or not at all, if it offers no locks: macOS Finder, Windows Explorer and Microsoft
 * Office.
 */
const lockingAgents =
  /^WebDAV(?:FS|Lib)\/|^Microsoft-WebDAV-MiniRedir\/|^Microsoft Office\b|^Microsoft Data Access Internet Publishing Provider\b|\b(?:ms-office|MSOffice)\b/i;

/**
 * Returns whether a client gets the replies of a class 2 server. It must be one of these programs, and `webdav_compatibility` must be on.
 */
export function isClassTwo(exchange: Exchange): boolean {
  return exchange.service.options.webdav_compatibility && lockingAgents.test(header(exchange, 'user-agent') ?? '');
}

/**
 * Returns the reply to OPTIONS (RFC 4918 §10.1; docs/spec/webdav.md#class). Its status is 200 for some clients, because older Microsoft
 * clients accept no other.
 *
 * @param allow the methods that the URL allows
 */
export function optionsReply(exchange: Exchange, allow: string): Reply {
  const isLocking = isClassTwo(exchange);
  return { status: isLocking ? 200 : 204, headers: { allow, dav: isLocking ? '1, 2' : '1', 'ms-author-via': 'DAV' } };
}
