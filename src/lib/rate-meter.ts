/** The part of the clock that is used here. Without `clock.ts`, scripts of pages can use this file, too. */
interface Clock {
  monotonicMs(): number;
  sleep(delayMs: number, signal?: AbortSignal): Promise<void>;
}

/** Counts occurrences that may be too frequent for one log line each. They are logged at most once per period, with their number. */
export class ThrottledCount {
  readonly #clock: Clock;
  readonly #everyMs: number;
  #count = 0;
  #reportedMs = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock, everyMs: number) {
    this.#clock = clock;
    this.#everyMs = everyMs;
  }

  /** Counts one occurrence. @returns the number of occurrences since the last report, including this one; undefined if no report is due */
  record(): number | undefined {
    this.#count++;
    const nowMs = this.#clock.monotonicMs();
    if (nowMs - this.#reportedMs < this.#everyMs) return undefined;
    const count = this.#count;
    this.#count = 0;
    this.#reportedMs = nowMs;
    return count;
  }
}

/** A maximum rate: on average `requests` in `seconds`, and up to `burst` requests at the same time. */
export interface Rate {
  requests: number;
  seconds: number;
  burst: number;
}

/** Enforces a rate (token bucket). Callers that arrive too early wait, in the order of their arrival. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #everyMs: number;
  readonly #burst: number;
  /** Number of available tokens. It is negative while callers wait. */
  #tokens: number;
  #atMs: number;

  constructor(clock: Clock, { requests, seconds, burst }: Rate) {
    this.#clock = clock;
    this.#everyMs = (seconds * 1000) / requests;
    this.#burst = burst;
    this.#tokens = burst;
    this.#atMs = clock.monotonicMs();
  }

  /** Resolves when the caller may continue. @throws the signal's reason if the signal aborts first */
  async take(signal?: AbortSignal): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#atMs) / this.#everyMs);
    this.#atMs = nowMs;
    this.#tokens -= 1;
    if (this.#tokens >= 0) return;
    try {
      await this.#clock.sleep(-this.#tokens * this.#everyMs, signal);
    } catch (error) {
      this.#tokens += 1;
      throw error;
    }
  }
}

const slotMs = 5000;
const slots = 12;

/** Counts how often something happened in the last minute. */
export class RateMeter {
  readonly #clock: Clock;
  readonly #counts = new Array<number>(slots).fill(0);
  #slot = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  count(): void {
    this.#forget();
    this.#counts[this.#slot % slots] = (this.#counts[this.#slot % slots] ?? 0) + 1;
  }

  /** Number of occurrences in the last 55 to 60 seconds. */
  get perMinute(): number {
    this.#forget();
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  #forget(): void {
    const now = Math.floor(this.#clock.monotonicMs() / slotMs);
    for (let slot = Math.max(this.#slot + 1, now - slots + 1); slot <= now; slot++) this.#counts[slot % slots] = 0;
    this.#slot = now;
  }
}

const windowSeconds = 8;

/** Measures the speed of transfers over the last seconds. */
export class Speed {
  #samples: { atMs: number; bytes: number }[] = [];

  /** @param bytes number of all bytes sent so far */
  note(bytes: number, atMs: number): void {
    // A file that is retried starts again, so the number of bytes decreases.
    if (bytes < (this.#samples.at(-1)?.bytes ?? 0)) this.#samples = [];
    this.#samples.push({ atMs, bytes });
    this.#samples = this.#samples.filter((sample) => sample.atMs > atMs - windowSeconds * 1000);
  }

  /** Number of bytes per second; undefined while too little is known. */
  get bytesPerSecond(): number | undefined {
    const [first] = this.#samples;
    const last = this.#samples.at(-1);
    if (!first || !last || last.atMs - first.atMs < 800) return undefined;
    return ((last.bytes - first.bytes) / (last.atMs - first.atMs)) * 1000;
  }
}
