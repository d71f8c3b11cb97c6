import { hash, X509Certificate } from 'node:crypto';
import { certificateBlocks, checkTlsPairs } from '../lib/tls-files.ts';

/**
 * A certificate is renewed after this part of its lifetime. To spread renewals, this may be up to a twentieth of the lifetime earlier.
 */
const renewAfter = 2 / 3;
const jitter = 1 / 20;

/** Maximum number of certificates in a chain. No authority needs more. */
const maxChain = 10;

/** Problems that make clients refuse a certificate, although TLS itself would work. */
const refusedByClients = new Set(['tls-expired', 'tls-chain', 'tls-weak']);

/**
 * Joins an authority's chain and the key to one text for a file.
 *
 * @param chain PEM text; anything in it that is not a certificate is ignored
 * @param key private key as PEM
 */
export function joinCertificate(chain: string, key: string): string {
  return `${certificateBlocks(chain).slice(0, maxChain).join('\n')}\n${key}`;
}

/**
 * Returns the reason why a certificate with its key cannot be used for some domains; undefined if it can. Includes the checks of TLS files.
 *
 * @param pem chain and key as one text
 * @param nowMs Unix time in milliseconds
 */
export function certificateFault(pem: string, domains: readonly string[], nowMs: number): string | undefined {
  const fault = checkTlsPairs(pem, pem, nowMs).find(({ severity, code }) => severity === 'error' || refusedByClients.has(code));
  if (fault) return fault.message;
  const leaf = new X509Certificate(pem);
  if (leaf.checkIssued(leaf)) return 'it is self-signed';
  const missing = domains.find((domain) => leaf.checkHost(domain, { subject: 'never', wildcards: false }) === undefined);
  return missing === undefined ? undefined : `it is not for ${missing}`;
}

/** Returns whether TLS works with a certificate and its key, even if clients may refuse the certificate. */
export function isServable(pem: string): boolean {
  return checkTlsPairs(pem, pem, 0).every(({ severity }) => severity !== 'error');
}

/** Returns when a certificate must be renewed. For one certificate, this is the same on all nodes. @returns Unix time in milliseconds */
export function renewalMs(pem: string): number {
  const leaf = new X509Certificate(pem);
  const [fromMs, toMs] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  const share = Number.parseInt(hash('sha256', leaf.raw, 'hex').slice(0, 8), 16) / 2 ** 32;
  return fromMs + (toMs - fromMs) * (renewAfter - jitter * share);
}

/** Returns whether a certificate was issued later than another one. */
export function isNewer(pem: string, other: string): boolean {
  const fromMs = (text: string) => Date.parse(new X509Certificate(text).validFrom);
  return fromMs(pem) > fromMs(other);
}
