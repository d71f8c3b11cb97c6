import { hash, hkdfSync, randomBytes } from 'node:crypto';

/** Lifetime of the secret for session tickets. Node.js keeps only one key, so a client with an older ticket makes a full handshake. */
export const ticketSecretLastsMs = 12 * 60 * 60 * 1000;

/** Creates a secret for `TicketKeys`. */
export function newTicketSecret(): Buffer {
  return randomBytes(32);
}

export interface TicketOptions {
  ticketKeys: Buffer;
  sessionIdContext: string;
}

/**
 * The keys of TLS session tickets. All nodes derive them from one secret, so that a client can resume its session with any node. The secret
 * is only in memory, and is renewed.
 */
export class TicketKeys {
  #secret: Buffer;
  readonly #listeners = new Set<() => void>();

  constructor(secret = newTicketSecret()) {
    this.#secret = secret;
  }

  /** Replaces the secret. All tickets become invalid. */
  renew(secret = newTicketSecret()): void {
    this.#secret = secret;
    for (const listener of this.#listeners) listener();
  }

  /** @returns a function that removes the listener */
  onRenewal(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Returns keys that only one service uses. A ticket contains the verified client certificate, so it must be accepted only by a service
   * that trusts the same authorities.
   *
   * @param clientCa content of the file `tls_client_ca_path`
   */
  of(service: string, clientCa: Buffer | undefined): TicketOptions {
    const scope = hash('sha256', JSON.stringify([service, clientCa?.toString('base64')]), 'buffer');
    const ticketKeys = Buffer.from(hkdfSync('sha256', this.#secret, scope, 'session tickets', 48));
    // The context may have at most 32 bytes.
    return { ticketKeys, sessionIdContext: scope.toString('base64url').slice(0, 32) };
  }
}
