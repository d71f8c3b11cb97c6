import { ServiceError } from '../lib/errors.ts';
import { virtualPathOf } from '../lib/virtual-path.ts';
import { authenticate } from './middleware/authenticate.ts';
import { observeRequest } from './middleware/observe-request.ts';
import { answer, failRequest, refuse } from './reply/answer.ts';
import { isHttp2, nameReply, type Outgoing } from './reply/outgoing.ts';
import type { Handled } from './reply/reply.ts';
import { Exchange, type HttpService, type Incoming } from './request/exchange.ts';
import { parseRequestTarget, type RequestTarget } from './request/request-target.ts';
import { handleMember } from './rest/member-handlers.ts';

// OPTIONS without credentials is answered, as WebDAV clients ask before they authenticate.
async function member(exchange: Exchange): Promise<Handled> {
  if (exchange.method === 'OPTIONS') return handleMember(exchange);
  await authenticate(exchange);
  const session = exchange.client?.session;
  if (!session) return handleMember(exchange);
  const hold = exchange.service.sessions.hold(session);
  try {
    return await handleMember(exchange);
  } finally {
    hold.done();
  }
}

// PROPFIND of a folder without its final slash is answered, not redirected (docs/spec/http.md#redirects-to-folders); the home folder is no
// exception.
function targetOf(incoming: Incoming): RequestTarget {
  const target = parseRequestTarget(incoming.url ?? '');
  if (target.kind !== 'home' || incoming.method !== 'PROPFIND') return target;
  return { kind: 'member', path: virtualPathOf([]), isFolder: false, query: target.query };
}

/**
 * The listener of a service's HTTP server.
 *
 * @param service asked at each request, so that a reload takes effect at once
 */
export function createListener(service: () => HttpService): (incoming: Incoming, outgoing: Outgoing, expectsContinue: boolean) => void {
  let ownUrls: ((exchange: Exchange) => void) | undefined;
  return (incoming, outgoing, expectsContinue) => {
    const current = service();
    const admitted = (target: RequestTarget) => {
      const exchange = new Exchange(current, incoming, outgoing, target, expectsContinue, failRequest);
      admit(exchange);
      return exchange;
    };
    let exchange: Exchange;
    try {
      exchange = admitted(targetOf(incoming));
    } catch (error) {
      void refuse(admitted({ kind: 'unknown', query: '' }), error);
      return;
    }
    try {
      checkHead(exchange);
    } catch (error) {
      void refuse(exchange, error);
      return;
    }
    // Files and folders are most of all requests, and there is nothing to route.
    if (exchange.target.kind === 'member') {
      void answer(exchange, member);
      return;
    }
    if (ownUrls) {
      ownUrls(exchange);
      return;
    }
    // A server that only WebDAV clients use never loads what its pages need.
    import('./own-urls.ts')
      .then(({ createOwnUrls }) => {
        ownUrls ??= createOwnUrls();
        ownUrls(exchange);
      })
      .catch((error) => refuse(exchange, error));
  };
}

function admit(exchange: Exchange): void {
  nameReply(exchange.outgoing, exchange.request.id);
  observeRequest(exchange, exchange.service.clock);
  // A reply that breaks concerns nobody else.
  exchange.outgoing.on('error', exchange.guarded(rethrow));
}

function rethrow(error: unknown): never {
  throw error;
}

/**
 * RFC 9112 §2.3 and §3.2: a version of HTTP/1, and with HTTP/1.1 exactly one, well-formed Host, and no other one in a target of
 * absolute form. Several are the start of cache poisoning and request smuggling.
 *
 * @throws ServiceError `version-not-supported`, `bad-request`
 */
function checkHead({ incoming, outgoing }: Exchange): void {
  if (isHttp2(outgoing)) return;
  if (incoming.httpVersionMajor !== 1)
    throw new ServiceError('version-not-supported', `HTTP/${incoming.httpVersion} is not supported here.`);
  const hosts = incoming.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  if (hosts.length === 0 && incoming.httpVersionMinor >= 1) throw new ServiceError('bad-request', 'The Host header is missing.');
  const value = incoming.headers.host ?? '';
  if (hosts.length > 1 || (hosts.length === 1 && !/^([\w.~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(value))) {
    throw new ServiceError('bad-request', 'The Host header is not valid.');
  }
  const authority = /^https?:\/\/([^/?#]*)/i.exec(incoming.url ?? '')?.[1];
  if (authority !== undefined && authority.toLowerCase() !== value.toLowerCase())
    throw new ServiceError('bad-request', 'The request target names another host than the Host header.');
}
