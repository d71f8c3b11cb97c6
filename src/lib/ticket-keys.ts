import { hash, hkdfSync, randomBytes } from 'node:crypto';

/** Node.js keeps only one key: a client with an older ticket makes a full handshake. */
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
 * Keys of TLS session tickets, derived from one secret of all nodes, so that a client can resume with any node. The secret is only in
 * memory.
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
   * Returns keys for one service. A ticket contains the verified client certificate, so only a service that trusts the same authorities may
   * accept it.
   *
   * @param clientCa content of the file `tls_client_ca_path`
   */
  of(service: string, clientCa: Buffer | undefined): TicketOptions {
    const scope = hash('sha256', JSON.stringify([service, clientCa?.toString('base64')]), 'buffer');
    const ticketKeys = Buffer.from(hkdfSync('sha256', this.#secret, scope, 'session tickets', 48));
    // At most 32 bytes.
    return { ticketKeys, sessionIdContext: scope.toString('base64url').slice(0, 32) };
  }
}
