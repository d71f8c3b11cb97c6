import { isUserName } from '../accounts/user-names.ts';
import type { Clock } from '../lib/clock.ts';
import { memoizeForTick } from '../lib/concurrency/event-loop.ts';
import { ServiceError } from '../lib/errors.ts';
import type { Log } from '../lib/log.ts';
import {
  type AddressBans,
  type Admission,
  type AttemptOutcome,
  attemptKey,
  attemptSource,
  type GuessRealm,
  type LoginAttempt,
  type Refusal,
} from './ban-list.ts';
import type { Credentials } from './credentials.ts';

/**
 * Maximum number of attempts that wait for a slot, from one source and from all sources together. Each running attempt takes a slot. With
 * `ban_after_failures: 10`, a source with 3 failures has 7 slots, because each running attempt could be a further failure.
 */
const maxWaitingPerSource = 256;
const maxWaiting = 10_000;

/**
 * Pause in milliseconds before the first waiting attempt asks again. Meanwhile, another process may have freed a slot. The pause grows from
 * `first` to `longest`.
 */
const askAgainMs = { first: 50, longest: 1000 };

type PresentedCredentials = Pick<Credentials, 'type' | 'username' | 'content'> & {
  address: string;
  realm?: GuessRealm | undefined;
};

/** An attempt that was admitted. */
export interface AdmittedAttempt {
  kind: 'admitted';
  /** Whether the same credentials were accepted from this address recently. */
  isKnown: boolean;
  /** Counts the outcome. @throws ServiceError `unavailable` if it cannot be counted */
  end(outcome: AttemptOutcome): Promise<void>;
}

interface Waiting {
  attempt: LoginAttempt;
  leaseMs: number;
  untilMs: number;
  resolve: (admission: Exclude<Admission, { kind: 'busy' }>) => void;
  reject: (error: unknown) => void;
}

interface Line {
  waiting: Waiting[];
  /** Makes the first waiting attempt ask again immediately. */
  wake: () => void;
}

/**
 * Admits login attempts in this process if `AddressBans` allows them. Attempts that wait for a slot of the same source are admitted in the
 * order of their arrival.
 */
export class LoginAttempts {
  readonly #bans: AddressBans;
  readonly #keyOf: (text: string) => string;
  readonly #clock: Clock;
  readonly #log: Log;
  /** Number of running attempts, by source and credentials. */
  readonly #running = new Map<string, number>();
  readonly #lines = new Map<string, Line>();
  #waiting = 0;

  constructor(bans: AddressBans, clock: Clock, log: Log) {
    this.#log = log;
    this.#bans = bans;
    this.#keyOf = memoizeForTick((text) => bans.keyFor(text));
    this.#clock = clock;
  }

