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
  // Node.js would refuse it with an empty reply; `checkHead` refuses it like anything else.
  requireHostHeader: false,
};

// A property costs the garbage collector less than an entry of a WeakMap.
const exchangeKey = Symbol('exchange');

type Answering = Outgoing & { [exchangeKey]?: Exchange };

/** The request of a reply, once it is being answered. */
export function exchangeOf(outgoing: Outgoing): Exchange | undefined {
  return (outgoing as Answering)[exchangeKey];
}

type AdapterListener = (incoming: IncomingMessage, outgoing: ServerResponse) => Promise<void>;

interface NodeServer {
  server: Server;
  /** Has the app answer a request of HTTP/1. @param expectsContinue whether the client waits for leave to send its body */
  answer(incoming: IncomingMessage, outgoing: ServerResponse, expectsContinue: boolean): void;
  /** Has the app answer a request of HTTP/2. */
  answerStream(request: StreamRequest, expectsContinue: boolean): void;
}

/**
 * The server of Node.js for HTTP/1, made by Hono's adapter, and the answers to streams of HTTP/2 by the same app. The caller listens, and calls `answer`
 * for each request in its turn, as the adapter knows no pipelining, congestion or `Expect`.
 *
 * @param service called for each request, so that a reload takes effect at once
 * @param answering counts the requests that are being answered
 */
export function createNodeServer(service: () => HttpService, answering: PendingWork): NodeServer {
  const app = createApp();
  let listener: AdapterListener | undefined;
  const server = createAdaptorServer({
    fetch: async (request, { outgoing }) => {
      const response = await app.fetch(request, (outgoing as Answering)[exchangeKey]);
      // Hono makes a response of a reply that went to the socket, too.
      return outgoing.headersSent || isClientGone(outgoing as ServerResponse) ? RESPONSE_ALREADY_SENT : response;
    },
    // A native `Response` costs four times as much; and `endUnreadBody` deals with unread bodies.
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
    // The reply went to the stream (`respond`, `stream`).
    settle(exchange, app.fetch(requests.get(exchange.method) ?? otherRequest, exchange));
  };
  return { server, answer, answerStream };
}

/** For unknown methods: methods are case-sensitive, and `Request` would take `get` for GET. */
const otherRequest = new Request('https://svc/', { method: 'OTHER' });

/** Hono reads only the method of a `Request`, since everything else is in the exchange: one object for each method is enough. */
const requests = new Map([...knownMethods].map((method) => [method, new Request(otherRequest, { method })]));
