import { createHash, pbkdf2, timingSafeEqual } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { gunzipSync } from 'node:zlib';
import program from 'svc:password-worker';
import { systemClock } from '../lib/clock.ts';
import { ServiceError } from '../lib/errors.ts';
import type { ThreadFamily, VerificationTask } from './password-worker.ts';

/** A password hash that another system created. */
export interface ForeignHash {
  /** Name of the format for messages, such as `bcrypt`. */
  readonly format: string;
  /** Why the hash is weak and should be replaced soon; undefined if it is not weak. */
  readonly weakness: string | undefined;
  /** Number of bytes of a password that the hash takes into account. bcrypt ignores all bytes after the 72nd. */
  readonly countedBytes: number;
  /** Whether the hash belongs to this password (in UTF-8). If the computation takes long, it runs on another thread. */
  verify(password: Buffer): Promise<boolean>;
}

/** A format of hashes. The functions get `parts`, the capturing groups of `pattern`. */
interface Format {
  name: string;
  pattern: RegExp;
  /**
   * Describes the parameters of a hash that needs too much work, or whose parameters are not valid; undefined for any other hash. The
   * limits correspond to about two seconds on one core of a small machine.
   */
  excess?: (parts: string[]) => string | undefined;
  weakness?: (parts: string[]) => string | undefined;
  countedBytes?: number;
  verify: (password: Buffer, hash: string, parts: string[]) => Promise<boolean>;
}

const largestBcryptCost = 14;
const largestShaRounds = 300_000;
const largestIterations = 2_000_000;
/** Limit for Argon2: memory in KiB times number of passes. */
const largestArgonWork = 800 * 1024;
/** Limit for Argon2: memory in KiB. */
const largestArgonMemory = 256 * 1024;

/**
 * A hash that costs less than these values gives a warning. OWASP's cheat sheet recommends higher values, which would also give a warning
 * for the hashes that other systems made by default in the last ten years.
 */
const fairBcryptCost = 10;
const fairShaRounds = 5000;
const fairIterations = 100_000;
const fairArgonMemory = 7 * 1024;

const above = (value: number, limit: number, unit: string) =>
  value > limit ? `${value} ${unit}; more than ${limit} take over two seconds` : undefined;
const below = (value: number, limit: number, unit: string) => (value < limit ? `${value} ${unit}, fewer than ${limit}` : undefined);
const inThread = (family: ThreadFamily) => (password: Buffer, hash: string) => askThread({ family, password, hash });

