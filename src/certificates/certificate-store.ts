import type { Challenge } from '../lib/acme/acme-client.ts';

/**
 * Stores the texts that all processes with the same certificates share: certificates, account keys, and answers to challenges. All methods
 * throw ServiceError `unavailable` if the texts are in Redis and Redis cannot be reached.
 */
export interface CertificateStore {
  /** Returns whether this process may order certificates. The answer stays valid for at least a few seconds. */
  isLeader(): Promise<boolean>;
  get(name: string): Promise<string | undefined>;
  put(name: string, text: string, lifetimeMs: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/**
 * Returns the name under which the key authorization of a challenge is stored. For `http-01` the name contains the token of the challenge,
 * and for `tls-alpn-01` the domain.
 */
export function challengeName({ type, token, domain }: Pick<Challenge, 'type' | 'token' | 'domain'>): string {
  return `${type} ${type === 'http-01' ? token : domain}`;
}
