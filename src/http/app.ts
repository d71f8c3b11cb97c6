import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { ServiceError } from '../lib/errors.ts';
import { virtualPathOf } from '../lib/virtual-path.ts';
import { accountServices, services } from './api-routes.ts';
import { authenticate } from './authenticate.ts';
import { codingHeaders, wantsGzip } from './compression.ts';
import { Exchange, type HttpService, type Incoming } from './exchange.ts';
import { faultReply } from './fault-reply.ts';
import { handleMember } from './member-handlers.ts';
import { observeRequest } from './observe-request.ts';
import { checkOrigin } from './origin-check.ts';
import { assets } from './pages/assets.ts';
import { alreadySent, type Handled, nameReply, type Outgoing, sendReply } from './reply.ts';
import { parseRequestTarget, type RequestTarget } from './request-target.ts';
import { endUnreadBody } from './unread-body.ts';
import { optionsReply } from './webdav-class.ts';

type Environment = { Bindings: { exchange: Exchange } };
type Action = (exchange: Exchange) => Promise<Handled> | Handled;

/**
 * The Hono application of the service's own URLs: routes to handlers, replies and faults to the Node response. Routes are
 * canonical (`/home`, `/service/login`): the raw target was read once, by `parseRequestTarget`, and nothing decodes or normalises it again.
 */
function createApp(): Hono<Environment> {
  const app = new Hono<Environment>();
  const route = (path: string, action: Action) =>
    app.all(path, async (context) => {
      await answer(context.env.exchange, action);
      return RESPONSE_ALREADY_SENT;
    });
  route('/root', redirectHome);
  route('/home', redirectHome);
  route('/server', aboutServer);
  for (const name of assets.keys()) route(`/service/${name}`, (exchange) => sendAsset(exchange, name));
  for (const [name, action] of Object.entries(services)) route(`/service/${name}`, action);
  for (const [name, action] of Object.entries(accountServices)) route(`/account-service/${name}`, authenticated(action));
  app.notFound(async (context) => {
    const { exchange } = context.env;
    const isReserved = exchange.target.kind === 'account-service';
    await answer(exchange, isReserved ? authenticated(refuseReserved) : () => notFound());
    return RESPONSE_ALREADY_SENT;
  });
  return app;
}

const serverMethods = 'OPTIONS, GET, HEAD, PUT, POST, DELETE, PROPFIND, PROPPATCH, MKCOL, COPY, MOVE';

function aboutServer(exchange: Exchange): Handled {
  if (exchange.method !== 'OPTIONS') throw new ServiceError('bad-request', 'The target "*" is for OPTIONS alone.');
  return optionsReply(exchange, serverMethods);
}

// Explorer and davfs2 ask the root what the server can do before they look at the path that they were given.
function redirectHome(exchange: Exchange): Handled {
  const { method, isHead, target } = exchange;
  if (method === 'OPTIONS') return optionsReply(exchange, 'OPTIONS, GET, HEAD, PROPFIND');
  return { status: method === 'GET' || isHead ? 302 : 307, headers: { location: `/home/${target.query}` } };
}

// The name changes with the content, so browsers may keep it for ever.
function sendAsset(exchange: Exchange, name: string): Handled {
  const { method } = exchange;
  const asset = assets.get(name);
  if (!asset || (method !== 'GET' && method !== 'HEAD'))
    throw new ServiceError('method-not-allowed', `${method} is not supported here.`, { details: { allow: 'GET, HEAD' } });
  const isCompressed = wantsGzip(exchange);
  const headers = {
    'content-type': asset.contentType,
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
    ...codingHeaders(isCompressed),
  };
  return { status: 200, headers, body: isCompressed ? asset.packed() : asset.body() };
}

function notFound(): never {
  throw new ServiceError('not-found', 'Path not found.');
}

function refuseReserved(): never {
  throw new ServiceError('name-reserved', 'This name is reserved.');
}

function authenticated(action: Action): Action {
  return async (exchange) => {
    await authenticate(exchange);
    return action(exchange);
  };
}

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

