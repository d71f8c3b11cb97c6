import type { Clock } from '../clock.ts';

/** Time in milliseconds in which the work of a closed connection must end and emit its event. */
const endsWithinMs = 5000;

/** Counts pending work and waits until all of it has ended. */
export class PendingWork {
  #count = 0;
  #onEmpty: (() => void)[] = [];

  begin(): void {
    this.#count++;
  }

  end(): void {
    if (--this.#count > 0) return;
    for (const onEmpty of this.#onEmpty.splice(0)) onEmpty();
  }

  /** Counts work until its promise settles. */
  add(work: Promise<unknown>): void {
    this.begin();
    const end = () => this.end();
    work.then(end, end);
  }

  /** Resolves when no work is pending. */
  async ended(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#onEmpty.push(resolve));
  }
}

interface Drain {
  /** Resolves when no connection is left. */
  closed: Promise<void>;
  /** Resolves when all work of the connections has ended. */
  settled: () => Promise<void>;
  /** Time in milliseconds after which the remaining connections are closed. */
  timeoutMs: number;
  /** If this signal aborts, all connections are closed immediately. */
  hurry: AbortSignal;
  cut: () => void;
}

/**
 * Waits until connections have ended. Closes the remaining ones after the timeout, and waits for their work.
 *
 * @returns whether all connections ended by themselves
 */
export async function drainConnections(clock: Clock, { closed, settled, timeoutMs, hurry, cut }: Drain): Promise<boolean> {
  let inTime = true;
  const end = () => {
    inTime = false;
    cut();
  };
  const deadline = clock.after(timeoutMs, end);
  hurry.addEventListener('abort', end, { once: true });
  if (hurry.aborted) end();
  await closed;
  deadline.cancel();
  hurry.removeEventListener('abort', end);
  await new Promise<void>((resolve) => {
    const last = clock.after(endsWithinMs, resolve);
    void settled().then(() => {
      last.cancel();
      resolve();
    });
  });
  return inTime;
}
