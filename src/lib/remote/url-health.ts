import type { Clock } from '../clock.ts';

/** Time that a failing URL of several is not asked (docs/spec/delivery.md#several-urls). */
export const suspensionMs = 300_000;

/** Remembers which of several URLs fail. Implementations: memory here, Redis for many nodes. */
export interface UrlHealth {
  /** The URLs that are not suspended, in order. */
  available(urls: readonly string[]): Promise<string[]>;
  suspend(url: string): Promise<void>;
  /** Number of URLs that this process suspended and that still are. */
  countSuspended(): number;
}

export interface Suspension {
  url: string;
  /** Unix time in milliseconds. */
  untilMs: number;
}

export interface UrlSuspensions extends UrlHealth {
  suspended(urls: readonly string[]): Promise<Suspension[]>;
  /** Ends a suspension. @returns whether there was one */
  lift(url: string): Promise<boolean>;
}

/** Suspensions of one process. */
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
