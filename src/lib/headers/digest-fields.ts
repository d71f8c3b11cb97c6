import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../errors.ts';

export interface ExpectedDigest {
  /** The header that announced the digest. */
  field: string;
  algorithm: 'md5' | 'sha1' | 'sha256' | 'sha512' | 'adler32';
  expected: Buffer;
}

/** Calculates digests while content arrives, and compares them with the announced digests. */
export interface DigestVerifier {
  update(chunk: Buffer): void;
  /** Returns the header whose digest does not match; undefined if all match. Call it once, at the end. */
  mismatch(): string | undefined;
}

type Algorithm = ExpectedDigest['algorithm'];
// These are Maps, because a lookup in an object would also find inherited names such as "constructor".
const dictionaryAlgorithms = new Map<string, Algorithm>([
  ['sha-256', 'sha256'],
  ['sha-512', 'sha512'],
]);
const ownCloudAlgorithms = new Map<string, Algorithm>(
  (['md5', 'sha1', 'sha256', 'adler32'] as const).map((algorithm) => [algorithm.toUpperCase(), algorithm]),
);
const digestBytes = { md5: 16, sha1: 20, sha256: 32, sha512: 64, adler32: 4 } as const;

/**
 * Reads the digests that a request announces in `Content-MD5` (RFC 1864), `Content-Digest` and `Repr-Digest` (RFC 9530), and `OC-Checksum`
 * (ownCloud). For RFC 9530, only sha-256 and sha-512 are supported. Other algorithms are ignored.
 *
 * @throws ServiceError `bad-request` if a digest is malformed
 */
export function parseExpectedDigests(headers: {
  'content-md5'?: string | undefined;
  'content-digest'?: string | undefined;
  'repr-digest'?: string | undefined;
  'oc-checksum'?: string | undefined;
}): ExpectedDigest[] {
  const md5 = headers['content-md5'];
  return [
    ...(md5 === undefined ? [] : [announced('Content-MD5', 'md5', fromBase64('Content-MD5', md5.trim()))]),
    ...dictionaryDigests('Content-Digest', headers['content-digest']),
    ...dictionaryDigests('Repr-Digest', headers['repr-digest']),
    ...ownCloudDigests(headers['oc-checksum']),
  ];
}

function dictionaryDigests(field: string, text: string | undefined): ExpectedDigest[] {
  if (text === undefined) return [];
  return text.split(',').flatMap((member) => {
    const match = /^\s*([a-z*][a-z0-9_.*-]*)\s*=\s*:([A-Za-z0-9+/=]*):\s*(;.*)?$/.exec(member);
    if (!match) throw malformed(field);
    const algorithm = dictionaryAlgorithms.get(match[1] as string);
    return algorithm === undefined ? [] : [announced(field, algorithm, fromBase64(field, match[2] as string))];
  });
}

function ownCloudDigests(text: string | undefined): ExpectedDigest[] {
  if (text === undefined) return [];
  return text
    .trim()
    .split(/\s+/)
    .flatMap((item) => {
      const match = /^([A-Z0-9]+):([0-9a-f]+)$/i.exec(item);
      if (!match) throw malformed('OC-Checksum');
      const algorithm = ownCloudAlgorithms.get((match[1] as string).toUpperCase());
      return algorithm === undefined ? [] : [announced('OC-Checksum', algorithm, Buffer.from(match[2] as string, 'hex'))];
    });
}

function announced(field: string, algorithm: Algorithm, expected: Buffer): ExpectedDigest {
  if (expected.length !== digestBytes[algorithm]) throw malformed(field);
  return { field, algorithm, expected };
}

function fromBase64(field: string, text: string): Buffer {
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text)) throw malformed(field);
  return Buffer.from(text, 'base64');
}

function malformed(field: string): ServiceError {
  return new ServiceError('bad-request', `The ${field} header is malformed.`);
}

/** Creates a verifier for announced digests. */
export function createDigestVerifier(digests: readonly ExpectedDigest[]): DigestVerifier {
  const running = digests.map((digest) => ({
    ...digest,
    hash: digest.algorithm === 'adler32' ? new Adler32() : createHash(digest.algorithm),
  }));
  return {
    update(chunk) {
      for (const { hash } of running) hash.update(chunk);
    },
    mismatch() {
      return running.find(({ hash, expected }) => !timingSafeEqual(hash.digest(), expected))?.field;
    },
  };
}

/** Calculates Adler-32 (RFC 1950 §8.2), which node:crypto does not offer. */
class Adler32 {
  #a = 1;
  #b = 0;

  update(chunk: Buffer): void {
    // After at most 3800 additions, both sums are still below 2^31.
    for (let start = 0; start < chunk.length; start += 3800) {
      const end = Math.min(start + 3800, chunk.length);
      for (let index = start; index < end; index++) {
        this.#a += chunk[index] as number;
        this.#b += this.#a;
      }
      this.#a %= 65521;
      this.#b %= 65521;
    }
  }

  digest(): Buffer {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(((this.#b << 16) | this.#a) >>> 0);
    return bytes;
  }
}

/** Whether `Want-Repr-Digest` asks for sha-256 with a weight above 0 (RFC 9530 §4). */
export function wantsReprDigest(header: string | undefined): boolean {
  const weight = header === undefined ? undefined : /(?:^|,)\s*sha-256\s*(?:=\s*(\d+)\s*)?(?:,|;|$)/.exec(header);
  return weight !== undefined && weight !== null && weight[1] !== '0';
}

/** Writes a SHA-256 digest as the value of `Repr-Digest` (RFC 9530 §3). */
export function formatReprDigest(sha256: Buffer): string {
  return `sha-256=:${sha256.toString('base64')}:`;
}
