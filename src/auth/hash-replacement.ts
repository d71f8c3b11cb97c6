import type { LocalAccount } from '../accounts/account.ts';
import type { AccountsFile } from '../accounts/accounts-file.ts';
import { hashPassword, isForeignHash, newPasswordFault, parsePasswordHash } from '../accounts/passwords.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';

/** Maximum number of accounts that wait for a new hash. Other accounts get their new hash at their next login. */
const maxWaiting = 1000;
/** Maximum number of new hashes in one write. They are collected, because each write replaces the whole file. */
const maxTogether = 50;
const pauseMs = 600_000;

/**
 * Replaces the hashes of other systems by hashes in svc's format, when a login has revealed the password. It works in the background, on
 * one password at a time.
 */
export class HashReplacement {
  readonly #accounts: AccountsFile;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #waiting = new Map<string, { hash: string; password: string }>();
  #running: Promise<void> | undefined;
  #pausedUntilMs = Number.NEGATIVE_INFINITY;

  constructor(accounts: AccountsFile, clock: Clock, log: Log) {
    this.#accounts = accounts;
    this.#clock = clock;
    this.#log = log;
  }

  /** Queues the hash of an account for replacement if another system created it. @param password the correct password */
  propose({ name, passwordHash }: LocalAccount, password: string): void {
    if (passwordHash === undefined || !isForeignHash(passwordHash) || this.#waiting.has(name)) return;
    if (this.#waiting.size >= maxWaiting || this.#clock.monotonicMs() < this.#pausedUntilMs) return;
    if (newPasswordFault(password) !== undefined || !countsWhole(password, passwordHash)) return;
    this.#waiting.set(name, { hash: passwordHash, password });
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  /** Drops the waiting replacements. Resolves when the running replacement has finished. */
  async end(): Promise<void> {
    this.#waiting.clear();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#waiting.size > 0) await this.#replaceSome();
    } catch (error) {
      this.#waiting.clear();
      this.#pausedUntilMs = this.#clock.monotonicMs() + pauseMs;
      this.#log.warn('password hashes of other systems cannot be replaced at present', { reason: error });
    }
  }

  async #replaceSome(): Promise<void> {
    const hashes = new Map<string, { from: string; to: string }>();
    for (const [name, { hash, password }] of this.#waiting) {
      hashes.set(name, { from: hash, to: await hashPassword(password) });
      if (hashes.size === maxTogether) break;
    }
    const accounts = await this.#accounts.replaceHashes(hashes);
    for (const name of hashes.keys()) this.#waiting.delete(name);
    if (accounts.length > 0) this.#log.info('password hashes of another system replaced', { accounts });
  }
}

/** Whether the hash covers the whole password. bcrypt ignores the end of a long password, so other passwords also match such a hash. */
function countsWhole(password: string, passwordHash: string): boolean {
  const parsed = parsePasswordHash(passwordHash);
  return !('format' in parsed) || Buffer.byteLength(password) <= parsed.countedBytes;
}
