import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

const ecdsaWithSha256 = sequence(identifier('1.2.840.10045.4.3.2'));
const dayMs = 86_400_000;

/** Creates a key (ECDSA P-256). */
export function newKey(): KeyObject {
  return generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
}

/** Returns a key as PEM (PKCS #8). */
export function keyText(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString();
}

/** Returns the extension with the names of a certificate (RFC 5280 §4.2.1.6). */
function alternativeNames(domains: readonly string[]): Buffer {
  const names = domains.map((domain) => tagged(2, Buffer.from(domain, 'latin1'), false));
  return sequence(identifier('2.5.29.17'), octetString(sequence(...names)));
}

function encodePublicKey(key: KeyObject): Buffer {
  const { x, y } = key.export({ format: 'jwk' });
  const point = Buffer.concat([Buffer.from([4]), Buffer.from(x as string, 'base64url'), Buffer.from(y as string, 'base64url')]);
  return sequence(sequence(identifier('1.2.840.10045.2.1'), identifier('1.2.840.10045.3.1.7')), bitString(point));
}

function signed(content: Buffer, key: KeyObject): Buffer {
  return sequence(content, ecdsaWithSha256, bitString(sign('sha256', content, key)));
}

/** Creates a request for a certificate with these names and no subject, in DER (PKCS #10, RFC 2986). @param key an ECDSA P-256 key */
export function certificateRequest(domains: readonly string[], key: KeyObject): Buffer {
  const extensions = sequence(identifier('1.2.840.113549.1.9.14'), encodeSet(sequence(alternativeNames(domains))));
  return signed(sequence(integer(Buffer.from([0])), sequence(), encodePublicKey(key), tagged(0, extensions, true)), key);
}

/**
 * Creates a self-signed certificate and its key, as one PEM text.
 *
 * @param options.lastsDays days until the certificate expires
 * @param options.challengeDigest SHA-256 of a key authorization. With it, the certificate answers a TLS challenge (RFC 8737 §3)
 */
export function selfSignedCertificate(
  domains: readonly string[],
  { nowMs, lastsDays, challengeDigest }: { nowMs: number; lastsDays: number; challengeDigest?: Buffer },
): string {
  const key = newKey();
  const name = sequence(encodeSet(sequence(identifier('2.5.4.3'), utf8('svc, self-signed'))));
  const challenge = challengeDigest && sequence(identifier('1.3.6.1.5.5.7.1.31'), yes, octetString(octetString(challengeDigest)));
  const serial = Buffer.concat([Buffer.from([0x40]), randomBytes(15)]);
  const content = sequence(
    tagged(0, integer(Buffer.from([2])), true),
    integer(serial),
    ecdsaWithSha256,
    name,
    sequence(utcTime(nowMs - dayMs), utcTime(nowMs + lastsDays * dayMs)),
    name,
    encodePublicKey(key),
    tagged(3, sequence(alternativeNames(domains), ...(challenge ? [challenge] : [])), true),
  );
  const lines = signed(content, key)
    .toString('base64')
    .replace(/.{1,64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}-----END CERTIFICATE-----\n${keyText(key)}`;
}

/** The functions below encode DER (X.690), only as far as certificates and their requests need it. */

function element(tag: number, content: Buffer): Buffer {
  const { length } = content;
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content]);
  const size = Buffer.from(length.toString(16).padStart(length > 0xff ? 4 : 2, '0'), 'hex');
  return Buffer.concat([Buffer.from([tag, 0x80 | size.length]), size, content]);
}

export function sequence(...items: Buffer[]): Buffer {
  return element(0x30, Buffer.concat(items));
}

function encodeSet(item: Buffer): Buffer {
  return element(0x31, item);
}

/** Encodes a non-negative number. @param bytes the number, without leading zeros */
export function integer(bytes: Buffer): Buffer {
  return element(0x02, (bytes[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes);
}

export const yes = element(0x01, Buffer.from([0xff]));

function octetString(content: Buffer): Buffer {
  return element(0x04, content);
}

function bitString(content: Buffer): Buffer {
  return element(0x03, Buffer.concat([Buffer.from([0]), content]));
}

export function utf8(text: string): Buffer {
  return element(0x0c, Buffer.from(text));
}

/** Encodes an object identifier. @param dotted for example `2.5.29.17` */
export function identifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second, ...rest.flatMap(baseOf128)];
  return element(0x06, Buffer.from(bytes));
}

function baseOf128(value: number): number[] {
  const digits = [value % 128];
  for (let left = Math.floor(value / 128); left > 0; left = Math.floor(left / 128)) digits.unshift((left % 128) + 128);
  return digits;
}

/** Encodes a time as UTCTime, the form for years up to 2049 (RFC 5280 §4.1.2.5). @param ms Unix time in milliseconds */
function utcTime(ms: number): Buffer {
  const text = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  return element(0x17, Buffer.from(text.slice(2), 'latin1'));
}

/** Encodes a value with a context-specific tag. @param isWhole whether `content` includes the value's own tag (EXPLICIT) */
export function tagged(number: number, content: Buffer, isWhole: boolean): Buffer {
  return element((isWhole ? 0xa0 : 0x80) | number, content);
}
