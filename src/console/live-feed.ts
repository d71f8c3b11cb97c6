import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { EventStream } from './event-stream.ts';
import type { Sample, Samples } from './samples.ts';
import type { Overview } from './sources.ts';

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
  #latest = { text: '', value: undefined as Overview | undefined };

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
      const value = await this.#overview();
      this.#latest = { text: JSON.stringify(value), value };
    } catch (error) {
      this.#log.warn('the console could not look at the server', { reason: error });
    } finally {
      this.#isAsking = false;
    }
    const { text, value } = this.#latest;
    for (const [stream, told] of this.#told) {
      // Who is behind gets what is true by then, not what was true in between.
      if (told === text || stream.isBehind) continue;
      this.#told.set(stream, text);
      stream.send({ event: 'overview', data: value });
    }
  }

  #tellSample(sample: Sample): void {
    for (const stream of this.#told.keys()) if (!stream.isBehind) stream.send({ event: 'sample', data: sample });
  }
}
