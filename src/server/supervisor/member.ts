import type { ChildProcess } from 'node:child_process';
import type { Clock } from '../../lib/clock.ts';
import type { Log } from '../../lib/log.ts';
import type { MetricFigures } from '../../monitor/sources.ts';
import { type Api, Calls } from './calls.ts';
import { type NodeSetup, nodeOffer, type StartedNode, supervisorOffer } from './protocol.ts';

/** A node has so long to start. */
const startWithinMs = 60_000;

/** A node that does not tell its figures in this time is shown with those of before. */
const figuresWithinMs = 2000;

/** A node that was told to stop has so long beyond its time limits. */
const endWithinMs = 5000;

/** One of the nodes. */
export class Member {
  readonly number: number;
  readonly calls: Calls<typeof supervisorOffer, typeof nodeOffer>;
  readonly startedMs: number;
  /** Resolves with how it ended, for example `signal SIGKILL`. */
  readonly ended: Promise<string>;
  /** Whether it answers requests. */
  isReady = false;
  /** The last that it told. */
  figures: MetricFigures = [];
  readonly #process: ChildProcess;
  readonly #hears: Promise<unknown>;
  readonly #clock: Clock;
  #killedBecause: string | undefined;

  /** @param api what it may call */
  constructor(
    number: number,
    process: ChildProcess,
    api: (member: Member) => Api<typeof supervisorOffer>,
    { clock, log }: { clock: Clock; log: Log },
  ) {
    this.number = number;
    this.#process = process;
    this.#clock = clock;
    this.startedMs = clock.monotonicMs();
    // Messages to a process that is just ending are lost, and that is told by its end.
    const send = (message: unknown) => void (process.connected && process.send(message as object, () => {}));
    const onIgnored = () => log.warn('a malformed or unexpected message of a node is ignored', { node: number, pid: process.pid });
    this.calls = new Calls([supervisorOffer, api(this)], nodeOffer, send, onIgnored);
    this.#hears = new Promise((resolve) => process.once('message', resolve));
    process.on('message', (message) => this.calls.receive(message));
    this.ended = new Promise((resolve) => {
      process.once('exit', (code, signal) => resolve(this.#killedBecause ?? (signal ? `signal ${signal}` : `exit code ${code}`)));
    });
    void this.ended.then((how) => this.calls.close(`The node ended: ${how}.`));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** @throws ServiceError when it cannot; it is ended then */
  async start(setup: NodeSetup): Promise<StartedNode> {
    const timer = this.#clock.after(startWithinMs, () => this.kill('it did not start in time'));
    try {
      await Promise.race([this.#hears, this.ended]);
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
    if (this.#process.connected) this.#process.disconnect();
    await this.ended;
    timer.cancel();
    return inTime;
  }

  kill(reason: string): void {
    this.#killedBecause ??= reason;
    this.#process.kill('SIGKILL');
  }
}
