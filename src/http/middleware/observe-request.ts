import type { SyncMiddleware } from '../environment.ts';
import { knownMethods, webdavMethods } from '../method-names.ts';
import { nameReply, sentStatus } from '../reply/outgoing.ts';
import type { Exchange } from '../request/exchange.ts';
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
