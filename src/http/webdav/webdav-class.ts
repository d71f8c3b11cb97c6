import type { Reply } from '../reply/reply.ts';
import { type Exchange, header } from '../request/exchange.ts';

/**
 * Programs that mount a server read-only, or not at all, unless it says that it can lock: macOS Finder, Windows Explorer, and
 * Microsoft Office.
 */
const lockingAgents =
  /^WebDAV(?:FS|Lib)\/|^Microsoft-WebDAV-MiniRedir\/|^Microsoft Office\b|^Microsoft Data Access Internet Publishing Provider\b|\b(?:ms-office|MSOffice)\b/i;

/** Whether a client gets the replies of a class 2 server: one of those programs, with `webdav_compatibility` on. */
export function isClassTwo(exchange: Exchange): boolean {
  return exchange.service.options.webdav_compatibility && lockingAgents.test(header(exchange, 'user-agent') ?? '');
}

/**
 * The reply to OPTIONS (RFC 4918 §10.1; docs/spec/webdav.md#class). Older Microsoft clients take nothing but 200 for a yes.
 *
 * @param allow the methods of the URL
 */
export function optionsReply(exchange: Exchange, allow: string): Reply {
  const isLocking = isClassTwo(exchange);
  return { status: isLocking ? 200 : 204, headers: { allow, dav: isLocking ? '1, 2' : '1', 'ms-author-via': 'DAV' } };
}
