import { IncomingMessage } from 'node:http';
import { ServiceError } from '../../lib/errors.ts';
import { knownMethods, readingMethods, webdavMethods } from '../method-names.ts';
import { isHttp2, nameReply, sentStatus } from '../reply/outgoing.ts';
import { type Exchange, type HttpMiddleware, header } from '../request/exchange.ts';
import { isOwnOrigin } from '../request/own-origin.ts';
import { replyFormat } from '../request/reply-format.ts';
import type { RequestStyle } from '../request/request-trace.ts';

/** The first checks of each request, as one layer of Hono's: several layers with their promises cost a small request more. */
export const receive: HttpMiddleware = ({ env: exchange }, next) => {
  nameReply(exchange.outgoing, exchange.request.id);
  // A broken reply concerns only its own connection.
  exchange.outgoing.on('error', exchange.catching(rethrow));
  observe(exchange);
  checkHead(exchange);
  checkOrigin(exchange);
  return next();
};

function rethrow(error: unknown): never {
  throw error;
}

/** Tells the service's observer of the request once its reply is sent or its client is gone. */
function observe(exchange: Exchange): void {
  const { observe, clock } = exchange.service;
  if (!observe) return;
  const startedMs = clock.monotonicMs();
  const tell = () => {
    const method = knownMethods.has(exchange.method) ? exchange.method : 'other';
    // 499, as proxies count it: the client went away before the reply.
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
  // RFC 9112 §6.1: the end of such a body is uncertain in HTTP/1.0, and other codings would be stored with the content.
  const isCoded = coding !== undefined && (incoming.httpVersionMinor === 0 || coding.toLowerCase() !== 'chunked');
  // Node.js drops what follows an upgrade request in the same packet.
  if (isCoded || upgrade !== undefined) outgoing.setHeader('connection', 'close');
  if (isCoded) throw new ServiceError('bad-request', 'The only transfer coding here is "chunked", in HTTP/1.1.');
  checkHttp1Head(incoming, exchange);
}

/**
 * RFC 9112 §2.3 and §3.2: HTTP/1 has exactly one well-formed Host (HTTP/1.0 may have none), and a target in absolute form names the same.
 * Several hosts allow cache poisoning and request smuggling.
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
 * Whether a page of a link sends its form: it tells no referrer, so browsers tell no origin either (Fetch, "append a request Origin header"). A
 * foreign page that wants to be taken for one needs the secret of the URL, and then could do all that a visitor may.
 */
function isFormOfLink({ target, incoming }: Exchange, origin: string): boolean {
  return target.kind === 'link' && origin === 'null' && (incoming.headers['sec-fetch-site'] ?? 'same-origin') === 'same-origin';
}

/**
 * Refuses changes that a foreign page made a browser send (docs/spec/http.md#cross-site-requests): `Origin`, else `Referer`, if present, must be
 * the service's own or one of `cors_origins`, whose requests no cookie authenticates. @throws ServiceError `bad-request`
 */
function checkOrigin(exchange: Exchange): void {
  const { method, target } = exchange;
  // The logout is a link as well, and the one change by GET.
  if (readingMethods.has(method) && !(target.kind === 'service' && target.name === 'logout')) return;
  const origin = header(exchange, 'origin') ?? header(exchange, 'referer');
  if (origin === undefined || exchange.corsOrigin !== undefined || isFormOfLink(exchange, origin)) return;
  if (URL.canParse(origin) && isOwnOrigin(exchange, new URL(origin))) return;
  throw new ServiceError('bad-request', 'The request comes from another origin, which accepted_origins does not list.');
}
