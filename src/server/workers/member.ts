import { joinTransfers } from '../../files/transfers.ts';
import { Channel } from '../../lib/channel.ts';
import type { Clock } from '../../lib/clock.ts';
import { ServiceError } from '../../lib/errors.ts';
import type { Log } from '../../lib/log.ts';
import { countedFigures } from '../../monitor/metric-figures.ts';
import { noTally } from '../tally.ts';
import type { Peer } from './peer.ts';
import type { PrimaryApi, WorkerApi, WorkerFigures, WorkerSetup } from './protocol.ts';
import type { WorkerProcess } from './worker-process.ts';

/** A worker has so long to start. */
const startWithinMs = 60_000;

/** A worker that does not tell its figures in this time is shown with those of before. */
const figuresWithinMs = 2000;

/** A worker that was let go has so long to end. */
const endWithinMs = 2000;

/** The figures of a worker that has told none. */
export function noFigures(): WorkerFigures {
  return { metrics: [], services: [], tally: noTally(), transfers: joinTransfers([]), methodFaults: {}, memoryBytes: 0 };
}

/** One worker of the fleet. */
export class Member implements Peer {
  readonly number: number;
  readonly channel: Channel<PrimaryApi, WorkerApi>;
  readonly startedMs: number;
  /** Whether it answers requests. */
  isReady = false;
  /** Resolves with how it ended. */
  readonly ended: Promise<string>;
  readonly #process: WorkerProcess;
  readonly #clock: Clock;
  readonly #log: Log;
  #figures = noFigures();
  #killedBecause: string | undefined;

  /** @param apiFor makes what the worker may call */
  constructor(number: number, process: WorkerProcess, apiFor: (peer: Peer) => PrimaryApi, clock: Clock, log: Log) {
    this.number = number;
    this.#process = process;
    this.#clock = clock;
    this.#log = log;
    this.startedMs = clock.monotonicMs();
    this.channel = new Channel<PrimaryApi, WorkerApi>(
      (items) => process.send(items),
      apiFor(this),
      (error) => log.error('a message of a worker could not be dealt with', { worker: number, reason: error }),
    );
    process.onMessage((items) => this.channel.receive(items));
    this.ended = new Promise((resolve) => process.onEnd((how) => resolve(this.#killedBecause ?? how)));
    void this.ended.then((how) => this.channel.close(`The worker ended: ${how}.`));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** @throws ServiceError when it cannot; it is ended then */
  async start(setup: WorkerSetup): Promise<void> {
    const timer = this.#clock.after(startWithinMs, () => this.kill('it did not start in time'));
    try {
      await this.channel.call('start', setup);
      this.isReady = true;
    } catch (error) {
      this.kill((error as Error).message);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  /** Its figures, or the last that it told. */
  async figures(): Promise<WorkerFigures> {
    const late = new AbortController();
    const answer = this.channel.call('figures').then(
      (figures) => {
        this.#figures = figures;
      },
      () => {},
    );
    await Promise.race([answer, this.#clock.sleep(figuresWithinMs, late.signal).catch(() => {})]);
    late.abort();
    return this.#figures;
  }

  /** What stays of its figures when it is gone. */
  get remains(): WorkerFigures {
    const { metrics, services, tally } = this.#figures;
    return {
      ...noFigures(),
      tally,
      metrics: countedFigures(metrics),
      services: services.map((service) => ({ ...service, connections: 0 })),
    };
  }

  /** Lets its requests finish, and ends it. @returns whether all did in time */
  async stop(timeoutMs: number): Promise<boolean> {
    const timer = this.#clock.after(timeoutMs + endWithinMs, () => this.kill('it did not stop in time'));
    const inTime = await this.channel.call('stop', timeoutMs).catch((error: unknown) => {
      if (!(error instanceof ServiceError)) this.#log.error('a worker could not stop', { worker: this.number, reason: error });
      return false;
    });
    timer.cancel();
    const end = this.#clock.after(endWithinMs, () => this.kill('it did not end'));
    this.#process.disconnect();
    await this.ended;
    end.cancel();
    return inTime;
  }

  kill(reason: string): void {
    this.#killedBecause ??= reason;
    this.#process.kill();
  }
}
