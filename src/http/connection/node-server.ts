import { createServer, type IncomingMessage, type Server, type ServerOptions, type ServerResponse } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { PendingWork } from '../../lib/concurrency/pending-work.ts';
import { acceptAnyHead } from '../../lib/listen.ts';
import { knownMethods } from '../method-names.ts';
import { isClientGone, type Outgoing } from '../reply/outgoing.ts';
import { failRequest } from '../reply/respond.ts';
import { Exchange, type HttpService } from '../request/exchange.ts';
import type { StreamRequest } from '../request/incoming.ts';
import { createApp } from '../routes.ts';
import { headerLimitBytes } from './refusals.ts';

const serverOptions: ServerOptions = {
  maxHeaderSize: headerLimitBytes,
  insecureHTTPParser: false,
  connectionsCheckingInterval: 1000,
  noDelay: true,
  // Node.js would refuse a request without Host with an empty reply. `checkHead` refuses it with a complete reply.
  requireHostHeader: false,
};

// The exchange is a property of the reply, because a property costs the garbage collector less than an entry of a WeakMap.
const exchangeKey = Symbol('exchange');

type Answering = Outgoing & { [exchangeKey]?: Exchange };

/** Returns the exchange to which a reply belongs; undefined until the request is being answered. */
export function findExchange(outgoing: Outgoing): Exchange | undefined {
  return (outgoing as Answering)[exchangeKey];
}

type AdapterListener = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

interface NodeServer {
  server: Server;
  /** Lets the app answer an HTTP/1 request. @param expectsContinue whether the client waits for `100 Continue` before it sends its body */
  answer(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void;
  answerStream(request: StreamRequest, expectsContinue: boolean): void;
}

/**
 * Creates the Node.js server for HTTP/1 with Hono's adapter, and functions with which the same app answers HTTP/1 and HTTP/2 requests. The
 * caller listens, and calls `answer` for the requests of a connection one after the other, because the adapter does not handle pipelining,
 * congestion or `Expect`.
 *
 * @param service returns the current service; called for each request, so that a reload takes effect with the next request
 * @param answering counts the requests that are being answered
 */
export function createNodeServer(service: () => HttpService, answering: PendingWork): NodeServer {
  const app = createApp();
  let listener: AdapterListener | undefined;
  const server = createAdaptorServer({
    fetch: async (request, { outgoing }) => {
      const response = await app.fetch(request, (outgoing as Answering)[exchangeKey]);
      // Hono creates a response even if the reply was written to the socket directly.
      return outgoing.headersSent || isClientGone(outgoing as ServerResponse) ? RESPONSE_ALREADY_SENT : response;
    },
    // A native `Response` costs four times as much as the adapter's. `endUnreadBody`, not the adapter, handles unread bodies.
    overrideGlobalObjects: true,
    autoCleanupIncoming: false,
    hostname: 'svc',
    serverOptions,
    createServer: ((options: ServerOptions, adapter: AdapterListener) => {
      listener = adapter;
      return createServer(options);
    }) as typeof createServer,
  }) as Server;
  const settle = (exchange: Exchange, answer: unknown) =>
    answering.add(Promise.resolve(answer).catch((error) => failRequest(exchange, error)));
  const answer = (incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean) => {
    const exchange = new Exchange(service, incoming, outgoing, expectsContinue, failRequest);
    (outgoing as Answering)[exchangeKey] = exchange;
    acceptAnyHead(incoming);
    settle(exchange, listener?.(incoming, outgoing));
  };
  const answerStream = (request: StreamRequest, expectsContinue: boolean) => {
    const exchange = new Exchange(service, request, request.stream, expectsContinue, failRequest);
    (request.stream as Answering)[exchangeKey] = exchange;
    settle(exchange, app.fetch(requests.get(exchange.method) ?? otherRequest, exchange));
  };
  return { server, answer, answerStream };
}

/** Stands for unknown methods. Methods are case-sensitive, but `Request` would turn `get` into GET. */
const otherRequest = new Request('https://svc/', { method: 'OTHER' });

/** One `Request` per method is enough: Hono reads only its method, and everything else is in the exchange. */
const requests = new Map([...knownMethods].map((method) => [method, new Request(otherRequest, { method })]));
