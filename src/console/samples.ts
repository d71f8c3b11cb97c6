import type { Counts } from '../control/shown-node.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Levels, Sample } from './api/schemas/overview.ts';

/** Seconds from one sample to the next, and how many are kept: an hour. */
export const sampleIntervalS = 10;
const maxSamples = 360;

/** The last hour in figures, all processes together. */
export class Samples {
  readonly #figures: () => Promise<Counts & Levels>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #ring: Sample[] = [];
  readonly #listeners = new Set<(sample: Sample) => void>();
  readonly #timer: Timer;
  #before: Counts | undefined;
  #isAsking = false;

  /** @param figures what was counted since the start, and how much there is */
  constructor(figures: () => Promise<Counts & Levels>, { clock, log }: { clock: Clock; log: Log }) {
    this.#figures = figures;
    this.#clock = clock;
    this.#log = log;
    this.#timer = clock.every(sampleIntervalS * 1000, () => void this.#take());
    void this.#take();
  }

  /** The oldest first. */
  get kept(): readonly Sample[] {
    return this.#ring;
  }

  /** Has somebody told of each sample. @returns stops that */
  listen(onSample: (sample: Sample) => void): () => void {
    this.#listeners.add(onSample);
    return () => void this.#listeners.delete(onSample);
  }

  close(): void {
    this.#timer.cancel();
  }

  async #take(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      const now = await this.#figures();
      // The first has nothing to be compared with.
      if (this.#before) this.#add({ time: new Date(this.#clock.nowMs()).toISOString(), ...now, ...difference(now, this.#before) });
      this.#before = now;
    } catch (error) {
      this.#log.warn('the console could not take a sample', { reason: error });
    } finally {
      this.#isAsking = false;
    }
  }

  #add(sample: Sample): void {
    this.#ring.push(sample);
    if (this.#ring.length > maxSamples) this.#ring.shift();
    for (const listener of this.#listeners) listener(sample);
  }
}

// What was counted may go back when a service is gone.
function difference(now: Counts, before: Counts): Counts {
  const since = (name: keyof Counts) => Math.max(now[name] - before[name], 0);
  return {
    requests: since('requests'),
    failures: since('failures'),
    received_bytes: since('received_bytes'),
    sent_bytes: since('sent_bytes'),
    events: since('events'),
    deliveries: since('deliveries'),
    failed_deliveries: since('failed_deliveries'),
  };
}
