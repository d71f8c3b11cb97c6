import type { SshServiceOptions } from '../options.ts';

/** Exchanges of keys that a client begins before so much was sent and received are early; each costs as much as to send a megabyte. */
const bytesBetweenExchanges = 512 * 1024;
/** Early ones that a client may begin in a minute. */
const maxEarlyExchanges = 20;
const earlyWindowMs = 60_000;

/** When the keys of one connection are exchanged again: often enough by us, not too often by the client. */
export class KeyExchanges {
  readonly #options: Pick<SshServiceOptions, 'rekey_bytes' | 'rekey_seconds' | 'login_grace_time'>;
  /** When the last one was done, and how many bytes had gone both ways. */
  #last: { ms: number; bytes: number };
  #early = { count: 0, sinceMs: 0 };
  #underWaySinceMs: number | undefined;

  /** @param nowMs monotonic, as everywhere here */
  constructor(options: Pick<SshServiceOptions, 'rekey_bytes' | 'rekey_seconds' | 'login_grace_time'>, nowMs: number) {
    this.#options = options;
    this.#last = { ms: nowMs, bytes: 0 };
  }

  /** One is done. @param bytes sent and received so far */
  done(nowMs: number, bytes: number): void {
    this.#last = { ms: nowMs, bytes };
  }

  /** Counts one that began after the first; before `done`. @returns whether the client begins them too often */
  areTooMany(nowMs: number, bytes: number): boolean {
    if (bytes - this.#last.bytes >= bytesBetweenExchanges) return false;
    if (nowMs - this.#early.sinceMs > earlyWindowMs) this.#early = { count: 0, sinceMs: nowMs };
    return ++this.#early.count > maxEarlyExchanges;
  }

  /** Looks at whether one is under way. @returns whether it has been so for longer than a login may take */
  isOverdue(nowMs: number, isUnderWay: boolean): boolean {
    if (!isUnderWay) this.#underWaySinceMs = undefined;
    else this.#underWaySinceMs ??= nowMs;
    return nowMs - (this.#underWaySinceMs ?? nowMs) > this.#options.login_grace_time * 1000;
  }

  /** Whether it is time for one. */
  isDue(nowMs: number, bytes: number): boolean {
    const { rekey_bytes, rekey_seconds } = this.#options;
    return bytes - this.#last.bytes > rekey_bytes || nowMs - this.#last.ms > rekey_seconds * 1000;
  }
}
