import type { Challenge } from '../lib/acme/acme-client.ts';

/** Texts shared by all processes that use the same certificates. All methods throw ServiceError `unavailable`. */
export interface CertificateStore {
  /** Whether this process is the one that orders certificates, at least for the next seconds. */
  isLeader(): Promise<boolean>;
  get(name: string): Promise<string | undefined>;
  put(name: string, text: string, lifetimeMs: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** The name under which the key authorization of a challenge is stored: the token for `http-01`, the domain for `tls-alpn-01`. */
export function challengeName({ type, token, domain }: Pick<Challenge, 'type' | 'token' | 'domain'>): string {
  return `${type} ${type === 'http-01' ? token : domain}`;
}
