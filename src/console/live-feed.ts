import type { Counts } from '../control/shown-node.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Levels, Overview, Sample } from './api/schemas/overview.ts';
import { type EventStream, eventText } from './event-stream.ts';

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

/** How often those who look are told what changed, in milliseconds. */
const tellEveryMs = 2000;

/** Tells all who look at the overview what changed. It is asked for once, for all of them, and not at all while nobody looks. */
export class LiveFeed {
  readonly #overview: () => Promise<Overview>;
  readonly #samples: Samples;
  readonly #clock: Clock;
  readonly #log: Log;
  /** What each has been told last. */
  readonly #told = new Map<EventStream, string>();
  #timer: Timer | undefined;
  #stopSamples: (() => void) | undefined;
  #isAsking = false;
  /** The overview as it was last, written out once for all of them; empty before the first. */
  #latest = '';

  constructor(overview: () => Promise<Overview>, samples: Samples, { clock, log }: { clock: Clock; log: Log }) {
    this.#overview = overview;
    this.#samples = samples;
    this.#clock = clock;
    this.#log = log;
  }

  /** Has a reader told of the overview at once and whenever it changes, and of each sample. */
  add(stream: EventStream): void {
    this.#told.set(stream, '');
    this.#timer ??= this.#clock.every(tellEveryMs, () => void this.#tell());
    this.#stopSamples ??= this.#samples.listen((sample) => this.#tellSample(sample));
    stream.signal.addEventListener('abort', () => this.#remove(stream), { once: true });
    void this.#tell();
  }

  #remove(stream: EventStream): void {
    this.#told.delete(stream);
    if (this.#told.size > 0) return;
    this.#timer?.cancel();
    this.#stopSamples?.();
    this.#timer = undefined;
    this.#stopSamples = undefined;
  }

  async #tell(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      this.#latest = eventText({ event: 'overview', data: await this.#overview() });
    } catch (error) {
      this.#log.warn('the console could not look at the server', { reason: error });
    } finally {
      this.#isAsking = false;
    }
    const text = this.#latest;
    for (const [stream, told] of this.#told) {
      // Who is behind gets what is true by then, not what was true in between.
      if (told === text || stream.isBehind) continue;
      this.#told.set(stream, text);
      stream.write(text);
    }
  }

  #tellSample(sample: Sample): void {
    const text = eventText({ event: 'sample', data: sample });
    for (const stream of this.#told.keys()) if (!stream.isBehind) stream.write(text);
  }
}
