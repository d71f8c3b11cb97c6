import { IncomingMessage } from 'node:http';
import { ServiceError } from '../../lib/errors.ts';
import type { SyncMiddleware } from '../environment.ts';
import { knownMethods, readingMethods, webdavMethods } from '../method-names.ts';
import { isHttp2, nameReply, sentStatus } from '../reply/outgoing.ts';
import { type Exchange, header } from '../request/exchange.ts';
import { isOwnOrigin } from '../request/own-origin.ts';
import { replyFormat } from '../request/reply-format.ts';
import type { RequestStyle } from '../request/request-trace.ts';

/** Has the reply carry the ID of its request, also one that is made when nothing else works any more; a reply that breaks concerns nobody else. */
export const nameRequest: SyncMiddleware = ({ env: exchange }) => {
  nameReply(exchange.outgoing, exchange.request.id);
  exchange.outgoing.on('error', exchange.guarded(rethrow));
};

function rethrow(error: unknown): never {
  throw error;
}

/** Has the service's observer told of the request once its reply has been sent, or its client is gone. */
export const observeRequest: SyncMiddleware = ({ env: exchange }) => {
  const { observe, clock } = exchange.service;
  if (!observe) return;
  const startedMs = clock.monotonicMs();
  const tell = () => {
    const method = knownMethods.has(exchange.method) ? exchange.method : 'other';
    // 499, as proxies count it: the client went away before the reply.
    const status = exchange.outgoing.headersSent ? sentStatus(exchange.outgoing) : 499;
    observe({ method, style: styleOf(exchange), status, durationMs: clock.monotonicMs() - startedMs }, exchange.request);
  };
  exchange.outgoing.once('close', exchange.guarded(tell));
};

function styleOf(exchange: Exchange): RequestStyle {
  if (webdavMethods.has(exchange.method)) return 'webdav';
  if (exchange.target.kind === 'service' || exchange.target.kind === 'account-service') return 'service';
  return replyFormat(exchange) === 'html' ? 'browser' : 'rest';
}

/** Refuses a head that is not well-formed. @throws ServiceError `version-not-supported`, `bad-request` */
export const checkHead: SyncMiddleware = ({ env: exchange }) => {
  const { incoming, outgoing } = exchange;
  if (!(incoming instanceof IncomingMessage) || isHttp2(outgoing)) return;
  const isCoded = isInOtherCoding(incoming);
  // Of a request that asks for another protocol Node.js forgets what came in the same packet behind it.
  if (isCoded || incoming.headers.upgrade !== undefined) outgoing.setHeader('connection', 'close');
  if (isCoded) throw new ServiceError('bad-request', 'The only transfer coding here is "chunked", in HTTP/1.1.');
  checkHttp1Head(incoming, exchange);
};

/** RFC 9112 §6.1: a body whose end nobody can be sure of, in HTTP/1.0, or whose content would be stored in its coding. */
function isInOtherCoding({ headers: { 'transfer-encoding': coding }, httpVersionMinor }: IncomingMessage): boolean {
  return coding !== undefined && (httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
}

/**
 * RFC 9112 §2.3 and §3.2: a version of HTTP/1, and with HTTP/1.1 exactly one, well-formed Host, and no other one in a target of
 * absolute form. Several are the start of cache poisoning and request smuggling.
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
 * Refuses state-changing requests that a page of somebody else made a browser send (docs/spec/http.md#cross-site-requests): an
 * `Origin`, else a `Referer`, that is present must be the service's own, or one of `cors_origins`, whose requests no cookie authenticates.
 *
 * @throws ServiceError `bad-request`
 */
export const checkOrigin: SyncMiddleware = ({ env: exchange }) => {
  if (!isChange(exchange)) return;
  const origin = header(exchange, 'origin') ?? header(exchange, 'referer');
  if (origin === undefined) return;
  if (exchange.corsOrigin !== undefined) return;
  if (URL.canParse(origin) && isOwnOrigin(exchange, new URL(origin))) return;
  throw new ServiceError('bad-request', 'The request comes from another origin, which accepted_origins does not list.');
};

// The logout is a link, too, and the one change that a GET makes.
function isChange({ method, target }: Exchange): boolean {
  return !readingMethods.has(method) || (target.kind === 'service' && target.name === 'logout');
}
