import { IncomingMessage } from 'node:http';
import { ServiceError } from '../../lib/errors.ts';
import { knownMethods, readingMethods, webdavMethods } from '../method-names.ts';
import { isHttp2, nameReply, sentStatus } from '../reply/outgoing.ts';
import { type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';
import { isOwnOrigin } from '../request/own-origin.ts';
import { replyFormat } from '../request/reply-format.ts';
import type { RequestStyle } from '../request/request-trace.ts';

/**
 * Makes the first checks of each request. They are in one middleware, because the promises of several Hono middlewares would slow down
 * small requests.
 */
export const receive: HttpMiddleware = ({ env: exchange }, next) => {
  nameReply(exchange.outgoing, exchange.request.id);
  // An error of the reply stream must end only its own connection.
  exchange.outgoing.on('error', exchange.catching(rethrow));
  observe(exchange);
  checkHead(exchange);
  checkOrigin(exchange);
  return next();
};

function rethrow(error: unknown): never {
  throw error;
}

/** Reports the request to the service's observer once the reply is sent or the client has disconnected. */
function observe(exchange: Exchange): void {
  const { observe, clock } = exchange.service;
  if (!observe) return;
  const startedMs = clock.monotonicMs();
  const tell = () => {
    const method = knownMethods.has(exchange.method) ? exchange.method : 'other';
    // As in proxies, status 499 means that the client disconnected before the reply.
    const status = exchange.outgoing.headersSent ? sentStatus(exchange.outgoing) : 499;
    observe({ method, style: requestStyle(exchange), status, durationMs: clock.monotonicMs() - startedMs }, exchange.request);
  };
  exchange.outgoing.once('close', exchange.catching(tell));
}

function requestStyle(exchange: Exchange): RequestStyle {
  if (webdavMethods.has(exchange.method)) return 'webdav';
  if (exchange.target.kind === 'service' || exchange.target.kind === 'account-service') return 'service';
  return replyFormat(exchange) === 'html' ? 'browser' : 'rest';
}

/** Refuses a head that is not well-formed. @throws ServiceError `version-not-supported`, `bad-request` */
function checkHead(exchange: Exchange): void {
  const { incoming, outgoing } = exchange;
  if (!(incoming instanceof IncomingMessage) || isHttp2(outgoing)) return;
  const { 'transfer-encoding': coding, upgrade } = incoming.headers;
  // In HTTP/1.0 the end of a body with a transfer coding is uncertain (RFC 9112 §6.1). If the content had a coding other than `chunked`, it
  // would be stored without being decoded.
  const isCoded = coding !== undefined && (incoming.httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
  // Node.js drops data that follows an upgrade request in the same packet, so the connection cannot be used again.
  if (isCoded || upgrade !== undefined) outgoing.setHeader('connection', 'close');
  if (isCoded) throw new ServiceError('bad-request', 'The only supported transfer coding is "chunked", and only in HTTP/1.1.');
  checkHttp1Head(incoming, exchange);
}

/**
 * Requires one well-formed `Host`, which only HTTP/1.0 may omit. A target in absolute form must name the same host (RFC 9112 §2.3, §3.2).
 * Different hosts in one request would allow cache poisoning and request smuggling.
 */
function checkHttp1Head(incoming: IncomingMessage, { host, rawTarget }: Exchange): void {
  if (incoming.httpVersionMajor !== 1)
    throw new ServiceError('version-not-supported', `HTTP/${incoming.httpVersion} is not supported here.`);
  const hosts = incoming.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length === 0 && incoming.httpVersionMinor >= 1) throw new ServiceError('bad-request', 'The Host header is missing.');
  const value = host ?? '';
  if (hosts.length > 1 || (hosts.length === 1 && !/^([\w.~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(value))) {
    throw new ServiceError('bad-request', 'The Host header is not valid.');
  }
  const authority = /^https?:\/\/([^/?#]*)/i.exec(rawTarget)?.[1];
  if (authority !== undefined && authority.toLowerCase() !== value.toLowerCase())
    throw new ServiceError('bad-request', 'The request target names another host than the Host header.');
}

/**
 * Returns whether the page of a link sent this form. Such a page has the policy `no-referrer`, so browsers send `Origin: null` (Fetch,
 * "append a request Origin header"). A foreign page can send that, too, but it would need the link's secret, with which anybody is a
 * visitor anyway. Without the secret, and in old browsers only, it can choose the colours and the language of the pages.
 */
function isFormOfLink({ target, incoming }: Exchange, origin: string): boolean {
  const isMeant = target.kind === 'link' || (target.kind === 'service' && ['theme', 'language'].includes(target.name));
  return isMeant && origin === 'null' && (incoming.headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin';
}

/**
 * Refuses changes if a foreign page caused the browser to send them (docs/spec/http.md#cross-site-requests). `Origin` or, without it,
 * `Referer` must name the service's own origin. `Origin` can also be in `cors_origins`, but then cookies are ignored. Requests with neither
 * header are accepted.
 * @throws ServiceError `bad-request`
 */
function checkOrigin(exchange: Exchange): void {
  const { method, target } = exchange;
  // The logout is the only GET that changes something. It is checked, too, because a foreign page could contain a link to it.
  if (readingMethods.has(method) && !(target.kind === 'service' && target.name === 'logout')) return;
  const origin = header(exchange, 'origin') ?? header(exchange, 'referer');
  if (origin === undefined || exchange.corsOrigin !== undefined || isFormOfLink(exchange, origin)) return;
  if (URL.canParse(origin) && isOwnOrigin(exchange, new URL(origin))) return;
  throw new ServiceError('bad-request', 'The request comes from another origin, which accepted_origins does not list.');
}
