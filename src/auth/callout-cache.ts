import { createHmac, randomBytes } from 'node:crypto';
import type { AuthResult } from './auth-method.ts';
import type { Credentials } from './credentials.ts';

/** The memory of accepted credentials (option `cache_seconds`). Implementations: state/memory, and state/redis for nodes. */
export interface AcceptedCredentials {
  /** The keyed hash of a question: secrets are not kept in clear. */
  keyFor(question: string): string;
  find(key: string): Promise<AuthResult | undefined>;
  keep(key: string, result: AuthResult): Promise<void>;
}

/** A new key for `acceptedKey`. */
export function newAcceptedKey(): Buffer {
  return randomBytes(32);
}

/** The keyed hash of a question. */
export function acceptedKey(key: string | Buffer, question: string): string {
  return createHmac('sha256', key).update(question).digest('base64');
}

/** Remembers accepted credentials, but no refusals and faults. Identical concurrent validations share one request. */
export class CalloutCache {
  readonly #accepted: AcceptedCredentials | undefined;
  readonly #running = new Map<string, Promise<AuthResult>>();

  /**
   * @param accepted undefined if nothing is to be remembered
   * @param accepted undefined when nothing is to be remembered
   */
  constructor(accepted: AcceptedCredentials | undefined) {
    this.#accepted = accepted;
  }

  /** The remembered answer, or that of `ask`. */
  async answer(credentials: Credentials, ask: () => Promise<AuthResult>): Promise<AuthResult> {
    const accepted = this.#accepted;
    if (!accepted) return ask();
    const { type, username, content, creator } = credentials;
    const key = accepted.keyFor(JSON.stringify([type, username, content, creator.uuid]));
    const running = this.#running.get(key) ?? findOrAsk(key, accepted, ask).finally(() => this.#running.delete(key));
    this.#running.set(key, running);
    return running;
  }
}

async function findOrAsk(key: string, accepted: AcceptedCredentials, ask: () => Promise<AuthResult>): Promise<AuthResult> {
  const kept = await accepted.find(key);
  if (kept) return kept;
  const result = await ask();
  if (result.outcome === 'authenticated') await accepted.keep(key, result);
  return result;
}
