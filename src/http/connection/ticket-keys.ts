import { hash, hkdfSync, randomBytes } from 'node:crypto';

/** The secret of session tickets lives so long. Node.js knows one key at a time: who comes with an older ticket shakes hands in full. */
export const ticketSecretLastsMs = 12 * 60 * 60 * 1000;

/** A fresh secret for `TicketKeys`. */
export function newTicketSecret(): Buffer {
  return randomBytes(32);
}

/** What `node:tls` wants to know of session tickets. */
export interface TicketOptions {
  ticketKeys: Buffer;
  sessionIdContext: string;
}

/**
 * The keys of TLS session tickets, made of one secret that all processes of a server have, so that a client resumes its session with any of
 * them. It is in memory only, and renewed.
 */
export class TicketKeys {
  #secret: Buffer;
  readonly #listeners = new Set<() => void>();

  constructor(secret = newTicketSecret()) {
    this.#secret = secret;
  }

  /** Tickets so far are worth nothing any more. */
  renew(secret = newTicketSecret()): void {
    this.#secret = secret;
    for (const listener of this.#listeners) listener();
  }

  /** @returns stops listening */
  onRenewal(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * The keys of one service, of nobody else: a ticket carries the client's certificate as it was verified, so it must count only where the
   * same authorities are trusted with it.
   *
   * @param clientCa content of `tls_client_ca_path`
   */
  of(service: string, clientCa: Buffer | undefined): TicketOptions {
    const scope = hash('sha256', JSON.stringify([service, clientCa?.toString('base64')]), 'buffer');
    const ticketKeys = Buffer.from(hkdfSync('sha256', this.#secret, scope, 'session tickets', 48));
    // At most 32 bytes.
    return { ticketKeys, sessionIdContext: scope.toString('base64url').slice(0, 32) };
  }
}
