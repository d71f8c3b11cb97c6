import type { Channel } from '../../lib/channel.ts';
import type { Clock } from '../../lib/clock.ts';
import type { PrimaryApi, WorkerApi } from './protocol.ts';

/** A worker that has not answered for so long hangs: it is ended, so that what others wait for can go on. */
const longestAnswerMs = 30_000;

/** A worker as the primary process sees it. */
export interface Peer {
  /** Counts the workers of a server, from 1; one that replaces another has a number of its own. */
  readonly number: number;
  readonly channel: Channel<PrimaryApi, WorkerApi>;
  /** Ends it at once. */
  kill(reason: string): void;
}

/**
 * Calls a worker, for what must hold in all workers before others go on. One that is gone agrees to everything, and one that hangs
 * is ended.
 *
 * @returns undefined when the worker is gone
 */
export async function confirmed<T>(peer: Peer, clock: Clock, answer: Promise<T>): Promise<T | undefined> {
  const timer = clock.after(longestAnswerMs, () => peer.kill('it did not answer'));
  try {
    return await answer;
  } catch {
    return undefined;
  } finally {
    timer.cancel();
  }
}
