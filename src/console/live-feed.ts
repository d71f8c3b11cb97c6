import type { Counts } from '../control/shown-node.ts';
import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Levels, Overview, Sample } from './api/schemas/overview.ts';
import { type EventStream, eventText } from './event-stream.ts';

/** Interval of samples in seconds, and number of samples that are kept. The kept samples cover one hour. */
export const sampleIntervalS = 10;
const maxSamples = 360;

/** Interval, in milliseconds, at which readers of the overview get its changes. */
const tellEveryMs = 2000;

interface Dependencies {
  clock: Clock;
  log: Log;
}

/** Figures of the last hour for the charts, summed over all processes: one sample every ten seconds. */
export class Samples {
  readonly #figures: () => Promise<Counts & Levels>;
  readonly #dependencies: Dependencies;
  readonly #samples: Sample[] = [];
  readonly #listeners = new Set<(sample: Sample) => void>();
  readonly #timer: Timer;
  #before: Counts | undefined;
  #isAsking = false;

  /**
   * @param figures returns counts since the start of the server, and current values
   */
  constructor(figures: () => Promise<Counts & Levels>, dependencies: Dependencies) {
    this.#figures = figures;
    this.#dependencies = dependencies;
    this.#timer = dependencies.clock.every(sampleIntervalS * 1000, () => void this.#take());
    void this.#take();
  }

  /** The kept samples, oldest first. */
  get kept(): readonly Sample[] {
    return this.#samples;
  }

  /** Calls back with each new sample. @returns a function that removes the listener */
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
    const { clock, log } = this.#dependencies;
    try {
      const { sessions, connections, memory_bytes, waiting_events, ...counts } = await this.#figures();
      const time = new Date(clock.nowMs()).toISOString();
      // A sample contains the increase of each count, so the first counts make no sample.
      if (this.#before) this.#add({ time, sessions, connections, memory_bytes, waiting_events, ...difference(counts, this.#before) });
      this.#before = counts;
    } catch (error) {
      log.warn('the console could not take a sample', { reason: error });
    } finally {
      this.#isAsking = false;
    }
  }

  #add(sample: Sample): void {
    this.#samples.push(sample);
    if (this.#samples.length > maxSamples) this.#samples.shift();
    for (const listener of this.#listeners) listener(sample);
  }
}

// When a service is removed, counts decrease. In that case the difference is 0.
function difference(now: Counts, before: Counts): Counts {
  return Object.fromEntries(
    Object.entries(now).map(([name, count]) => [name, Math.max(count - before[name as keyof Counts], 0)]),
  ) as Counts;
}

/** Sends the overview and its changes to all readers. The overview is queried once for all of them, and only while there are readers. */
export class LiveFeed {
  readonly #overview: () => Promise<Overview>;
  readonly #samples: Samples;
  readonly #dependencies: Dependencies;
  readonly #told = new Map<EventStream, string>();
  #timer: Timer | undefined;
  #stopSamples: (() => void) | undefined;
  #isAsking = false;
  /** The last overview as text, the same for all readers; empty at first. */
  #latest = '';

  constructor(overview: () => Promise<Overview>, samples: Samples, dependencies: Dependencies) {
    this.#overview = overview;
    this.#samples = samples;
    this.#dependencies = dependencies;
  }

  /** Sends a reader the overview, its changes and each sample. */
  add(stream: EventStream): void {
    this.#told.set(stream, '');
    this.#timer ??= this.#dependencies.clock.every(tellEveryMs, () => void this.#tell());
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
      this.#dependencies.log.warn('the console could not read the state of the server', { reason: error });
    } finally {
      this.#isAsking = false;
    }
    const text = this.#latest;
    for (const [stream, told] of this.#told) {
      // When a slow reader has caught up, it gets only the current state, not the states in between.
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
