import { createPrivateKey, X509Certificate } from 'node:crypto';

/** A certificate chain and its private key, as PEM. */
export interface TlsPair {
  certificate: string;
  key: string;
}

const certificateBlock = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;
const keyBlock = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]*?-----END \1PRIVATE KEY-----/g;

/** The certificates of a PEM text, one after the other. */
export function certificateBlocks(pem: string): string[] {
  return pem.match(certificateBlock) ?? [];
}

/**
 * The pairs that two files hold: one, or one for each key, whose chain begins with its own certificate. A key without a certificate
 * has the whole text beside it, for whoever checks the pair to refuse.
 *
 * @param certificates text of `tls_certificate_path`
 * @param keys text of `tls_key_path`
 */
export function tlsPairs(certificates: string, keys: string): TlsPair[] {
  const blocks = keys.match(keyBlock) ?? [];
  if (blocks.length < 2) return [{ certificate: certificates, key: keys }];
  const chain = certificateBlocks(certificates);
  const beginnings = blocks.map((key) => chain.findIndex((certificate) => belongTogether(certificate, key)));
  return blocks.map((key, index) => {
    const from = beginnings[index] as number;
    if (from < 0) return { certificate: certificates, key };
    const to = Math.min(...beginnings.filter((other) => other > from), chain.length);
    return { certificate: chain.slice(from, to).join('\n'), key };
  });
}

function belongTogether(certificate: string, key: string): boolean {
  try {
    return new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key));
  } catch {
    // What does not parse belongs to nothing.
    return false;
  }
}
