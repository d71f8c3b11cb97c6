import type { Clock } from './clock.ts';

/** How long a failing URL of several is left alone (service.md, "Limits"). */
export const suspensionMs = 300_000;

/** Which of several URLs are worth asking. */
export class UrlHealth {
  readonly #clock: Clock;
  readonly #suspendedUntilMs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The URLs that are not suspended, in order. */
  available(urls: readonly string[]): string[] {
    const nowMs = this.#clock.monotonicMs();
    return urls.filter((url) => (this.#suspendedUntilMs.get(url) ?? 0) <= nowMs);
  }

  /** How many URLs are suspended at present. */
  countSuspended(): number {
    const nowMs = this.#clock.monotonicMs();
    return [...this.#suspendedUntilMs.values()].filter((untilMs) => untilMs > nowMs).length;
  }

  suspend(url: string): void {
    this.#suspendedUntilMs.set(url, this.#clock.monotonicMs() + suspensionMs);
  }
}
