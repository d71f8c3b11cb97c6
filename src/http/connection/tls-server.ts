import { createServer, type Server } from 'node:tls';
import type { HttpService } from '../request/exchange.ts';
import { readTlsContext, type TlsContext } from './tls-context.ts';

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

/**
 * The listening side of an https service: what has shaken hands is a `secureConnection`, whose `alpnProtocol` says what is spoken on it.
 *
 * @throws ServiceError `unavailable` when the TLS files cannot be used
 */
export function createTlsServer(service: HttpService): Server {
  const context = tlsContextOf(service);
  return createServer({
    ...context,
    noDelay: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    // A certificate that does not verify authenticates nobody (client-certificate.ts), but other credentials may.
    ...(context.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
  });
}
