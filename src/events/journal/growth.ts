import { comparePositions, type LogPosition } from './position.ts';

/** Lets callers wait until a journal grows. */
export class Growth {
  readonly #end: () => LogPosition;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;

  constructor(end: () => LogPosition) {
    this.#end = end;
  }

  get isAwaited(): boolean {
    return this.#waiting.size > 0;
  }

  /** Resolves when the journal has grown beyond a position, or is closed. @throws the signal's reason if it aborts */
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

  /** Resolves the waits whose condition is met. */
  wake(): void {
    for (const settle of [...this.#waiting]) settle();
  }

  close(): void {
    this.#isClosed = true;
    this.wake();
  }
}
