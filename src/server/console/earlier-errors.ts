import type { EventLog } from '../../events/journal/event-log.ts';
import { searchPage } from '../../events/journal/search/search.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import { maxErrors, type RecentError, recentError } from '../tally.ts';

/** How far back errors are looked for. */
const limits = { events: maxErrors, bytes: 64 * 1024 * 1024, timeMs: 1000 };

/** The errors of the journal from before this process counted them. They are looked for once, and nobody waits for that. */
export class EarlierErrors {
  readonly #journal: () => EventLog;
  readonly #clock: Clock;
  readonly #log: Log;
  #hasLooked = false;
  /** Those found so far; the newest last. */
  found: readonly RecentError[] = [];

  constructor(journal: () => EventLog, { clock, log }: { clock: Clock; log: Log }) {
    this.#journal = journal;
    this.#clock = clock;
    this.#log = log;
  }

  /** Begins to look for them. Does nothing from the second time on. */
  look(): void {
    if (!this.#hasLooked) void this.#look();
  }

  async #look(): Promise<void> {
    this.#hasLooked = true;
    try {
      const selection = { id: [], uuid: [], group: ['failure' as const] };
      const { events } = await searchPage(this.#journal(), selection, { limits, clock: this.#clock });
      this.found = events.map(({ event }) => recentError(event)).reverse();
    } catch (error) {
      this.#log.warn('errors of before the start could not be looked for', { reason: error });
    }
  }
}
