import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { systemErrorCode } from '../../lib/errors.ts';
import { certificateBlocks, type TlsPair, tlsPairs } from '../../lib/tls-pairs.ts';
import type { Report } from '../findings.ts';
import { usesTls } from '../schema/console-options.ts';
import type { Config } from '../schema/schema.ts';
import { isHttpService } from '../schema/services.ts';

const dayMs = 86_400_000;

/** How long before its end a certificate is reported. */
const soonDays = 30;

/** Keys below this can be broken, or are refused by clients (NIST SP 800-131A, CA/Browser Forum 6.1.5). */
const leastRsaBits = 2048;
const weakCurves = new Set(['secp112r1', 'secp128r1', 'secp160r1', 'prime192v1', 'secp192k1']);

// sha1WithRSAEncryption, ecdsa-with-SHA1 and md5WithRSAEncryption as DER object identifiers (RFC 3279).
const weakSignatures = ['06092a864886f70d010105', '06072a8648ce3d0401', '06092a864886f70d010104'].map((hex) => Buffer.from(hex, 'hex'));

/** Files of TLS: readable, what they should be, belonging together, valid now, strong enough. */
export function lintTls(config: Config, report: Report, nowMs: number): void {
  for (const [uuid, service] of Object.entries(config.services)) {
    const hasTls = isHttpService(service) || (service.type === 'console' && usesTls(service));
    if (!service.enabled || !hasTls) continue;
    const at = (option: string) => ['services', uuid, option];
    if (service.type === 'http') {
      const unused = (['tls_certificate_path', 'tls_key_path', 'tls_client_ca_path'] as const).filter((option) => service[option] !== '');
      for (const option of unused) report('warning', 'tls-unused', at(option), 'has no effect on a service of type http');
      continue;
    }
    const certificate = readNeeded(service.tls_certificate_path, at('tls_certificate_path'), service.type, report);
    const key = readNeeded(service.tls_key_path, at('tls_key_path'), service.type, report);
    const pairs = certificate === undefined ? [] : tlsPairs(certificate, key ?? '');
    for (const pair of pairs) {
      const isGood = lintChain(pair.certificate, at('tls_certificate_path'), report, nowMs);
      if (isGood && key !== undefined) lintPair(pair, at, report);
    }
    if (service.tls_client_ca_path) lintAuthorities(service.tls_client_ca_path, at('tls_client_ca_path'), report, nowMs);
  }
  const remotes = [
    ...Object.entries(config.authentications).map(([uuid, method]) => ({ section: 'authentications', uuid, remote: method })),
    ...Object.entries(config.event_handlers).map(([uuid, handler]) => ({ section: 'event_handlers', uuid, remote: handler })),
  ];
  for (const { section, uuid, remote } of remotes) {
    if (!remote.enabled || remote.type !== 'http' || remote.ca_certificates_path === '') continue;
    const path = [section, uuid, 'ca_certificates_path'];
    lintAuthorities(remote.ca_certificates_path, path, report, nowMs);
    if (remote.url.every((url) => url.toLowerCase().startsWith('http:')))
      report('warning', 'tls-unused', path, 'has no effect: no URL begins with https://');
  }
}

function readNeeded(file: string, path: PropertyKey[], type: 'https' | 'console', report: Report): string | undefined {
  if (file !== '') return readText(file, path, report);
  report(
    'error',
    'missing-option',
    path,
    `${String(path.at(-1))} is required for a service ${type === 'https' ? 'of type https' : 'with TLS'}`,
  );
  return undefined;
}

function readText(file: string, path: PropertyKey[], report: Report): string | undefined {
  try {
    return readFileSync(file, 'latin1');
  } catch (error) {
    const reasons: Record<string, string> = {
      ENOENT: 'does not exist',
      EACCES: 'is not readable for this user',
      EISDIR: 'is a folder, not a PEM file',
    };
    report('error', 'file-unreadable', path, `${file} ${reasons[systemErrorCode(error) ?? ''] ?? (error as Error).message}`);
    return undefined;
  }
}

