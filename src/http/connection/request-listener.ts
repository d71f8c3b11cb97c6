import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { acceptAnyHead } from '../../lib/adapter-request.ts';
import { createApp } from '../app.ts';
import { failRequest } from '../reply/internal-error.ts';
import { isClientGone, type Outgoing } from '../reply/outgoing.ts';
import { Exchange, type HttpService, type Incoming } from '../request/exchange.ts';

// A property costs the garbage collector less than an entry of a WeakMap.
const exchangeKey = Symbol('exchange');

type Answering = Outgoing & { [exchangeKey]?: Exchange };

/** @param expectsContinue whether the client waits for leave to send its body */
export type RequestListener = (incoming: Incoming, outgoing: Outgoing, expectsContinue: boolean) => void;

/**
 * The listener of a service's server: hands requests to the app, by way of Hono's adapter for Node.js.
 *
 * @param service asked at each request, so that a reload takes effect at once
 */
export function createRequestListener(service: () => HttpService): RequestListener {
  const app = createApp();
  const listener = getRequestListener(
    async (request, { outgoing }) => {
      const response = await app.fetch(request, (outgoing as Answering)[exchangeKey]);
      // Of what went to the socket, HEAD's included, Hono makes a response like any other.
      return outgoing.headersSent || isClientGone(outgoing) ? RESPONSE_ALREADY_SENT : response;
    },
    // A native `Response` costs four times as much; and what becomes of a body that nobody read is up to `endUnreadBody`.
    { overrideGlobalObjects: true, autoCleanupIncoming: false, hostname: 'svc' },
  );
  return (incoming, outgoing, expectsContinue) => {
    const exchange = new Exchange(service(), incoming, outgoing, expectsContinue, failRequest);
    (outgoing as Answering)[exchangeKey] = exchange;
    acceptAnyHead(incoming);
    listener(incoming, outgoing).catch((error) => failRequest(exchange, error));
  };
}