const formats: readonly Format[] = [
  {
    name: 'bcrypt',
    pattern: /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/,
    excess: ([cost]) => above(2 ** Number(cost), 2 ** largestBcryptCost, 'rounds') ?? below(2 ** Number(cost), 16, 'rounds'),
    weakness: ([cost]) => (Number(cost) < fairBcryptCost ? `its cost is ${Number(cost)}, less than ${fairBcryptCost}` : undefined),
    countedBytes: 72,
    verify: inThread('bcrypt'),
  },
  {
    name: 'SHA-crypt',
    pattern:
      /^\$(?:5\$(?:rounds=(\d{1,9})\$)?[./A-Za-z0-9]{0,16}\$[./A-Za-z0-9]{43}|6\$(?:rounds=(\d{1,9})\$)?[./A-Za-z0-9]{0,16}\$[./A-Za-z0-9]{86})$/,
    excess: (parts) => above(shaRounds(parts), largestShaRounds, 'rounds'),
    weakness: (parts) => below(shaRounds(parts), fairShaRounds, 'rounds'),
    verify: inThread('sha-crypt'),
  },
  {
    name: 'Argon2',
    pattern: /^\$argon2id?\$v=19\$m=(\d{1,8}),t=(\d{1,5}),p=(\d{1,3})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/,
    excess: ([m, t, p]) => {
      const [memory, passes, lanes] = [Number(m), Number(t), Number(p)];
      if (passes < 1 || lanes < 1 || memory < 8 * lanes) return 'parameters with values that Argon2 does not allow';
      return above(memory, largestArgonMemory, 'KiB of memory') ?? above(memory * passes, largestArgonWork, 'KiB of memory times passes');
    },
    weakness: ([m]) => below(Number(m), fairArgonMemory, 'KiB of memory'),
    verify: inThread('argon2'),
  },
  {
    name: 'PBKDF2',
    pattern:
      /^(?:\$pbkdf2-(b64salt-)?(sha1|sha256|sha512)|pbkdf2_(sha1|sha256))\$(\d{1,9})\$([!-#%-~]{1,128})\$([A-Za-z0-9+/]{16,120}={0,2})$/,
    excess: ([, , , iterations]) =>
      above(Number(iterations), largestIterations, 'iterations') ?? below(Number(iterations), 1, 'iterations'),
    weakness: ([, , , iterations]) => below(Number(iterations), fairIterations, 'iterations'),
    verify: async (password, _, [isBase64, modular, django, iterations, salt = '', hash = '']) =>
      verifyPbkdf2(password, {
        digest: modular || django || '',
        iterations: Number(iterations),
        salt: Buffer.from(salt, isBase64 ? 'base64' : 'utf8'),
        hash: Buffer.from(hash, 'base64'),
      }),
  },
  {
    name: 'MD5-crypt',
    pattern: /^\$(?:1|apr1)\$[./A-Za-z0-9]{1,8}\$[./A-Za-z0-9]{22}$/,
    weakness: () => '1,000 rounds of MD5',
    verify: inThread('md5-crypt'),
  },
  {
    name: 'SSHA',
    pattern: /^\{SSHA\}([A-Za-z0-9+/]{32,128}={0,2})$/,
    weakness: () => 'one round of SHA-1',
    verify: async (password, _, [content]) => verifySha1(password, content),
  },
  {
    name: 'SHA-1',
    pattern: /^\{SHA\}([A-Za-z0-9+/]{27}=)$/,
    weakness: () => 'one round of SHA-1 without salt',
    verify: async (password, _, [content]) => verifySha1(password, content),
  },
];

/** Known formats that svc cannot verify. */
const unsupported: readonly [RegExp, string][] = [
  [/^\$y\$|^\$gy\$/, 'yescrypt'],
  [/^\$7\$/, 'the scrypt of crypt(3)'],
  [/^\$argon2/, 'this variant of Argon2'],
  [/^\$2x?\$/, 'this variant of bcrypt'],
  [/^\$(?:sha1|md5|3)\b/, 'this format of crypt(3)'],
  [/^(?:_[./A-Za-z0-9]{19}|[./A-Za-z0-9]{13})$/, 'DES'],
  [/^\{(?:MD5|SMD5|SHA256|SHA512|SSHA256|SSHA512|CRYPT|PBKDF2[^}]*)\}/i, 'this format of LDAP'],
];

function shaRounds([of5, of6]: string[]): number {
  // crypt(3) takes at least 1,000 rounds, even if the hash says fewer.
  return Math.max(1000, Number(of5 || of6 || 5000));
}

/**
 * Parses a password hash that another system created.
 *
 * @returns undefined when the format is unknown
 * @throws ServiceError `bad-request` when svc knows the format but cannot verify it, or when the verification would take over two seconds
 */
export function parseForeignHash(text: string): ForeignHash | undefined {
  for (const { name: format, pattern, excess, weakness, countedBytes = Number.POSITIVE_INFINITY, verify } of formats) {
    const match = pattern.exec(text);
    if (!match) continue;
    const parts = match.slice(1).map((part) => part ?? '');
    const fault = excess?.(parts);
    if (fault !== undefined) throw new ServiceError('bad-request', `is a hash of ${format} that svc does not verify: it has ${fault}`);
    return { format, weakness: weakness?.(parts), countedBytes, verify: (password) => verify(password, text, parts) };
  }
  const known = unsupported.find(([pattern]) => pattern.test(text))?.[1];
  if (known === undefined) return undefined;
  const remedy = 'set a new password ("svc hash-password"), or let an authentication callout ask the old system';
  throw new ServiceError('bad-request', `is a hash of ${known}, which svc cannot verify; ${remedy}`);
}

interface Pbkdf2Hash {
  digest: string;
  iterations: number;
  salt: Buffer;
  hash: Buffer;
}

function verifyPbkdf2(password: Buffer, { digest, iterations, salt, hash }: Pbkdf2Hash): Promise<boolean> {
  return new Promise((resolve, reject) => {
    pbkdf2(password, salt, iterations, hash.length, digest, (error, key) => (error ? reject(error) : resolve(timingSafeEqual(key, hash))));
  });
}

/** Compares a password with `{SHA}` or `{SSHA}`. @param content base64 of the SHA-1 of password and salt, followed by the salt (if any) */
function verifySha1(password: Buffer, content = ''): boolean {
  const bytes = Buffer.from(content, 'base64');
  const digest = createHash('sha1').update(password).update(bytes.subarray(20)).digest();
  return timingSafeEqual(digest, bytes.subarray(0, 20));
}

/** Time in milliseconds after which a thread is stopped if it has not answered. */
const threadTimeMs = 30_000;

let source: string | undefined;

function askThread(task: VerificationTask): Promise<boolean> {
  source ??= gunzipSync(Buffer.from(program.packed(), 'base64')).toString();
  // The thread only computes, so it gets neither the options nor the environment of the process.
  const worker = new Worker(source, { eval: true, workerData: task, execArgv: [], env: {} });
  const late = new ServiceError('unavailable', 'A password took too long to verify.');
  return new Promise<boolean>((resolve, reject) => {
    const timer = systemClock.after(threadTimeMs, () => reject(late));
    worker.once('message', (answer) => resolve(answer === true));
    worker.once('error', reject);
    worker.once('exit', () => {
      timer.cancel();
      reject(new ServiceError('unavailable', 'The thread that verifies a password ended.'));
    });
  }).finally(() => worker.terminate());
}
