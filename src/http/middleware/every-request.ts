import { IncomingMessage } from 'node:http';
import { ServiceError } from '../../lib/errors.ts';
import { knownMethods, readingMethods, webdavMethods } from '../method-names.ts';
import { isHttp2, nameReply, sentStatus } from '../reply/outgoing.ts';
import { type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';
import { isOwnOrigin } from '../request/own-origin.ts';
import { replyFormat } from '../request/reply-format.ts';
import type { RequestStyle } from '../request/request-trace.ts';

/** The first checks of each request, in one middleware: the promises of several would slow down small requests. */
export const receive: HttpMiddleware = ({ env: exchange }, next) => {
  nameReply(exchange.outgoing, exchange.request.id);
  // Such an error must end only its own connection.
  exchange.outgoing.on('error', exchange.catching(rethrow));
  observe(exchange);
  checkHead(exchange);
  checkOrigin(exchange);
  return next();
};

function rethrow(error: unknown): never {
  throw error;
}

/** Reports the request to the service's observer when it is over. */
function observe(exchange: Exchange): void {
  const { observe, clock } = exchange.service;
  if (!observe) return;
  const startedMs = clock.monotonicMs();
  const tell = () => {
    const method = knownMethods.has(exchange.method) ? exchange.method : 'other';
    // As in proxies, 499 for a client that disconnected before the reply.
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

/** @throws ServiceError `version-not-supported`, `bad-request` */
function checkHead(exchange: Exchange): void {
  const { incoming, outgoing } = exchange;
  if (!(incoming instanceof IncomingMessage) || isHttp2(outgoing)) return;
  const { 'transfer-encoding': coding, upgrade } = incoming.headers;
  // In HTTP/1.0 the end of a body with a transfer coding is uncertain (RFC 9112 §6.1). Content with a coding other than `chunked` would be
  // stored undecoded.
  const isCoded = coding !== undefined && (incoming.httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
  // Node.js drops data after an upgrade request in the same packet.
  if (isCoded || upgrade !== undefined) outgoing.setHeader('connection', 'close');
  if (isCoded) throw new ServiceError('bad-request', 'The only supported transfer coding is "chunked", and only in HTTP/1.1.');
  checkHttp1Head(incoming, exchange);
}

/**
 * Requires one well-formed `Host` (HTTP/1.0 may omit it); an absolute target must name the same host (RFC 9112 §2.3, §3.2). Different hosts
 * would allow cache poisoning and request smuggling.
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
 * Whether the page of a link sent this form. Its policy `no-referrer` makes browsers send `Origin: null` (Fetch, "append a request Origin
 * header"). A foreign page would need the link's secret, with which anybody is a visitor.
 */
function isFormOfLink({ target, incoming }: Exchange, origin: string): boolean {
  return target.kind === 'link' && origin === 'null' && (incoming.headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin';
}

/**
 * Refuses changes that a foreign page caused (docs/spec/http.md#cross-site-requests). `Origin`, or else `Referer`, must name the service's
 * own origin. For an `Origin` in `cors_origins`, cookies are ignored. Requests with neither header are accepted.
 * @throws ServiceError `bad-request`
 */
function checkOrigin(exchange: Exchange): void {
  const { method, target } = exchange;
  // A foreign page could link to the logout, the only GET that changes something.
  if (readingMethods.has(method) && !(target.kind === 'service' && target.name === 'logout')) return;
  const origin = header(exchange, 'origin') ?? header(exchange, 'referer');
  if (origin === undefined || exchange.corsOrigin !== undefined || isFormOfLink(exchange, origin)) return;
  if (URL.canParse(origin) && isOwnOrigin(exchange, new URL(origin))) return;
  throw new ServiceError('bad-request', 'The request comes from another origin, which accepted_origins does not list.');
}