  /**
   * Waits until credentials may be checked.
   *
   * @param longestMs maximum duration of the check in milliseconds, and also of the wait
   * @throws ServiceError `unavailable` if too many attempts are waiting, if this one waited too long, or if bans cannot be looked up
   */
  async begin(credentials: PresentedCredentials, longestMs: number): Promise<AdmittedAttempt | ({ kind: 'refused' } & Refusal)> {
    const { type, username, content, address, realm } = credentials;
    // Account names contain no slash, so a name with a prefix cannot belong to an account.
    const prefix = realm === undefined ? '' : `${realm}/`;
    const attempt = {
      source: attemptSource(address, realm),
      // No method is asked about an invalid name, so all invalid names are counted as one.
      username: `${prefix}${isUserName(username) ? username : ''}`,
      credential: this.#keyOf(JSON.stringify(['attempt', type, `${prefix}${username}`, content])),
    };
    const admission = await this.#admit(attempt, longestMs);
    if (admission.kind === 'refused') return admission;
    const key = attemptKey(attempt);
    this.#running.set(key, (this.#running.get(key) ?? 0) + 1);
    return { ...admission, end: (outcome) => this.#end(key, attempt, outcome) };
  }

  /**
   * Checks credentials, if the limits on guesses allow it for the address and the name (docs/spec/authentication.md#brute-force), and
   * counts the outcome.
   *
   * @param longestMs maximum duration of the check in milliseconds, and also of the wait
   * @param check checks the credentials
   * @param outcomeOf returns the outcome for the result of `check`; `unknown` counts neither as failure nor as success
   * @throws the errors of `begin` and of `check`; ServiceError `unavailable` if a failure cannot be counted
   */
  async counted<T>(
    credentials: PresentedCredentials,
    longestMs: number,
    check: (isKnown: boolean) => Promise<T>,
    outcomeOf: (result: T) => AttemptOutcome,
  ): Promise<{ kind: 'checked'; result: T; isKnown: boolean } | ({ kind: 'refused' } & Refusal)> {
    const attempt = await this.begin(credentials, longestMs);
    if (attempt.kind === 'refused') return attempt;
    const { isKnown } = attempt;
    let outcome: AttemptOutcome = 'unknown';
    try {
      const result = await check(isKnown);
      outcome = outcomeOf(result);
      return { kind: 'checked', result, isKnown };
    } finally {
      const counted = attempt.end(outcome);
      // A failure must be counted before the reply. If another outcome is not counted, the limits only become stricter.
      if (outcome === 'failed') await counted;
      else counted.catch((error) => this.#log.debug('the end of an attempt was not counted', { reason: error }));
    }
  }

  async #admit(attempt: LoginAttempt, leaseMs: number): Promise<Exclude<Admission, { kind: 'busy' }>> {
    const line = this.#lines.get(attempt.source);
    const admission = await this.#bans.begin(attempt, leaseMs, line === undefined);
    return admission.kind === 'busy' ? this.#wait(attempt, leaseMs) : admission;
  }

  async #end(key: string, attempt: LoginAttempt, outcome: AttemptOutcome): Promise<void> {
    const others = (this.#running.get(key) ?? 1) - 1;
    if (others > 0) this.#running.set(key, others);
    else this.#running.delete(key);
    // Identical attempts that run at the same time share one slot.
    if (outcome === 'unknown' && others > 0) return;
    await this.#bans.end(attempt, outcome);
    this.#lines.get(attempt.source)?.wake();
  }

  #wait(attempt: LoginAttempt, leaseMs: number): Promise<Exclude<Admission, { kind: 'busy' }>> {
    const line = this.#lines.get(attempt.source) ?? { waiting: [], wake: () => {} };
    if (line.waiting.length >= maxWaitingPerSource || this.#waiting >= maxWaiting) throw tooMany();
    return new Promise((resolve, reject) => {
      this.#waiting++;
      line.waiting.push({ attempt, leaseMs, untilMs: this.#clock.monotonicMs() + leaseMs, resolve, reject });
      if (this.#lines.has(attempt.source)) return;
      this.#lines.set(attempt.source, line);
      void this.#serve(attempt.source, line);
    });
  }

  async #serve(source: string, line: Line): Promise<void> {
    let pauseMs = askAgainMs.first;
    for (let first = line.waiting[0]; first; first = line.waiting[0]) {
      const woken = new Promise<void>((resolve) => {
        line.wake = resolve;
      });
      if (!(await this.#isServed(first))) {
        const timer = this.#clock.after(pauseMs, line.wake);
        await woken;
        timer.cancel();
        pauseMs = Math.min(pauseMs * 2, askAgainMs.longest);
        continue;
      }
      pauseMs = askAgainMs.first;
      line.waiting.shift();
      this.#waiting--;
    }
    this.#lines.delete(source);
  }

  async #isServed({ attempt, leaseMs, untilMs, resolve, reject }: Waiting): Promise<boolean> {
    try {
      const admission = await this.#bans.begin(attempt, leaseMs, true);
      if (admission.kind !== 'busy') resolve(admission);
      else if (this.#clock.monotonicMs() < untilMs) return false;
      else reject(tooMany());
    } catch (error) {
      reject(error);
    }
    return true;
  }
}

function tooMany(): ServiceError {
  return new ServiceError('unavailable', 'Too many logins from this address are waiting; try again later.');
}
