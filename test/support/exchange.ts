import { type IncomingMessage, ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import type { Exchange } from '../../src/http/request/exchange.ts';
import { parseRequestTarget } from '../../src/http/request/request-target.ts';

/**
 * Returns an exchange that has only those parts of a request that parsers of headers and bodies read. With such an exchange, tests can call
 * the parsers without a server.
 */
export function exchangeOf(request: {
  method?: string;
  target?: string;
  headers?: Record<string, string>;
  body?: readonly Buffer[];
  acceptedOrigins?: string[];
}): Exchange {
  const { method = 'POST', target = '/home/a', headers = {}, body = [], acceptedOrigins = [] } = request;
  const incoming = Object.assign(Readable.from(body, { objectMode: false }), {
    headers: { host: 'files.example', ...headers },
    rawHeaders: Object.entries(headers).flat(),
    httpVersionMajor: 1,
    complete: true,
    method,
  });
  const proxies = { header: '', isProxy: () => false };
  const service = { options: { type: 'http', accepted_origins: acceptedOrigins }, proxies };
  return {
    incoming,
    body: incoming,
    outgoing: new ServerResponse(incoming as unknown as IncomingMessage),
    method,
    target: parseRequestTarget(target),
    service,
    sendContinue() {},
    catching: (action: unknown) => action,
  } as unknown as Exchange;
}
