import type { Clock } from '../clock.ts';

/** Work whose connection is gone has so long to come to its end, and to tell of it. */
const endsWithinMs = 5000;

/** Counts work under way, and waits until all of it has ended. */
export class PendingWork {
  #count = 0;
  #onEmpty: (() => void)[] = [];

  begin(): void {
    this.#count++;
  }

  /** One that was begun has ended. */
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

  /** Resolves when nothing is under way. */
  async ended(): Promise<void> {
    while (this.#count > 0) await new Promise<void>((resolve) => this.#onEmpty.push(resolve));
  }
}

/** How the work of a listener comes to its end. */
interface Drain {
  /** Resolves when no connection is left. */
  closed: Promise<void>;
  /** Resolves when all work has ended, behind its connections. */
  settled: () => Promise<void>;
  /** So long connections may take, in milliseconds, before they are cut. */
  timeoutMs: number;
  /** Has them cut at once when aborted. */
  hurry: AbortSignal;
  cut: () => void;
}

/** Waits for the ends of connections, cuts them when their time is over, and waits for the ends of their work. @returns whether none was cut */
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
