import type { Clock, Timer } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { Overview, Sample } from './api/schemas/overview.ts';
import { type EventStream, eventText } from './event-stream.ts';
import type { Samples } from './samples.ts';

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
