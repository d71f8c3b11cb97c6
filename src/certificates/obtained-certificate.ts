import { hash, X509Certificate } from 'node:crypto';
import { certificateBlocks, checkTlsPairs } from '../lib/tls-files.ts';

/** Share of its life after which a certificate is renewed, or up to a twentieth of its life earlier, so that renewals are spread. */
const renewAfter = 2 / 3;
const jitter = 1 / 20;

/** Maximum number of certificates of a chain; no authority needs as many. */
const maxChain = 10;

/** Problems that make clients refuse a certificate, although TLS itself would work. */
const refusedByClients = new Set(['tls-expired', 'tls-chain', 'tls-weak']);

/**
 * Joins an authority's chain and the key to one text, as in a file.
 *
 * @param chain PEM; anything but certificates is ignored
 * @param key PEM
 */
export function joinCertificate(chain: string, key: string): string {
  return `${certificateBlocks(chain).slice(0, maxChain).join('\n')}\n${key}`;
}

/**
 * Why a certificate with its key cannot be used for some domains; undefined when it can. Includes the checks of TLS files.
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

/** Whether TLS works with a certificate and its key, even if clients may refuse the certificate. */
export function isServable(pem: string): boolean {
  return checkTlsPairs(pem, pem, 0).every(({ severity }) => severity !== 'error');
}

/** When a certificate is to be renewed; the same for one certificate at any node. @returns Unix time in milliseconds */
export function renewalMs(pem: string): number {
  const leaf = new X509Certificate(pem);
  const [fromMs, toMs] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  const share = Number.parseInt(hash('sha256', leaf.raw, 'hex').slice(0, 8), 16) / 2 ** 32;
  return fromMs + (toMs - fromMs) * (renewAfter - jitter * share);
}

/** Whether a certificate was issued later than another. */
export function isNewer(pem: string, other: string): boolean {
  const fromMs = (text: string) => Date.parse(new X509Certificate(text).validFrom);
  return fromMs(pem) > fromMs(other);
}
