import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { memoizeForTick } from './concurrency/event-loop.ts';

/** The kinds of secrets, by the letter in their prefix. `svc_t_…` is an access token, and `svc_l_…` is the secret of a link. */
const kinds = { t: 'token', l: 'link' } as const;
export type SecretKind = (typeof kinds)[keyof typeof kinds];

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Number of base62 digits for 256 bits, and for a CRC-32. */
const [secretDigits, checksumDigits] = [43, 6];

const wholeSecret = /^svc_[tl]_[0-9A-Za-z]{49}$/;
const anySecret = /\bsvc_([tl])_[0-9A-Za-z]{49}\b/g;

export type ReadSecret =
  /** `hash` is the SHA-256 of the secret in base64url. Only this hash is stored. */
  | { kind: SecretKind; hash: string }
  /** The text has the form of a secret, but its checksum is wrong, so it was probably mistyped. */
  | 'mistyped';

/** Creates a secret of 256 random bits, followed by a CRC-32 of everything before it (docs/spec/tokens.md#form). */
export function makeSecret(kind: SecretKind): { secret: string; hash: string } {
  const value = BigInt(`0x${randomBytes(32).toString('hex')}`);
  const body = `svc_${kind === 'token' ? 't' : 'l'}_${base62(value, secretDigits)}`;
  const secret = body + checksum(body);
  return { secret, hash: hashSecret(secret) };
}

/** Parses a text that may be a secret, without a lookup in a store. @returns undefined for a text without the form of a secret */
export function readSecret(text: string): ReadSecret | undefined {
  if (!hasSecretForm(text)) return undefined;
  const body = text.slice(0, -checksumDigits);
  if (checksum(body) !== text.slice(-checksumDigits)) return 'mistyped';
  return { kind: kinds[text[4] as keyof typeof kinds], hash: hashSecret(text) };
}

/**
 * Returns whether a text has the form of a secret. Such a text must not be hashed as a password, or sent to a callout (a remote endpoint
 * that checks passwords).
 */
export function hasSecretForm(text: string): boolean {
  return text.length === 55 && wholeSecret.test(text);
}

/** Masks the secrets in a text. */
export function maskSecrets(text: string): string {
  return text.includes('svc_') ? text.replace(anySecret, 'svc_$1_***') : text;
}

/** Returns the SHA-256 of a secret. Stores find the secret by this hash. */
export const hashSecret = memoizeForTick((secret) => hash('sha256', secret, 'base64url'));

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), checksumDigits);
}

function base62(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest /= 62n) text = (alphabet[Number(rest % 62n)] as string) + text;
  return text;
}
