import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { ServiceError } from '../lib/errors.ts';
import { accountServices, services } from './api-routes.ts';
import { assets } from './html/pages/assets.ts';
import { authenticate } from './middleware/authenticate.ts';
import { type Action, answer, failRequest } from './reply/answer.ts';
import { codingHeaders, wantsGzip } from './reply/compression.ts';
import type { Handled } from './reply/reply.ts';
import type { Exchange } from './request/exchange.ts';
import type { RequestTarget } from './request/request-target.ts';
import { optionsReply } from './webdav/webdav-class.ts';

type Environment = { Bindings: { exchange: Exchange } };

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

function routeOf(target: RequestTarget): string {
  if (target.kind === 'service' || target.kind === 'account-service') {
    return /^[a-z0-9./_-]+$/i.test(target.name) ? `/${target.kind}/${target.name}` : '/unknown';
  }
  return `/${target.kind}`;
}

/** Answers requests for the service's own URLs: pages, their assets, and the services of the REST API. */
export function createOwnUrls(): (exchange: Exchange) => void {
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
  return (exchange) => {
    const { incoming, outgoing } = exchange;
    exchanges.set(incoming, exchange);
    incoming.url = routeOf(exchange.target);
    listener(incoming, outgoing).catch((error) => failRequest(exchange, error));
  };
}
