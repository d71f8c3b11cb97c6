import type { Incoming } from '../request/incoming.ts';
import { isHttp2, type Outgoing } from './outgoing.ts';

/** What `ServerResponse` writes its own interim replies (100, 102, 103) with: for others Node.js 20 has nothing. */
interface RawReply {
  _writeRaw(text: string, encoding: 'latin1'): void;
}

/**
 * Sends an interim reply before the final one (RFC 9110 §15.2). Does nothing once that has begun, or for a client of HTTP/1.0, which knows none.
 *
 * @param reason the reason phrase, for HTTP/1.1
 */
export function sendInterim(
  incoming: Incoming,
  outgoing: Outgoing,
  status: number,
  reason: string,
  headers: Readonly<Record<string, string>>,
): void {
  if (outgoing.headersSent) return;
  if (isHttp2(outgoing)) {
    if (!outgoing.destroyed && !outgoing.closed) outgoing.additionalHeaders({ ':status': status, ...headers });
    return;
  }
  if (incoming.httpVersionMinor === 0) return;
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  (outgoing as unknown as RawReply)._writeRaw(`HTTP/1.1 ${status} ${reason}\r\n${lines.join('')}\r\n`, 'latin1');
}
