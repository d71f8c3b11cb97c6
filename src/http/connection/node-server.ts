import { createServer, type Server, type ServerOptions } from 'node:http';
import { createSecureServer, type Http2SecureServer, type SecureServerOptions } from 'node:http2';
import { createAdaptorServer } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { acceptAnyHead } from '../../lib/adapter-request.ts';
import { createApp } from '../app.ts';
import { failRequest } from '../reply/internal-error.ts';
import { isClientGone, type Outgoing } from '../reply/outgoing.ts';
import { Exchange, type HttpService, type Incoming } from '../request/exchange.ts';
import { headerLimitBytes } from './garbage-reply.ts';
import { mostPending } from './pending-replies.ts';
import { readTlsContext, type TlsContext } from './tls-context.ts';

const http1Options: ServerOptions = {
  maxHeaderSize: headerLimitBytes,
  insecureHTTPParser: false,
  connectionsCheckingInterval: 1000,
  noDelay: true,
  // Node.js would refuse it with an empty reply; `checkHead` refuses it like anything else.
  requireHostHeader: false,
};

function tlsOptions(context: TlsContext): SecureServerOptions {
  return {
    ...context,
    ...http1Options,
    allowHTTP1: true,
    // A certificate that does not verify authenticates nobody (client-certificate.ts), but other credentials may.
    ...(context.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
    settings: { maxConcurrentStreams: mostPending, maxHeaderListSize: headerLimitBytes },
    maxSessionInvalidFrames: 100,
  };
}

/** Certificate and key of a service. @throws ServiceError `unavailable` when the files cannot be used and none were kept */
export function tlsContextOf({ uuid, options, sharing }: HttpService): TlsContext {
  try {
    return readTlsContext(options);
  } catch (error) {
    const kept = sharing?.tlsContext(uuid);
    if (!kept) throw error;
    return kept;
  }
}

// A property costs the garbage collector less than an entry of a WeakMap.
const exchangeKey = Symbol('exchange');

type Answering = Outgoing & { [exchangeKey]?: Exchange };

type AdapterListener = (incoming: Incoming, outgoing: Outgoing) => Promise<void>;

interface NodeServer {
  server: Server | Http2SecureServer;
  /**
   * Has the app answer a request.
   *
   * @param expectsContinue whether the client waits for leave to send its body
   */
  answer(incoming: Incoming, outgoing: Outgoing, expectsContinue: boolean): void;
}

/**
 * The server of Node.js for a service, made by Hono's adapter: HTTP/1, or HTTP/2 and HTTP/1 over TLS. Who listens to it has `answer` called
 * for each request in its turn, as the adapter knows of no pipelining, congestion and `Expect`.
 *
 * @param service asked at each request, so that a reload takes effect at once
 * @throws ServiceError `unavailable` when the TLS files cannot be used
 */
export function createNodeServer(service: () => HttpService): NodeServer {
  const isTls = service().options.type === 'https';
  const app = createApp();
  let listener: AdapterListener | undefined;
  const server = createAdaptorServer({
    fetch: async (request, { outgoing }) => {
      const response = await app.fetch(request, (outgoing as Answering)[exchangeKey]);
      // Of what went to the socket, HEAD's included, Hono makes a response like any other.
      return outgoing.headersSent || isClientGone(outgoing) ? RESPONSE_ALREADY_SENT : response;
    },
    // A native `Response` costs four times as much; and what becomes of a body that nobody read is up to `endUnreadBody`.
    overrideGlobalObjects: true,
    autoCleanupIncoming: false,
    hostname: 'svc',
    serverOptions: isTls ? tlsOptions(tlsContextOf(service())) : http1Options,
    createServer: ((options: ServerOptions, adapter: AdapterListener) => {
      listener = adapter;
      return isTls ? createSecureServer(options as SecureServerOptions) : createServer(options);
    }) as typeof createServer,
  }) as Server | Http2SecureServer;
  const answer = (incoming: Incoming, outgoing: Outgoing, expectsContinue: boolean) => {
    const exchange = new Exchange(service(), incoming, outgoing, expectsContinue, failRequest);
    (outgoing as Answering)[exchangeKey] = exchange;
    acceptAnyHead(incoming);
    listener?.(incoming, outgoing).catch((error) => failRequest(exchange, error));
  };
  return { server, answer };
}
