import { createHmac, randomBytes } from 'node:crypto';
import type { AuthResult } from './auth-method.ts';
import type { Credentials } from './credentials.ts';

/**
 * Remembers accepted credentials (option `cache_seconds`). There is an implementation in state/memory, and one for several nodes in
 * state/redis.
 */
export interface AcceptedCredentials {
  /** Returns the keyed hash of `question`, which contains a secret. Secrets must not be stored in clear text. */
  keyFor(question: string): string;
  find(key: string): Promise<AuthResult | undefined>;
  keep(key: string, result: AuthResult): Promise<void>;
}

/** Creates a random key for `acceptedKey`. */
export function newAcceptedKey(): Buffer {
  return randomBytes(32);
}

/** Returns the keyed hash of `question`. */
export function acceptedKey(key: string | Buffer, question: string): string {
  return createHmac('sha256', key).update(question).digest('base64');
}

/** Remembers accepted credentials, but neither refusals nor faults. Identical concurrent checks share one request. */
export class CalloutCache {
  readonly #accepted: AcceptedCredentials | undefined;
  readonly #running = new Map<string, Promise<AuthResult>>();

  /** @param accepted undefined if nothing should be remembered; in that case, checks share no requests either */
  constructor(accepted: AcceptedCredentials | undefined) {
    this.#accepted = accepted;
  }

  /** Returns the remembered answer, or the answer of `ask` if none is remembered. */
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