/** The certificates of a PEM text; each one that does not parse is reported. Undefined when there is none to work with. */
function certificatesOf(pem: string, path: PropertyKey[], report: Report): X509Certificate[] | undefined {
  const blocks = certificateBlocks(pem);
  if (blocks.length === 0) {
    const isKey = /-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem);
    report('error', 'tls-unusable', path, isKey ? 'the file holds a private key, no certificate' : 'the file holds no certificate in PEM');
    return undefined;
  }
  const certificates: X509Certificate[] = [];
  for (const [index, block] of blocks.entries()) {
    try {
      certificates.push(new X509Certificate(block));
    } catch (error) {
      report('error', 'tls-unusable', path, `certificate ${index + 1} of the file does not parse: ${(error as Error).message}`);
    }
  }
  return certificates.length === blocks.length ? certificates : undefined;
}

function lintChain(pem: string, path: PropertyKey[], report: Report, nowMs: number): boolean {
  const chain = certificatesOf(pem, path, report);
  if (!chain) return false;
  for (const [index, certificate] of chain.entries()) {
    lintValidity(certificate, path, report, nowMs);
    lintStrength(certificate, path, report);
    const next = chain[index + 1];
    if (next && !certificate.checkIssued(next))
      report('warning', 'tls-chain', path, `certificate ${index + 2} of the file did not issue certificate ${index + 1}`);
  }
  return true;
}

function lintAuthorities(file: string, path: PropertyKey[], report: Report, nowMs: number): void {
  const pem = readText(file, path, report);
  for (const certificate of (pem === undefined ? undefined : certificatesOf(pem, path, report)) ?? []) {
    lintValidity(certificate, path, report, nowMs);
  }
}

function lintValidity(certificate: X509Certificate, path: PropertyKey[], report: Report, nowMs: number): void {
  const name = certificate.subject.split('\n').at(-1) ?? '';
  const fromMs = Date.parse(certificate.validFrom);
  const toMs = Date.parse(certificate.validTo);
  const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  if (nowMs < fromMs) report('warning', 'tls-expired', path, `the certificate ${name} is not valid before ${day(fromMs)}`);
  else if (nowMs > toMs) report('warning', 'tls-expired', path, `the certificate ${name} ended on ${day(toMs)}; clients refuse it`);
  else if (toMs - nowMs < soonDays * dayMs) {
    const days = Math.floor((toMs - nowMs) / dayMs);
    report('warning', 'tls-expires-soon', path, `the certificate ${name} ends on ${day(toMs)}, in ${days} day${days === 1 ? '' : 's'}`);
  }
}

function lintStrength(certificate: X509Certificate, path: PropertyKey[], report: Report): void {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = certificate.publicKey;
  const bits = details?.modulusLength ?? 0;
  if (type?.startsWith('rsa') && bits < leastRsaBits)
    report('warning', 'tls-weak', path, `the key has ${bits} bits; use RSA with ${leastRsaBits} bits or more, or an elliptic curve`);
  if (details?.namedCurve && weakCurves.has(details.namedCurve))
    report('warning', 'tls-weak', path, `the curve ${details.namedCurve} is too small; use prime256v1 or larger`);
  // A root's own signature is not checked by anybody.
  const isRoot = certificate.checkIssued(certificate) && certificate.ca;
  if (!isRoot && weakSignatures.some((identifier) => certificate.raw.includes(identifier)))
    report('warning', 'tls-weak', path, 'the certificate is signed with SHA-1 or MD5; clients refuse it');
}

function lintPair({ certificate, key }: TlsPair, at: (option: string) => PropertyKey[], report: Report): void {
  if (/-----BEGIN ENCRYPTED PRIVATE KEY-----|Proc-Type: 4,ENCRYPTED/.test(key)) {
    report(
      'error',
      'tls-unusable',
      at('tls_key_path'),
      'the key is encrypted with a passphrase',
      'openssl pkey -in KEY -out PLAIN decrypts it',
    );
    return;
  }
  try {
    if (!new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key))) {
      report('error', 'tls-mismatch', at('tls_key_path'), 'the key does not belong to the certificate');
      return;
    }
  } catch (error) {
    report('error', 'tls-unusable', at('tls_key_path'), `the key cannot be used: ${(error as Error).message}`);
    return;
  }
  try {
    createSecureContext({ cert: certificate, key });
  } catch (error) {
    report('error', 'tls-unusable', at('tls_certificate_path'), `TLS refuses the certificate: ${(error as Error).message}`);
  }
}
