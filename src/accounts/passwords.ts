import { hash as digest, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { type Clock, systemClock } from '../lib/clock.ts';
import { memoizeForTick } from '../lib/concurrency/event-loop.ts';
import { FairQueue } from '../lib/concurrency/fair-queue.ts';
import { ServiceError } from '../lib/errors.ts';
import { dropOldest } from '../lib/expiring-map.ts';
import { type ForeignHash, parseForeignHash } from './foreign-hashes.ts';
import { longestCredentialCharacters } from './user-names.ts';

/** The requirements for new passwords (`server.password_policy`). */
export interface PasswordPolicy {
  minimum_length: number;
  character_requirements: readonly string[];
  /** Number of former passwords that must not be used again. */
  history: number;
}

const characterClasses: Readonly<Record<string, RegExp>> = {
  lowercase: /\p{Ll}/u,
  uppercase: /\p{Lu}/u,
  digit: /\p{Nd}/u,
  symbol: /[^\p{L}\p{N}]/u,
};

/** Returns one sentence for each rule of the policy that a password does not meet. */
export function unmetRules(policy: PasswordPolicy, password: string): string[] {
  const unmet: string[] = [];
  if ([...password].length < policy.minimum_length) unmet.push(`The password must have at least ${policy.minimum_length} characters.`);
  for (const requirement of policy.character_requirements) {
    if (!characterClasses[requirement]?.test(password)) unmet.push(`The password must have at least one ${requirement} character.`);
  }
  return unmet;
}

/** Cost of a hash (RFC 7914). The memory is 128·2^ln·r bytes; the time is proportional to the memory and to p. */
export interface HashCost {
  /** Binary logarithm of the cost N. */
  ln: number;
  r: number;
  p: number;
}

/** A parsed `$scrypt$ln=…,r=…,p=…$salt$hash`. */
export interface PasswordHash extends HashCost {
  salt: Buffer;
  hash: Buffer;
}

/**
 * Cost of new hashes, one of several equally strong choices in OWASP's password storage cheat sheet. A hash of this cost needs 16 MiB, so
 * that a few concurrent logins fit into the memory of a small machine. It takes about 150 ms.
 */
const defaultCost: HashCost = { ln: 14, r: 8, p: 5 };

/** Maximum memory of one hash. */
const memoryLimitBytes = 256 * 1024 * 1024;
/** Largest product of N, r and p. A hash with this product takes about two seconds. */
const largestWork = 2 ** 23;
const saltBytes = 16;
const hashBytes = 32;

/**
 * Reads a password hash of any format that is accepted.
 *
 * @returns a hash of svc's own format, or of another system
 * @throws ServiceError `bad-request` if it is neither, or if its verification would cost too much
 */
export function parsePasswordHash(text: string): PasswordHash | ForeignHash {
  return parseForeignHash(text) ?? parseScryptHash(text);
}

/**
 * Reads a password hash of svc's own format.
 *
 * @throws ServiceError `bad-request` if it has another format, or if its verification would cost too much
 */
export function parseScryptHash(text: string): PasswordHash {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,3}),p=(\d{1,3})\$([A-Za-z0-9+/]{11,86})\$([A-Za-z0-9+/]{22,86})$/.exec(text);
  if (!match) throw new ServiceError('bad-request', 'is not a password hash; make one with "svc hash-password"');
  const [ln, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])];
  if (ln < 1 || r < 1 || p < 1 || 128 * 2 ** ln * r > memoryLimitBytes || 2 ** ln * r * p > largestWork) {
    throw new ServiceError('bad-request', 'is a password hash with a cost out of bounds');
  }
  return { ln, r, p, salt: Buffer.from(match[4] as string, 'base64'), hash: Buffer.from(match[5] as string, 'base64') };
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}

