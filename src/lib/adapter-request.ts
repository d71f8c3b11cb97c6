import type { IncomingHttpHeaders } from 'node:http';

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
