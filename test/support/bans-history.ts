import assert from 'node:assert/strict';
import fc from 'fast-check';
import { type Admission, foldedName, type LoginAttempt, type SecurityPolicy } from '../../src/auth/ban-list.ts';
import { MemoryBans } from '../../src/state/memory/bans.ts';
import { ManualClock } from './manual-clock.ts';

const leaseMs = 50_000;

type Step = { attempt: LoginAttempt; does: 'begin' | 'failed' | 'succeeded' | 'unknown' } | { waitMs: number };

/** Generates the steps of several guessers. @param passwords number of different passwords that they try; with few, a password often recurs */
function stepsOf(sources: readonly string[], passwords: number): fc.Arbitrary<Step> {
  const attempts = fc
    .record({ source: fc.constantFrom(...sources), username: fc.constantFrom('alice', 'ALICE', 'bob'), password: fc.nat(passwords - 1) })
    .map(({ source, username, password }): LoginAttempt => ({ source, username, credential: `${username}/${password}` }));
  const endings = fc.constantFrom('failed' as const, 'failed' as const, 'failed' as const, 'succeeded' as const, 'unknown' as const);
  return fc.oneof(
    { weight: 6, arbitrary: fc.record({ attempt: attempts, does: fc.constant('begin' as const) }) },
    { weight: 8, arbitrary: fc.record({ attempt: attempts, does: endings }) },
    { weight: 2, arbitrary: fc.record({ waitMs: fc.constantFrom(1, 1000, 20_000, 35_000, 60_000) }) },
  );
}

/** Decides about login attempts according to docs/spec/authentication.md#brute-force, using only the history of attempts. */
class History {
  readonly #policy: SecurityPolicy;
  #failures: { attempt: LoginAttempt; atMs: number; isSpent: boolean }[] = [];
  #underWay: { attempt: LoginAttempt; untilMs: number }[] = [];
  #underWayOfName: { attempt: LoginAttempt; untilMs: number }[] = [];
  #failuresOfName: { attempt: LoginAttempt; atMs: number }[] = [];
  #successes: { attempt: LoginAttempt; atMs: number }[] = [];
  readonly #bans = new Map<string, number>();

  constructor(policy: SecurityPolicy) {
    this.#policy = policy;
  }

