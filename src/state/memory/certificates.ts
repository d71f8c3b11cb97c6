import type { CertificateStore } from '../../certificates/certificate-store.ts';
import type { Clock } from '../../lib/clock.ts';

/** Stores the challenges of a single process. The process keeps its certificates on disk. */
export class MemoryCertificates implements CertificateStore {
  readonly #clock: Clock;
  readonly #texts = new Map<string, { text: string; untilMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async isLeader(): Promise<boolean> {
    return true;
  }

  async get(name: string): Promise<string | undefined> {
    const found = this.#texts.get(name);
    return found && found.untilMs > this.#clock.monotonicMs() ? found.text : undefined;
  }

  async put(name: string, text: string, lifetimeMs: number): Promise<void> {
    const nowMs = this.#clock.monotonicMs();
    for (const [other, { untilMs }] of this.#texts) if (untilMs <= nowMs) this.#texts.delete(other);
    this.#texts.set(name, { text, untilMs: nowMs + lifetimeMs });
  }

  async remove(name: string): Promise<void> {
    this.#texts.delete(name);
  }
}
