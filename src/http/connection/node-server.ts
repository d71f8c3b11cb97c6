import { createServer, type Server, type ServerOptions } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { HttpService } from '../request/exchange.ts';
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

function createTlsServer(context: TlsContext): Http2SecureServer {
  return createSecureServer({
    ...context,
    ...http1Options,
    allowHTTP1: true,
    // A certificate that does not verify authenticates nobody (client-certificate.ts), but other credentials may.
    ...(context.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
    settings: { maxConcurrentStreams: mostPending, maxHeaderListSize: headerLimitBytes },
    maxSessionInvalidFrames: 100,
  });
}

/** The server of Node.js for a service: HTTP/1, or HTTP/2 and HTTP/1 over TLS. @throws ServiceError `unavailable` when the TLS files cannot be used */
export function createNodeServer(service: HttpService): Server | Http2SecureServer {
  return service.options.type === 'https' ? createTlsServer(tlsContextOf(service)) : createServer(http1Options);
}
