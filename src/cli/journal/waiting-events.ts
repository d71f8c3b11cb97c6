import { comparePositions, type LogPosition } from '../../events/journal/position.ts';
import { journalEvents } from './event-source.ts';
import type { Journal } from './journal-shape.ts';

/** The events that a running service is still going to deliver: sending them by hand would double them. */
export class WaitingEvents {
  readonly #positions: ReadonlyMap<string, LogPosition>;

  private constructor(positions: ReadonlyMap<string, LogPosition>) {
    this.#positions = positions;
  }

  /** Looks where the handlers of a running service stand; nothing waits where none runs, or for a handler that stopped. */
  static async read(journal: Journal): Promise<WaitingEvents> {
    const positions = await journal.runningPositions();
    if (!positions) return new WaitingEvents(new Map());
    const stopped = new Set<unknown>();
    for await (const { event } of journalEvents(journal, undefined, () => {})) {
      if (event.data.family !== 'event-handler') continue;
      if (event.id === '20157') stopped.add(event.data.uuid);
      if (event.id === '20156') stopped.delete(event.data.uuid);
    }
    return new WaitingEvents(new Map([...positions].filter(([uuid]) => !stopped.has(uuid))));
  }

  isWaiting(handler: string, position: LogPosition | undefined): boolean {
    const from = this.#positions.get(handler);
    return from !== undefined && position !== undefined && comparePositions(position, from) >= 0;
  }
}
