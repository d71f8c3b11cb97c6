import { constants } from 'node:crypto';
import { createServer, DEFAULT_CIPHERS, type Server, type TlsOptions } from 'node:tls';
import type { HttpService } from '../request/exchange.ts';
import { readTlsContext, type TlsContext } from './tls-context.ts';

/** It takes ten rounds a block where AES-256, which Node.js puts before it, takes fourteen. */
const firstCipher = 'TLS_AES_128_GCM_SHA256';

const ciphers = DEFAULT_CIPHERS.split(':').sort((a, b) => Number(b === firstCipher) - Number(a === firstCipher));

/** What a listener needs for the certificate of a service, and for its session tickets. */
export function tlsOptionsOf({ uuid, tickets }: HttpService, context: TlsContext): TlsOptions {
  return {
    ...context,
    ...tickets.of(uuid, context.ca),
    ciphers: ciphers.join(':'),
    // For clients that put it first, as they have no AES in hardware.
    secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
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

/** The listening side of an https service: what has shaken hands is a `secureConnection`, whose `alpnProtocol` says what is spoken on it. */
export function createTlsServer(options: TlsOptions): Server {
  return createServer({
    ...options,
    noDelay: true,
    ALPNProtocols: ['h2', 'http/1.1'],
    // A certificate that does not verify authenticates nobody (client-certificate.ts), but other credentials may.
    ...(options.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
  });
}