function derive(password: string, { ln, r, p, salt }: HashCost & { salt: Buffer }, lengthBytes: number): Promise<Buffer> {
  const options = { N: 2 ** ln, r, p, maxmem: memoryLimitBytes + 1024 * 1024 };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFC'), salt, lengthBytes, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}

/**
 * Whether a text can be a password (docs/spec/authentication.md#names-and-passwords). Texts with NUL or lone surrogates cannot, because
 * different passwords would have equal hashes: scrypt pads keys with zeros (HMAC, RFC 2104), so `pw` and `pw\0` have equal hashes, and
 * each lone surrogate is hashed as U+FFFD.
 */
export function isPassword(text: string): boolean {
  return text.length <= longestCredentialCharacters && text.isWellFormed() && !text.includes('\0');
}

/** Returns why a text cannot be a new password under any password policy; undefined if it can be one. */
export function newPasswordFault(password: string): string | undefined {
  if (password.length > longestCredentialCharacters)
    return `The password must not have more than ${longestCredentialCharacters} characters.`;
  if (/[\u0000-\u001f\u007f-\u009f]/.test(password) || !password.isWellFormed()) return 'The password must not have control characters.';
  return undefined;
}

/**
 * Hashes a password with a fresh salt.
 *
 * @returns `$scrypt$ln=…,r=…,p=…$salt$hash`
 * @throws ServiceError `bad-request` for a password that has a fault (`newPasswordFault`)
 */
export async function hashPassword(password: string, cost: HashCost = defaultCost): Promise<string> {
  const fault = newPasswordFault(password);
  if (fault !== undefined) throw new ServiceError('bad-request', fault);
  const salt = randomBytes(saltBytes);
  const hash = await derive(password, { ...cost, salt }, hashBytes);
  return `$scrypt$ln=${cost.ln},r=${cost.r},p=${cost.p}$${unpadded(salt)}$${unpadded(hash)}`;
}

/** Whether another system made a hash. @param text a hash that `parsePasswordHash` reads */
export function isForeignHash(text: string): boolean {
  return !text.startsWith('$scrypt$');
}

/** Compares a password with a hash, in constant time. */
export async function verifyPassword(password: string, text: string): Promise<boolean> {
  if (!isPassword(password)) return false;
  const parsed = parsePasswordHash(text);
  if ('format' in parsed) return verifyForeign(password, parsed);
  return timingSafeEqual(await derive(password, parsed, parsed.hash.length), parsed.hash);
}

/**
 * Tries two forms of the password: first as it was typed, which is the form that other systems hash, then the composed form, which svc
 * hashes.
 */
async function verifyForeign(password: string, hash: ForeignHash): Promise<boolean> {
  for (const form of new Set([password, password.normalize('NFC')])) if (await hash.verify(Buffer.from(form))) return true;
  return false;
}

/** Maximum number of concurrent verifications. Each of them occupies a thread, and as much memory as the hash needs. */
const maxAtOnce = 2;
/** Maximum numbers of waiting verifications, of one source and in all. Further clients are asked to try again later. */
const maxWaiting = { ofOne: 256, inAll: 4096 };
/** Maximum wait for a verification in milliseconds. */
export const longestVerificationMs = 60_000;
const maxRemembered = 1024;

/** Decides the place of a verification in the queue. */
export interface VerificationTurn {
  /** A source with many verifications delays only its own verifications, not those of other sources. */
  source: string;
  /** Whether the same credentials were accepted from this source recently. If so, the verification has priority. */
  isKnown: boolean;
}

/**
 * Verifies passwords, and remembers correct ones for clients that send them with every request. In place of a password, it stores one
 * digest, computed over the password, the account's password hash and a key of this process. The digest never leaves the process, so
 * SHA-256 is enough, and takes a third of the time of an HMAC. Wrong passwords are not remembered. Identical concurrent verifications share
 * one calculation.
 */
export class PasswordVerifier {
  readonly #key = randomBytes(32).toString('base64');
  readonly #digest = memoizeForTick((text) => digest('sha256', text, 'base64'));
  readonly #remembered = new Set<string>();
  readonly #running = new Map<string, Promise<boolean>>();
  readonly #dummySalt = randomBytes(saltBytes);
  readonly #turns = new FairQueue({ concurrency: maxAtOnce, maxWaitingPerParty: maxWaiting.ofOne, maxWaiting: maxWaiting.inAll });
  readonly #clock: Clock;

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** @throws ServiceError `unavailable` if too many verifications are already waiting, or this one waited too long */
  async verify(password: string, hash: string, turn: VerificationTurn): Promise<boolean> {
    const token = this.#tokenOf(hash, password);
    return this.#once(token, turn, async () => {
      const matches = await verifyPassword(password, hash);
      if (matches) this.#remember(token);
      return matches;
    });
  }

  /**
   * Does the same work as for a wrong password, so that the time of the answer does not reveal whether the name is known. The name selects
   * the cost, so that the times for unknown names vary like those for known ones.
   *
   * @param hashes the hashes of the known names
   * @throws the errors of `verify`
   */
  async verifyUnknown(username: string, password: string, hashes: readonly string[], turn: VerificationTurn): Promise<false> {
    await this.#once(this.#tokenOf(`unknown ${username}`, password), turn, async () => {
      const number = Number.parseInt(digest('sha256', `${this.#key}\0${username}`).slice(0, 12), 16);
      const known = hashes[number % hashes.length];
      const parsed = known === undefined ? defaultCost : parsePasswordHash(known);
      if ('format' in parsed) await verifyForeign(password, parsed);
      else await derive(password, { ...parsed, salt: this.#dummySalt }, hashBytes);
      return false;
    });
    return false;
  }

  async #once(token: string, turn: VerificationTurn, compute: () => Promise<boolean>): Promise<boolean> {
    const known = this.#known(token);
    if (known !== undefined) return known;
    const startedMs = this.#clock.monotonicMs();
    const end = await this.#turns.take(turn.source, turn.isKnown);
    // Another verification may have accepted the password meanwhile.
    const knownNow = this.#known(token);
    const isLate = this.#clock.monotonicMs() - startedMs > longestVerificationMs;
    if (knownNow !== undefined || isLate) end();
    if (knownNow !== undefined) return knownNow;
    if (isLate) throw new ServiceError('unavailable', 'There are too many logins at present; try again later.');
    const running = compute().finally(() => {
      this.#running.delete(token);
      end();
    });
    this.#running.set(token, running);
    return running;
  }

  #known(token: string): true | Promise<boolean> | undefined {
    if (!this.#remembered.delete(token)) return this.#running.get(token);
    this.#remembered.add(token);
    return true;
  }

  #tokenOf(hash: string, password: string): string {
    return this.#digest(`${this.#key}\0${hash}\0${password}`);
  }

  #remember(token: string): void {
    this.#remembered.add(token);
    dropOldest(this.#remembered, maxRemembered);
  }
}