  expected(attempt: LoginAttempt, nowMs: number): Admission['kind'] | 'known' {
    if ((this.#bans.get(attempt.source) ?? 0) > nowMs) return 'refused';
    if (this.#isKnown(attempt, nowMs)) return 'known';
    const ofName = this.#ofName(attempt, nowMs);
    const isMetBefore = this.#successes.some((one) => one.attempt.source === attempt.source && one.attempt.username === attempt.username);
    if (!ofName.has(attempt.credential) && !isMetBefore && ofName.size >= 10) return 'refused';
    const ofSource = this.#ofSource(attempt.source, nowMs);
    return ofSource.has(attempt.credential) || ofSource.size < this.#policy.ban_after_failures ? 'admitted' : 'busy';
  }

  begun(attempt: LoginAttempt, nowMs: number): void {
    const lease = { attempt, untilMs: nowMs + leaseMs };
    if (!this.#ofSource(attempt.source, nowMs).has(attempt.credential)) this.#underWay.push(lease);
    if (!this.#ofName(attempt, nowMs).has(attempt.credential)) this.#underWayOfName.push(lease);
  }

  ended(attempt: LoginAttempt, does: 'failed' | 'succeeded' | 'unknown', nowMs: number): void {
    const isSame = (other: LoginAttempt) => other.source === attempt.source && other.credential === attempt.credential;
    this.#underWay = this.#underWay.filter((one) => !isSame(one.attempt));
    this.#underWayOfName = this.#underWayOfName.filter((one) => one.attempt.credential !== attempt.credential);
    if (does === 'succeeded') {
      this.#failures = this.#failures.map((one) =>
        one.attempt.source === attempt.source && one.attempt.username === attempt.username ? { ...one, isSpent: true } : one,
      );
      this.#successes.push({ attempt, atMs: nowMs });
    }
    if (does !== 'failed') return;
    this.#successes = this.#successes.map((one) => (isSame(one.attempt) ? { ...one, atMs: Number.NEGATIVE_INFINITY } : one));
    if (!this.#ofName(attempt, nowMs).has(attempt.credential)) this.#failuresOfName.push({ attempt, atMs: nowMs });
    this.#failures.push({ attempt, atMs: nowMs, isSpent: this.#failed(attempt.source, nowMs).has(attempt.credential) });
    if (this.#failed(attempt.source, nowMs).size < this.#policy.ban_after_failures) return;
    this.#bans.set(attempt.source, nowMs + this.#policy.ban_seconds * 1000);
    this.#failures = this.#failures.map((one) => (one.attempt.source === attempt.source ? { ...one, isSpent: true } : one));
  }

  /** Returns the number of different credentials of a source that failed, or may still fail. */
  mayHaveFailed(source: string, nowMs: number): number {
    return this.#ofSource(source, nowMs).size;
  }

  #isKnown(attempt: LoginAttempt, nowMs: number): boolean {
    const mine = this.#successes.filter(
      (one) =>
        one.attempt.source === attempt.source && one.attempt.credential === attempt.credential && one.atMs !== Number.NEGATIVE_INFINITY,
    );
    return mine.some(({ atMs }) => nowMs - atMs < this.#policy.ban_window_seconds * 1000);
  }

  #failed(source: string, nowMs: number): Set<string> {
    const mine = this.#failures.filter((one) => one.attempt.source === source && !one.isSpent);
    return new Set(mine.filter(({ atMs }) => nowMs - atMs < this.#policy.ban_window_seconds * 1000).map((one) => one.attempt.credential));
  }

  #ofSource(source: string, nowMs: number): Set<string> {
    const underWay = this.#underWay.filter((one) => one.attempt.source === source && one.untilMs > nowMs);
    return new Set([...this.#failed(source, nowMs), ...underWay.map((one) => one.attempt.credential)]);
  }

  #ofName({ username }: LoginAttempt, nowMs: number): Set<string> {
    const isOfName = (one: { attempt: LoginAttempt }) => foldedName(one.attempt.username) === foldedName(username);
    const failed = this.#failuresOfName.filter((one) => isOfName(one) && nowMs - one.atMs < 60_000);
    const underWay = this.#underWayOfName.filter((one) => isOfName(one) && one.untilMs > nowMs);
    return new Set([...failed, ...underWay].map((one) => one.attempt.credential));
  }
}

/**
 * Asserts that bans decide as the history of attempts requires.
 *
 * @param limit number of failures until a ban
 * @param runs number of histories to try; every run of the test tries the same ones
 */
async function assertAsHistorySays(steps: fc.Arbitrary<Step>, limit: number, runs: number): Promise<void> {
  const policy = { ban_after_failures: limit, ban_seconds: 40, ban_window_seconds: 90 };
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 20, maxLength: 250, size: 'max' }), async (history) => {
      const clock = new ManualClock();
      const bans = new MemoryBans(clock, () => policy);
      const model = new History(policy);
      const underWay: { attempt: LoginAttempt; hasSlotUntilMs: number }[] = [];
      // Two kinds of failed checks may exceed the limit: those that outlasted their slot, and those of known credentials, which get no slot.
      let isBounded = true;
      for (const step of history) {
        const nowMs = clock.nowMs();
        if ('waitMs' in step) {
          clock.advance(step.waitMs);
          continue;
        }
        if (step.does !== 'begin') {
          const ended = underWay.shift();
          if (!ended) continue;
          const { attempt, hasSlotUntilMs } = ended;
          isBounded &&= step.does !== 'failed' || hasSlotUntilMs > nowMs;
          model.ended(attempt, step.does, nowMs);
          await bans.end(attempt, step.does);
          continue;
        }
        const { attempt } = step;
        const isOfOne = underWay.some((one) => one.attempt.source === attempt.source && one.attempt.credential === attempt.credential);
        if (isOfOne) continue;
        const expected = model.expected(attempt, nowMs);
        const admission = await bans.begin(attempt, leaseMs, true);
        const kind = admission.kind === 'admitted' && admission.isKnown ? 'known' : admission.kind;
        assert.equal(kind, expected, JSON.stringify(step));
        if (admission.kind !== 'admitted') continue;
        if (kind === 'admitted') model.begun(attempt, nowMs);
        underWay.push({ attempt, hasSlotUntilMs: kind === 'known' ? nowMs : nowMs + leaseMs });
        if (isBounded) assert.ok(model.mayHaveFailed(attempt.source, nowMs) <= policy.ban_after_failures);
      }
    }),
    { numRuns: runs, seed: 7 },
  );
}

/** Checks bans of addresses. */
export const assertBansOfAddresses = (runs: number) => assertAsHistorySays(stepsOf(['a', 'b'], 3), 4, runs);

/** Checks limits of names. */
export const assertLimitsOfNames = (runs: number) => assertAsHistorySays(stepsOf(['a', 'b', 'c', 'd', 'e'], 9), 12, runs);