async function answer(exchange: Exchange, action: Action): Promise<void> {
  const { outgoing, isHead, service } = exchange;
  let handled: Handled;
  try {
    checkOrigin(exchange);
    handled = await action(exchange);
  } catch (error) {
    handled = faultReply(exchange, error);
    if (outgoing.headersSent) outgoing.destroy();
  }
  if (handled === alreadySent) return;
  // What is answered is in the journal.
  await service.events.grouped();
  endUnreadBody(exchange);
  sendReply(outgoing, isHead, service.baseHeaders, handled);
}

// PROPFIND of a folder without its final slash is answered, not redirected (decisions.md 4); the home folder is no exception.
function targetOf(incoming: Incoming): RequestTarget {
  const target = parseRequestTarget(incoming.url ?? '');
  if (target.kind !== 'home' || incoming.method !== 'PROPFIND') return target;
  return { kind: 'member', path: virtualPathOf([]), isFolder: false, query: target.query };
}

function routeOf(target: RequestTarget): string {
  if (target.kind === 'service' || target.kind === 'account-service') {
    return /^[a-z0-9./_-]+$/i.test(target.name) ? `/${target.kind}/${target.name}` : '/unknown';
  }
  return `/${target.kind}`;
}

/**
 * The listener of a service's HTTP server.
 *
 * @param service asked at each request, so that a reload takes effect at once
 */
export function createListener(service: () => HttpService): (incoming: Incoming, outgoing: Outgoing, expectsContinue: boolean) => void {
  const app = createApp();
  const exchanges = new WeakMap<object, Exchange>();
  const listener = getRequestListener(
    (request, bindings) => app.fetch(request, { exchange: exchanges.get(bindings.incoming) as Exchange }),
    {
      overrideGlobalObjects: false,
      autoCleanupIncoming: false,
      hostname: 'svc',
    },
  );
  return (incoming, outgoing, expectsContinue) => {
    const current = service();
    let exchange: Exchange;
    let isAdmitted = false;
    try {
      exchange = new Exchange(current, incoming, outgoing, targetOf(incoming), expectsContinue);
      admit(exchange);
      isAdmitted = true;
      checkHost(incoming);
    } catch (error) {
      exchange = new Exchange(current, incoming, outgoing, { kind: 'unknown', query: '' }, expectsContinue);
      if (!isAdmitted) admit(exchange);
      void answer(exchange, () => {
        throw error;
      });
      return;
    }
    // Files and folders are most of all requests, and there is nothing to route.
    if (exchange.target.kind === 'member') {
      void answer(exchange, member);
      return;
    }
    exchanges.set(incoming, exchange);
    incoming.url = routeOf(exchange.target);
    void listener(incoming, outgoing);
  };
}

function admit(exchange: Exchange): void {
  nameReply(exchange.outgoing, exchange.request.id);
  observeRequest(exchange, exchange.service.clock);
}

/**
 * RFC 9112 §3.2: exactly one, well-formed Host, and no other one in a target of absolute form. Several are the start of
 * cache poisoning and request smuggling.
 *
 * @throws ServiceError `bad-request`
 */
function checkHost(incoming: Incoming): void {
  if (incoming.httpVersionMajor >= 2) return;
  if (incoming.httpVersionMajor < 1) throw new ServiceError('bad-request', 'HTTP/0.9 is not supported.');
  const hosts = incoming.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  const value = incoming.headers.host ?? '';
  if (hosts.length > 1 || (hosts.length === 1 && !/^([\w.~!$&'()*+,;=%-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/i.test(value))) {
    throw new ServiceError('bad-request', 'The Host header is not valid.');
  }
  const authority = /^https?:\/\/([^/?#]*)/i.exec(incoming.url ?? '')?.[1];
  if (authority !== undefined && authority.toLowerCase() !== value.toLowerCase())
    throw new ServiceError('bad-request', 'The request target names another host than the Host header.');
}
