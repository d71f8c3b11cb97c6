import type { Challenge } from '../lib/acme/acme-client.ts';

/** Texts that all processes with the same certificates share. All but `isLeader` take and give whole texts; all throw ServiceError `unavailable`. */
export interface CertificateStore {
  /** Whether this process is the one that orders, at least for the next seconds. */
  isLeader(): Promise<boolean>;
  get(name: string): Promise<string | undefined>;
  put(name: string, text: string, lifetimeMs: number): Promise<void>;
  remove(name: string): Promise<void>;
}

/** The name under which the key authorization of a challenge is found: `http-01` by its token, `tls-alpn-01` by its domain. */
export function challengeName({ type, token, domain }: Pick<Challenge, 'type' | 'token' | 'domain'>): string {
  return `${type} ${type === 'http-01' ? token : domain}`;
}
