import { constants } from 'node:crypto';
import { createServer, DEFAULT_CIPHERS, type Server } from 'node:tls';
import type { HttpService } from '../request/exchange.ts';
import type { TlsContext } from './tls-context.ts';

/** It takes ten rounds a block where AES-256, which Node.js puts before it, takes fourteen. */
const firstCipher = 'TLS_AES_128_GCM_SHA256';

const ciphers = DEFAULT_CIPHERS.split(':').sort((a, b) => Number(b === firstCipher) - Number(a === firstCipher));

/**
 * Shakes hands on the connections of an https service that are given to it (`emit('connection', socket)`). What has shaken hands is a
 * `secureConnection`, whose `alpnProtocol` says what is spoken on it.
 */
export function createTlsServer({ uuid, tickets }: HttpService, context: TlsContext): Server {
  return createServer({
    ...context,
    ...tickets.of(uuid, context.ca),
    ciphers: ciphers.join(':'),
    // For clients that put it first, as they have no AES in hardware.
    secureOptions: constants.SSL_OP_PRIORITIZE_CHACHA,
    ALPNProtocols: ['h2', 'http/1.1'],
    // A certificate that does not verify authenticates nobody (client-certificate.ts), but other credentials may.
    ...(context.ca ? { requestCert: true, rejectUnauthorized: false } : {}),
  });
}
