import { X509Certificate } from 'node:crypto';

/** The common name of a certificate in PEM; undefined when it has none. @throws what `X509Certificate` throws for no certificate */
export function commonNameOf(pem: string): string | undefined {
  const name = new X509Certificate(pem).toLegacyObject().subject.CN;
  return typeof name === 'string' ? name : undefined;
}
