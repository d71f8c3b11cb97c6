import type { Clock } from '../../lib/clock.ts';
import type { MetricFigures } from '../../monitor/sources.ts';
import { Calls } from './calls.ts';
import type { NodeApi, NodeSetup, StartedNode, SupervisorApi } from './protocol.ts';

/** A started process, as the supervisor holds it. */
export interface NodeProcess {
  readonly pid: number | undefined;
  /** Resolves once it hears messages. */
  readonly hears: Promise<void>;
  /** Resolves with how it ended, for example `signal SIGKILL`. */
  readonly ended: Promise<string>;
  /** Never throws: a process that is gone gets nothing. */
  send(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Lets it end by itself: nobody talks to it any more. */
  disconnect(): void;
  /** Ends it at once. */
  kill(): void;
}

/** A node has so long to start. */
const startWithinMs = 60_000;

/** A node that does not tell its figures in this time is shown with those of before. */
const figuresWithinMs = 2000;

/** A node that was told to stop has so long beyond its time limits. */
const endWithinMs = 5000;

/** One of the nodes. */
export class Member {
  readonly number: number;
  readonly calls: Calls<SupervisorApi, NodeApi>;
  readonly startedMs: number;
  readonly ended: Promise<string>;
  /** Whether it answers requests. */
  isReady = false;
  /** The last that it told. */
  figures: MetricFigures = [];
  readonly #process: NodeProcess;
  readonly #clock: Clock;
  #killedBecause: string | undefined;

  /** @param own what it may call */
  constructor(number: number, process: NodeProcess, own: (member: Member) => SupervisorApi, clock: Clock) {
    this.number = number;
    this.#process = process;
    this.#clock = clock;
    this.startedMs = clock.monotonicMs();
    this.calls = new Calls<SupervisorApi, NodeApi>((message) => process.send(message), own(this));
    process.onMessage((message) => this.calls.receive(message));
    this.ended = process.ended.then((how) => this.#killedBecause ?? how);
    void this.ended.then((how) => this.calls.close(`The node ended: ${how}.`));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** @throws ServiceError when it cannot; it is ended then */
  async start(setup: NodeSetup): Promise<StartedNode> {
    const timer = this.#clock.after(startWithinMs, () => this.kill('it did not start in time'));
    try {
      await Promise.race([this.#process.hears, this.ended]);
      const started = await this.calls.call('start', setup);
      this.isReady = true;
      return started;
    } catch (error) {
      this.kill((error as Error).message);
      throw error;
    } finally {
      timer.cancel();
    }
  }

  /** Asks for its figures, and goes on without them when it does not answer. */
  async look(): Promise<void> {
    const told = this.calls.call('figures').then((figures) => {
      this.figures = figures;
    });
    await this.orTimeout(told, figuresWithinMs);
  }

  /** Waits for an answer, but not for ever, and not for what a node that ends would have answered. */
  async orTimeout(answer: Promise<void>, withinMs: number): Promise<void> {
    const late = new AbortController();
    await Promise.race([answer, this.#clock.sleep(withinMs, late.signal)]).catch(() => {});
    late.abort();
  }

  /** Lets its requests finish, and ends it. @returns whether all did in time */
  async stop(withinMs: number): Promise<boolean> {
    const timer = this.#clock.after(withinMs + endWithinMs, () => this.kill('it did not stop in time'));
    const inTime = await this.calls.call('stop').catch(() => false);
    this.#process.disconnect();
    await this.ended;
    timer.cancel();
    return inTime;
  }

  kill(reason: string): void {
    this.#killedBecause ??= reason;
    this.#process.kill();
  }
}
