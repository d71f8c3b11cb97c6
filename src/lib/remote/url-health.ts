import type { Clock } from '../clock.ts';

/** How long a failing URL of several is left alone (docs/spec/delivery.md#several-urls). */
export const suspensionMs = 300_000;

/** Which of several URLs are worth asking. Implementations: memory here, Redis for many nodes. */
export interface UrlHealth {
  /** The URLs that are not suspended, in order. */
  available(urls: readonly string[]): Promise<string[]>;
  suspend(url: string): Promise<void>;
  /** How many URLs this process suspended that still are, for figures. */
  countSuspended(): number;
}

/** A URL that is left alone. */
export interface Suspension {
  url: string;
  /** Unix time in milliseconds. */
  untilMs: number;
}

/** Suspensions that can be seen and ended. */
export interface UrlSuspensions extends UrlHealth {
  /** Those of some URLs. */
  suspended(urls: readonly string[]): Promise<Suspension[]>;
  /** Lets a URL be asked again at once. @returns whether it was suspended */
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
    return this.#leftMs([...this.#suspendedUntilMs.keys()]).length;
  }

  async suspended(urls: readonly string[]): Promise<Suspension[]> {
    const nowMs = this.#clock.nowMs();
    return this.#leftMs(urls).map(({ url, leftMs }) => ({ url, untilMs: nowMs + leftMs }));
  }

  async lift(url: string): Promise<boolean> {
    const isSuspended = this.#leftMs([url]).length > 0;
    this.#suspendedUntilMs.delete(url);
    return isSuspended;
  }

  #leftMs(urls: readonly string[]): { url: string; leftMs: number }[] {
    const nowMs = this.#clock.monotonicMs();
    return urls.map((url) => ({ url, leftMs: (this.#suspendedUntilMs.get(url) ?? 0) - nowMs })).filter(({ leftMs }) => leftMs > 0);
  }
}
