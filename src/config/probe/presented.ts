import { X509Certificate } from 'node:crypto';

/** The base64 blob of an OpenSSH public key line; undefined when it is none. */
export function publicKeyBlob(line: string): string | undefined {
  const [type, blob] = line.trim().split(/\s+/);
  return type && blob && /^[\w@.-]+$/.test(type) && /^AAAA[A-Za-z0-9+/]+=*$/.test(blob) ? blob : undefined;
}

/** The common name of a certificate in PEM; undefined when it has none. @throws what `X509Certificate` throws for no certificate */
export function commonNameOf(pem: string): string | undefined {
  const name = new X509Certificate(pem).toLegacyObject().subject.CN;
  return typeof name === 'string' ? name : undefined;
}
