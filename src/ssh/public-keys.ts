import { clientSignatures, maxRsaBits, minRsaBits } from './algorithms.ts';

/** Encodes a `string` of the protocol: its length, followed by its bytes (RFC 4251 §5). */
export function sshString(content: string | Buffer): Buffer {
  const bytes = Buffer.from(content as string);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Reads up to `max` `string`s from the beginning of some bytes. @throws Error if one of them is cut off */
export function readStrings(bytes: Buffer, max = Number.POSITIVE_INFINITY): Buffer[] {
  const found: Buffer[] = [];
  for (let at = 0; at < bytes.length && found.length < max; ) {
    const end = bytes.length - at < 4 ? Number.POSITIVE_INFINITY : at + 4 + bytes.readUInt32BE(at);
    if (end > bytes.length) throw new Error('it is damaged');
    found.push(bytes.subarray(at + 4, end));
    at = end;
  }
  return found;
}

/** Encodes a positive number as an `mpint` (RFC 4251 §5). A leading zero byte keeps the number positive. */
export function toMpint(bytes: Buffer): Buffer {
  return (bytes[0] ?? 0) & 0x80 ? Buffer.concat([Buffer.from([0]), bytes]) : bytes;
}

/** Returns the number of bits of an `mpint`. */
export function bitLength(mpint: Buffer | undefined): number {
  const text = mpint?.toString('hex').replace(/^0+/, '') ?? '';
  return text === '' ? 0 : BigInt(`0x${text}`).toString(2).length;
}

const ecdsa = 'ecdsa-sha2-';
const ed25519Bytes = 32;
const pointBytes: Readonly<Record<string, number>> = { nistp256: 65, nistp384: 97, nistp521: 133 };

function isAccepted(type: string): boolean {
  return type === 'ssh-rsa' || clientSignatures.includes(type);
}

/**
 * Checks the type of a public key, and that the key is in canonical form (RFC 4253 §6.6, 5656 §3.1, 8709 §4). In any other form, a known
 * key would not be recognised.
 *
 * @returns the reason why nobody can log in with it; undefined for a valid key
 */
export function publicKeyFault(blob: Buffer): string | undefined {
  let fields: Buffer[];
  try {
    // Accepted keys have at most three fields. More are read, so that surplus fields are detected.
    fields = readStrings(blob, 5);
  } catch {
    return 'The key cannot be read.';
  }
  const [name = Buffer.alloc(0), ...values] = fields;
  const type = name.toString('latin1');
  if (!isAccepted(type)) return /^[\x20-\x7e]{1,64}$/.test(type) ? `Keys of type ${type} are refused.` : 'The key cannot be read.';
  if (type === 'ssh-rsa') return rsaFault(values);
  const isWhole = type === 'ssh-ed25519' ? values.length === 1 && values[0]?.length === ed25519Bytes : isPoint(type, values);
  return isWhole ? undefined : 'The key cannot be read.';
}

function rsaFault(values: readonly Buffer[]): string | undefined {
  const [exponent, modulus] = values;
  if (!exponent || !modulus || values.length !== 2 || !isPositive(exponent) || !isPositive(modulus)) return 'The key cannot be read.';
  if (bitLength(modulus) < minRsaBits) return `RSA keys need at least ${minRsaBits} bits.`;
  if (bitLength(modulus) > maxRsaBits) return `RSA keys must not have more than ${maxRsaBits} bits.`;
  // With an exponent of 1, any bytes would be a valid signature.
  return isOdd(modulus) && isOdd(exponent) && bitLength(exponent) > 1
    ? undefined
    : 'The RSA key is not valid: its modulus and exponent must be odd, and the exponent above 1.';
}

function isPoint(type: string, values: readonly Buffer[]): boolean {
  const [curve, point] = values;
  const name = curve?.toString('latin1') ?? '';
  return values.length === 2 && type === `${ecdsa}${name}` && point?.[0] === 4 && point.length === pointBytes[name];
}

/** Returns whether a number is greater than 0 and has no unnecessary leading bytes (RFC 4251 §5). */
function isPositive(mpint: Buffer): boolean {
  const [first = 0x80, second = 0] = mpint;
  return first < 0x80 && (first > 0 || second >= 0x80);
}

function isOdd(mpint: Buffer): boolean {
  return ((mpint.at(-1) ?? 0) & 1) === 1;
}

/** Checks a line of `ssh_keys`. @returns the reason why it cannot be used over SSH; undefined for a valid line */
export function keyLineFault(line: string): string | undefined {
  const [, type = '', blob = ''] = /^((?:ssh-|ecdsa-|sk-)\S+) +([A-Za-z0-9+/]+={0,2})( .*)?$/.exec(line.trim()) ?? [];
  if (type === '') return 'is not an OpenSSH public key ("ssh-ed25519 AAAA…")';
  if (!isAccepted(type)) return `is a key of type ${type}, which ssh services refuse`;
  const bytes = Buffer.from(blob, 'base64');
  if (bytes.toString('latin1', 4, 4 + type.length) !== type) return `is damaged: the text after "${type}" is not a key of this type`;
  const fault = publicKeyFault(bytes);
  return fault === undefined ? undefined : `is a key that ssh services refuse: ${fault}`;
}
