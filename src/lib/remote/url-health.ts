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

/** Suspensions of one process. */
export class MemoryUrlHealth implements UrlHealth {
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
    const nowMs = this.#clock.monotonicMs();
    return [...this.#suspendedUntilMs.values()].filter((untilMs) => untilMs > nowMs).length;
  }
}
