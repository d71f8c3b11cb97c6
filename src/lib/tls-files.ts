import { createPrivateKey, X509Certificate } from 'node:crypto';
import { createSecureContext } from 'node:tls';

/** A certificate chain and its private key, in PEM. */
interface TlsPair {
  certificate: string;
  key: string;
}

const certificateBlock = /-----BEGIN (?:TRUSTED |X509 )?CERTIFICATE-----[\s\S]*?-----END (?:TRUSTED |X509 )?CERTIFICATE-----/g;
const keyBlock = /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[\s\S]*?-----END \1PRIVATE KEY-----/g;

/** Returns the certificates in a PEM text as separate blocks. */
export function certificateBlocks(pem: string): string[] {
  return pem.match(certificateBlock) ?? [];
}

/**
 * Splits two files into pairs of a certificate chain and its key. With several keys, each chain begins at the certificate that belongs to
 * the key. A key whose certificate is missing is paired with the whole text of the certificate file, and `checkTlsPairs` then reports an
 * error.
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
    return false;
  }
}

/**
 * A problem with TLS files. If it is an error, the files cannot be used. If it is a warning, TLS works, but clients may refuse the
 * certificate.
 */
export interface TlsFault {
  severity: 'error' | 'warning';
  code: 'tls-unusable' | 'tls-mismatch' | 'tls-expired' | 'tls-expires-soon' | 'tls-chain' | 'tls-weak';
  /** The file that has the problem. */
  file: 'certificate' | 'key' | 'authorities';
  message: string;
  hint?: string;
}

const dayMs = 86_400_000;

/** A certificate that expires within this number of days is reported. */
const soonDays = 30;

/** Minimum size of RSA keys in bits. Smaller keys can be broken, or clients refuse them (NIST SP 800-131A, CA/Browser Forum 6.1.5). */
const leastRsaBits = 2048;
const weakCurves = new Set(['secp112r1', 'secp128r1', 'secp160r1', 'prime192v1', 'secp192k1']);

// sha1WithRSAEncryption, ecdsa-with-SHA1 and md5WithRSAEncryption as DER object identifiers (RFC 3279).
const weakSignatures = ['06092a864886f70d010105', '06072a8648ce3d0401', '06092a864886f70d010104'].map((hex) => Buffer.from(hex, 'hex'));

/**
 * Checks whether each chain can be parsed, is in order, is valid now and is strong enough, and whether each key belongs to its certificate.
 *
 * @param certificates text of the certificate file
 * @param keys text of the key file; undefined to check no keys
 * @param nowMs Unix time in milliseconds
 */
export function checkTlsPairs(certificates: string, keys: string | undefined, nowMs: number): TlsFault[] {
  return tlsPairs(certificates, keys ?? '').flatMap((pair) => {
    const { chain, faults } = parseCertificates(pair.certificate, 'certificate');
    if (faults.length > 0) return faults;
    return [...checkChain(chain, nowMs), ...(keys === undefined ? [] : checkKey(pair))];
  });
}

/** Checks the certificates of authorities. @param nowMs Unix time in milliseconds */
export function checkAuthorities(pem: string, nowMs: number): TlsFault[] {
  const { chain, faults } = parseCertificates(pem, 'authorities');
  return faults.length > 0 ? faults : chain.flatMap((certificate) => checkTime(certificate, 'authorities', nowMs));
}

/** Parses the certificates in a PEM text. A certificate that cannot be parsed adds a fault. */
function parseCertificates(pem: string, file: TlsFault['file']): { chain: X509Certificate[]; faults: TlsFault[] } {
  const blocks = certificateBlocks(pem);
  if (blocks.length === 0) {
    const isKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem);
    const message = isKey ? 'the file contains a private key, not a certificate' : 'the file contains no certificate in PEM';
    return { chain: [], faults: [unusable(file, message)] };
  }
  const chain: X509Certificate[] = [];
  const faults: TlsFault[] = [];
  for (const [index, block] of blocks.entries()) {
    try {
      chain.push(new X509Certificate(block));
    } catch (error) {
      faults.push(unusable(file, `certificate ${index + 1} of the file does not parse: ${(error as Error).message}`));
    }
  }
  return { chain, faults };
}

