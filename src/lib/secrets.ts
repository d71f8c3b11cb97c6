import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { memoizeForTick } from './concurrency/event-loop.ts';

/** By the letter in the prefix: `svc_t_…` is an access token, `svc_l_…` the secret of a link. */
const kinds = { t: 'token', l: 'link' } as const;
export type SecretKind = (typeof kinds)[keyof typeof kinds];

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Number of base62 digits for 256 bits, and for a CRC-32. */
const [secretDigits, checksumDigits] = [43, 6];

const wholeSecret = /^svc_[tl]_[0-9A-Za-z]{49}$/;
const anySecret = /\bsvc_([tl])_[0-9A-Za-z]{49}\b/g;

export type ReadSecret =
  /** `hash` is the SHA-256 in base64url. Only it is stored. */
  | { kind: SecretKind; hash: string }
  /** The checksum is wrong. */
  | 'mistyped';

/** Creates a secret of 256 random bits, with a CRC-32 (docs/spec/tokens.md#form). */
export function makeSecret(kind: SecretKind): { secret: string; hash: string } {
  const value = BigInt(`0x${randomBytes(32).toString('hex')}`);
  const body = `svc_${kind === 'token' ? 't' : 'l'}_${base62(value, secretDigits)}`;
  const secret = body + checksum(body);
  return { secret, hash: hashSecret(secret) };
}

/** Parses a text without a lookup. @returns undefined without the form of a secret */
export function readSecret(text: string): ReadSecret | undefined {
  if (!hasSecretForm(text)) return undefined;
  const body = text.slice(0, -checksumDigits);
  if (checksum(body) !== text.slice(-checksumDigits)) return 'mistyped';
  return { kind: kinds[text[4] as keyof typeof kinds], hash: hashSecret(text) };
}

/** Whether a text has the form of a secret. It must not be hashed as a password, or sent to a callout. */
export function hasSecretForm(text: string): boolean {
  return text.length === 55 && wholeSecret.test(text);
}

/** Masks the secrets in a text. */
export function maskSecrets(text: string): string {
  return text.includes('svc_') ? text.replace(anySecret, 'svc_$1_***') : text;
}

/** Returns the SHA-256 by which stores find a secret. */
export const hashSecret = memoizeForTick((secret) => hash('sha256', secret, 'base64url'));

function checksum(body: string): string {
  return base62(BigInt(crc32(body)), checksumDigits);
}

function base62(value: bigint, digits: number): string {
  let text = '';
  for (let rest = value; text.length < digits; rest /= 62n) text = (alphabet[Number(rest % 62n)] as string) + text;
  return text;
}
