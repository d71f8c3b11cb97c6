import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a request of HTTP/1.0 has a Transfer-Encoding, which HTTP/1.0 does not know: whoever stands in front may see its end elsewhere
 * (RFC 9112 §6.1).
 */
export function isFaultilyFramed({ httpVersion, headers }: { httpVersion: string; headers: IncomingHttpHeaders }): boolean {
  return httpVersion === '1.0' && headers['transfer-encoding'] !== undefined;
}

/**
 * Has Hono's adapter take a request whatever its head says. Of target, host and scheme it makes a URL, which nothing reads; what it cannot
 * make one of it would answer by itself, with an empty 400.
 *
 * @param incoming loses its target and its host: what is needed of them has been read
 */
export function acceptAnyHead(incoming: { url?: string | undefined; headers: IncomingHttpHeaders }): void {
  incoming.url = '/';
  incoming.headers.host = '';
}