function checkChain(chain: readonly X509Certificate[], nowMs: number): TlsFault[] {
  return chain.flatMap((certificate, index) => {
    const faults = [...checkTime(certificate, 'certificate', nowMs), ...checkStrength(certificate)];
    const next = chain[index + 1];
    if (next && !certificate.checkIssued(next))
      faults.push(warning('tls-chain', 'certificate', `certificate ${index + 2} of the file did not issue certificate ${index + 1}`));
    return faults;
  });
}

function checkTime(certificate: X509Certificate, file: TlsFault['file'], nowMs: number): TlsFault[] {
  const name = certificateName(certificate);
  const fromMs = Date.parse(certificate.validFrom);
  const toMs = Date.parse(certificate.validTo);
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  if (nowMs < fromMs) return [warning('tls-expired', file, `the certificate ${name} is not valid before ${day(fromMs)}`)];
  if (nowMs > toMs) return [warning('tls-expired', file, `the certificate ${name} expired on ${day(toMs)}; clients refuse it`)];
  if (toMs - nowMs >= soonDays * dayMs) return [];
  const days = Math.floor((toMs - nowMs) / dayMs);
  return [warning('tls-expires-soon', file, `the certificate ${name} expires on ${day(toMs)}, in ${days} day${days === 1 ? '' : 's'}`)];
}

/** Returns a name for messages. If the subject is empty, Node.js returns undefined, although its type declaration says otherwise. */
function certificateName({ subject, subjectAltName }: { subject: string | undefined; subjectAltName: string | undefined }): string {
  return subject?.split('\n').at(-1) || subjectAltName || '';
}

function checkStrength(certificate: X509Certificate): TlsFault[] {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
  const bits = details?.modulusLength ?? 0;
  const faults: string[] = [];
  if (type?.startsWith('rsa') && bits < leastRsaBits)
    faults.push(`the key has ${bits} bits; use RSA with ${leastRsaBits} bits or more, or an elliptic curve`);
  if (details?.namedCurve && weakCurves.has(details.namedCurve))
    faults.push(`the curve ${details.namedCurve} is too small; use prime256v1 or larger`);
  // Clients do not check the signature of a root certificate, so a weak signature on it is harmless.
  const isRoot = certificate.checkIssued(certificate) && certificate.ca;
  if (!isRoot && weakSignatures.some((identifier) => certificate.raw.includes(identifier)))
    faults.push('the certificate is signed with SHA-1 or MD5; clients refuse it');
  return faults.map((message) => warning('tls-weak', 'certificate', message));
}

function checkKey({ certificate, key }: TlsPair): TlsFault[] {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(key)) {
    const hint = 'openssl pkey -in KEY -out PLAIN decrypts it';
    return [{ ...unusable('key', 'the key is encrypted with a passphrase'), hint }];
  }
  try {
    // `createSecureContext` accepts a certificate and a key of different types, but every handshake would then fail.
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)))
      return [{ severity: 'error', code: 'tls-mismatch', file: 'key', message: 'the key does not belong to the certificate' }];
  } catch (error) {
    return [unusable('key', `the key cannot be used: ${(error as Error).message}`)];
  }
  try {
    createSecureContext({ cert: certificate, key });
  } catch (error) {
    return [unusable('certificate', `TLS refuses the certificate: ${(error as Error).message}`)];
  }
  return [];
}

function unusable(file: TlsFault['file'], message: string): TlsFault {
  return { severity: 'error', code: 'tls-unusable', file, message };
}

function warning(code: TlsFault['code'], file: TlsFault['file'], message: string): TlsFault {
  return { severity: 'warning', code, file, message };
}
