import { hash, hkdfSync, randomBytes } from 'node:crypto';

/** Life of the secret of session tickets. Node.js has one key at a time, so an older ticket needs a full handshake. */
export const ticketSecretLastsMs = 12 * 60 * 60 * 1000;

/** A fresh secret for `TicketKeys`. */
export function newTicketSecret(): Buffer {
  return randomBytes(32);
}

/** Options of `node:tls` for session tickets. */
export interface TicketOptions {
  ticketKeys: Buffer;
  sessionIdContext: string;
}

/** The keys of TLS session tickets. All nodes derive them from one secret, in memory only and renewed, so that clients resume sessions with any node. */
export class TicketKeys {
  #secret: Buffer;
  readonly #listeners = new Set<() => void>();

  constructor(secret = newTicketSecret()) {
    this.#secret = secret;
  }

  /** Invalidates all tickets. */
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
   * The keys of one service alone: a ticket carries the verified client certificate, so it must count only where the same authorities are trusted.
   * @param clientCa content of `tls_client_ca_path`
   */
  of(service: string, clientCa: Buffer | undefined): TicketOptions {
    const scope = hash('sha256', JSON.stringify([service, clientCa?.toString('base64')]), 'buffer');
    const ticketKeys = Buffer.from(hkdfSync('sha256', this.#secret, scope, 'session tickets', 48));
    // At most 32 bytes.
    return { ticketKeys, sessionIdContext: scope.toString('base64url').slice(0, 32) };
  }
}
