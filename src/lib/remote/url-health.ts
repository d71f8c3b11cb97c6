import type { Clock } from '../clock.ts';

/** Time in milliseconds for which a failing URL is suspended if there are other URLs (docs/spec/delivery.md#several-urls). */
export const suspensionMs = 300_000;

/**
 * Knows which of several URLs fail. One implementation keeps the suspensions in memory (below). Another one keeps them in Redis, for
 * several nodes.
 */
export interface UrlHealth {
  /** Returns the URLs that are not suspended, in the given order. */
  available(urls: readonly string[]): Promise<string[]>;
  suspend(url: string): Promise<void>;
  /** Returns the number of URLs that this process suspended and that are still suspended. */
  countSuspended(): number;
}

export interface Suspension {
  url: string;
  /** End of the suspension, Unix time in milliseconds. */
  untilMs: number;
}

export interface UrlSuspensions extends UrlHealth {
  suspended(urls: readonly string[]): Promise<Suspension[]>;
  /** Ends the suspension of a URL. @returns whether the URL was suspended */
  lift(url: string): Promise<boolean>;
}

/** Keeps suspensions in the memory of one process. */
export class MemoryUrlHealth implements UrlSuspensions {
  readonly #clock: Clock;
  readonly #suspendedUntilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async available(urls: readonly string[]): Promise<string[]> {
    const nowMs = this.#clock.monotonicMs();
    return urls.filter((url) => (this.#suspendedUntilMs.get(url) ?? 0) <= nowMs);
  }

  async suspend(url: string): Promise<void> {
    this.#suspendedUntilMs.set(url, this.#clock.monotonicMs() + suspensionMs);
  }

  countSuspended(): number {
    return this.#remaining([...this.#suspendedUntilMs.keys()]).length;
  }

  async suspended(urls: readonly string[]): Promise<Suspension[]> {
    const nowMs = this.#clock.nowMs();
    return this.#remaining(urls).map(({ url, leftMs }) => ({ url, untilMs: nowMs + leftMs }));
  }

  async lift(url: string): Promise<boolean> {
    const isSuspended = this.#remaining([url]).length > 0;
    this.#suspendedUntilMs.delete(url);
    return isSuspended;
  }

  #remaining(urls: readonly string[]): { url: string; leftMs: number }[] {
    const nowMs = this.#clock.monotonicMs();
    return urls.map((url) => ({ url, leftMs: (this.#suspendedUntilMs.get(url) ?? 0) - nowMs })).filter(({ leftMs }) => leftMs > 0);
  }
}
