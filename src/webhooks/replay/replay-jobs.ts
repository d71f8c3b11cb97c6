import { randomUUID } from 'node:crypto';
import { ServiceError } from '../../lib/errors.ts';
import { type JobDependencies, ReplayJob, type ReplayRequest } from './replay-job.ts';

/** Jobs that run at once; others wait. */
const maxRunning = 2;
const maxWaiting = 20;

/** Jobs that are remembered once they ended. */
const maxEnded = 20;

/** A job with what is known of it. */
export interface ListedJob {
  id: string;
  /** ISO 8601, UTC. */
  created: string;
  /** Who wanted it. */
  by: string;
  job: ReplayJob;
}

/** The replays of a running service: so many at once, so many that wait, so many that are remembered. */
export class ReplayJobs {
  readonly #jobs = new Map<string, ListedJob>();
  readonly #running = new Set<Promise<void>>();
  #isStopping = false;

  /**
   * Takes a replay on.
   *
   * @param by who wants it
   * @returns its ID
   * @throws ServiceError `too-many-requests` when too many wait, `bad-request` and `unavailable` as `ReplayJob`
   */
  start(request: ReplayRequest, by: string, dependencies: JobDependencies): string {
    if (this.#isStopping) throw new ServiceError('unavailable', 'The service stops.');
    if (this.#inState('waiting').length >= maxWaiting)
      throw new ServiceError('too-many-requests', `${maxWaiting} replays wait already; cancel one, or try again when they are done.`);
    const job = new ReplayJob(request, dependencies);
    const id = randomUUID();
    this.#jobs.set(id, { id, created: new Date(dependencies.clock.nowMs()).toISOString(), by, job });
    this.#runNext();
    return id;
  }

  /** The jobs, newest first. */
  list(): ListedJob[] {
    return [...this.#jobs.values()].reverse();
  }

  /** @returns undefined for one that is not known, or not remembered any more */
  find(id: string): ListedJob | undefined {
    return this.#jobs.get(id);
  }

  /** Cancels all jobs and waits for their ends. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    for (const { job } of this.#jobs.values()) job.cancel();
    await Promise.all(this.#running);
  }

  #runNext(): void {
    const [next] = this.#inState('waiting');
    if (!next || this.#running.size >= maxRunning) return;
    const running = next.job.run().finally(() => {
      this.#running.delete(running);
      this.#forget();
      this.#runNext();
    });
    this.#running.add(running);
    this.#runNext();
  }

  #forget(): void {
    const ended = [...this.#jobs.values()].filter(({ job }) => !['waiting', 'running'].includes(job.progress.state));
    for (const { id } of ended.slice(0, Math.max(ended.length - maxEnded, 0))) this.#jobs.delete(id);
  }

  #inState(state: string): ListedJob[] {
    return [...this.#jobs.values()].filter(({ job }) => job.progress.state === state);
  }
}
