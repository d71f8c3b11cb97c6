import type { IncomingHttpHeaders } from 'node:http';

/**
 * Has Hono's adapter take a request whatever its head says. Of target, host and scheme it makes a URL, which nothing reads; what it cannot
 * make one of it would answer by itself, with an empty 400. It would also take the method `get`, which HTTP/2 lets through, for GET.
 *
 * @param incoming loses its target and its host: what is needed of them has been read
 */
export function acceptAnyHead(incoming: { url?: string | undefined; method?: string | undefined; headers: IncomingHttpHeaders }): void {
  const { headers, method = '' } = incoming;
  incoming.url = '/';
  headers.host = '';
  if (headers[':scheme'] !== undefined) {
    headers[':authority'] = '';
    headers[':scheme'] = 'https';
  }
  if (/[a-z]/.test(method)) incoming.method = 'OTHER';
}
