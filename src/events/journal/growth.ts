import { comparePositions, type LogPosition } from './position.ts';

/** Those who wait for a journal to grow. */
export class Growth {
  readonly #end: () => LogPosition;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  /** @param end where the journal ends now */
  constructor(end: () => LogPosition) {
    this.#end = end;
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves when there is something behind a position, or the journal is closed. @throws the signal's reason */
  beyond(from: LogPosition, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const isOver = () => this.#isClosed || comparePositions(this.#end(), from) > 0;
      if (isOver()) return resolve();
      const settle = () => {
        if (!isOver() && !signal?.aborted) return;
        this.#waiting.delete(settle);
        signal?.removeEventListener('abort', settle);
        if (signal?.aborted) reject(signal.reason);
        else resolve();
      };
      this.#waiting.add(settle);
      signal?.addEventListener('abort', settle);
    });
  }

  /** Has those go on whose wait is over. */
  wake(): void {
    for (const settle of [...this.#waiting]) settle();
  }

  /** Nothing will come any more. */
  close(): void {
    this.#isClosed = true;
    this.wake();
  }
}
