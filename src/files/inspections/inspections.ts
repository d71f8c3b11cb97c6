import type { EventDraft } from '../../events/event.ts';
import { processAccount } from '../../events/event-factory.ts';
import { eventIds } from '../../events/event-ids.ts';
import type { Clock, Timer } from '../../lib/clock.ts';
import { FairQueue } from '../../lib/concurrency/fair-queue.ts';
import { PendingWork } from '../../lib/concurrency/pending-work.ts';
import type { Log } from '../../lib/log.ts';
import type { Failure } from '../../lib/remote/remote-endpoint.ts';
import type { UrlHealth } from '../../lib/remote/url-health.ts';
import { ClamdInspector } from './clamd.ts';
import { HttpInspector } from './http-inspector.ts';
import type { HeldOptions, InspectionConfiguration } from './options.ts';
import { type Answer, type InspectedContent, type Inspector, type Judgement, judge, type Verdict } from './verdict.ts';

/** If the test of an inspection fails when the inspection starts, the test is repeated after this time in milliseconds. */
const testAgainMs = 60_000;

interface InspectionDependencies {
  events: { emit(draft: EventDraft): unknown };
  clock: Clock;
  log: Log;
  urlHealth: (uuid: string) => UrlHealth;
  /** Called for each verdict, to update statistics. `durationMs` is undefined if the file was not sent. */
  onVerdict?: ((inspection: string, verdict: Answer['verdict'], durationMs: number | undefined) => void) | undefined;
}

/** The options of inspections in one configuration. */
export interface InspectionSetup {
  inspections: Readonly<Record<string, InspectionConfiguration>>;
  held: HeldOptions;
}

/** Creates the client of an inspection. @throws ServiceError `unavailable` if a CA file cannot be read */
export function createInspector(
  uuid: string,
  options: InspectionConfiguration,
  health: UrlHealth,
  dependencies: { clock: Clock; log: Log },
): Inspector {
  if (options.type === 'clamd') return new ClamdInspector(options, dependencies.clock);
  return new HttpInspector(uuid, options, health, dependencies);
}

/** One configured inspection, with its client and the queue of files that wait for it. */
class Inspection {
  readonly uuid: string;
  readonly options: InspectionConfiguration;
  readonly #inspector: Inspector;
  readonly #queue: FairQueue;
  readonly #pending = new PendingWork();
  readonly #dependencies: InspectionDependencies;
  #again: Timer | undefined;
  #isStopped = false;
  /** The reason why the last start test failed; undefined if it succeeded. */
  fault: Failure | undefined;
  /** The reason why the last inspection of a file failed; undefined if it succeeded. */
  failure: Failure | undefined;

  constructor(uuid: string, options: InspectionConfiguration, dependencies: InspectionDependencies) {
    this.uuid = uuid;
    this.options = options;
    this.#dependencies = dependencies;
    this.#queue = new FairQueue({ concurrency: options.maximum_concurrent, maxWaitingPerParty: 10_000, maxWaiting: 100_000 });
    this.#inspector = createInspector(uuid, options, dependencies.urlHealth(uuid), dependencies);
  }

  get name(): string {
    return this.options.name || this.uuid;
  }

  /**
   * With `test_at_start`, tests the inspection, and repeats the test until it succeeds. Files are sent to the inspection even while the
   * test fails. That is safe, because a file is accepted only by a verdict.
   */
  async start(): Promise<void> {
    if (!this.options.test_at_start) return this.#emit(eventIds.componentStarted);
    const reason = await this.#inspector.test();
    if (this.#isStopped) return;
    const before = this.fault;
    this.fault = reason;
    if (reason === undefined) this.failure = undefined;
    if (reason === undefined) return this.#emit(eventIds.componentStarted);
    if (before === undefined) this.#emit(eventIds.componentStopped, { reason: reason.message });
    this.#again = this.#dependencies.clock.after(testAgainMs, () => void this.start());
  }

  /** Tests the inspection. @returns the reason why it does not work; undefined if it works */
  test(): Promise<Failure | undefined> {
    return this.#inspector.test();
  }

  /** Ends the start test, and closes the connections after all running inspections have ended. */
  stop(): void {
    this.#isStopped = true;
    this.#again?.cancel();
    void this.#pending.ended().then(() => this.#inspector.close());
  }

  /** Runs the inspection on a file. Rejects only with the signal's reason. */
  async inspect(content: InspectedContent, account: string, signal: AbortSignal): Promise<Answer> {
    const { maximum_size } = this.options;
    const { clock, onVerdict } = this.#dependencies;
    const unsent = (answer: Answer) => {
      onVerdict?.(this.uuid, answer.verdict, undefined);
      return answer;
    };
    if (maximum_size !== undefined && content.sizeBytes > maximum_size)
      return unsent({
        verdict: 'larger',
        message: `larger than ${maximum_size} bytes`,
        fault: { code: 'file-too-large', value: String(maximum_size) },
      });
    this.#pending.begin();
    let end: (() => void) | undefined;
    try {
      end = await this.#queue.take(account);
      signal.throwIfAborted();
      const startedMs = clock.monotonicMs();
      const answer = await this.#inspector.inspect(content, signal);
      this.failure = answer.verdict === 'failure' ? { message: answer.message ?? '', fault: answer.fault } : undefined;
      onVerdict?.(this.uuid, answer.verdict, clock.monotonicMs() - startedMs);
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      return unsent({ verdict: 'failure', message: (error as Error).message });
    } finally {
      end?.();
      this.#pending.end();
    }
  }

  effectOf({ verdict }: Answer): Verdict['effect'] {
    if (verdict === 'failure') return this.options.on_failure;
    return verdict === 'larger' ? (this.options.on_larger ?? 'hold') : verdict;
  }

  #emit(id: number, data: Record<string, unknown> = {}): void {
    const component = { uuid: this.uuid, type: this.options.type, name: this.name };
    const members = { uuid: this.uuid, family: 'inspection', kind: this.options.type, name: this.name, type: this.options.type };
    this.#dependencies.events.emit({ id, context: { account: processAccount(), component }, data: { ...members, ...data } });
  }
}

/** The inspections of the current configuration. */
export class Inspections {
  readonly #dependencies: InspectionDependencies;
  #inspections = new Map<string, Inspection>();
  #held: HeldOptions = { days: 30, maximum_per_account: 100, answer: 'accept' };
  readonly #stop = new AbortController();

  constructor(dependencies: InspectionDependencies) {
    this.#dependencies = dependencies;
  }

  get held(): HeldOptions {
    return this.#held;
  }

  /**
   * Creates the clients of a configuration.
   *
   * @returns a function that activates them
   * @throws ServiceError `unavailable` if a CA file cannot be read
   */
  prepare({ inspections, held }: InspectionSetup): () => void {
    const next = Object.entries(inspections).flatMap(([uuid, options]) =>
      options.enabled ? [[uuid, new Inspection(uuid, options, this.#dependencies)] as const] : [],
    );
    return () => {
      const before = this.#inspections;
      this.#inspections = new Map(next);
      this.#held = held;
      for (const inspection of before.values()) inspection.stop();
      for (const inspection of this.#inspections.values()) void inspection.start();
    };
  }

  /** Stops all running inspections. Held uploads that they were inspecting are inspected again after a restart of the service. */
  stop(): void {
    this.#stop.abort(new Error('The service stops.'));
    for (const inspection of this.#inspections.values()) inspection.stop();
  }

  /** Returns the name of an inspection; its UUID if the inspection is disabled, or not in the configuration. */
  nameOf(uuid: string): string {
    return this.#inspections.get(uuid)?.name ?? uuid;
  }

  /** Why inspections do not work, by UUID: the reason why the last file could not be inspected, or why the start test failed. */
  get faults(): Record<string, Failure> {
    return Object.fromEntries(
      [...this.#inspections.values()].flatMap(({ uuid, failure, fault }) => {
        const reason = failure ?? fault;
        return reason === undefined ? [] : [[uuid, reason]];
      }),
    );
  }

  /**
   * Runs the given inspections on a file in parallel.
   *
   * @param account UUID of the account. Files of one account wait in one queue, so that they do not delay files of other accounts
   * @param isWaitedFor whether a client waits for the result; if so, and an inspection takes too long, the file is held
   * @returns undefined if the service stops meanwhile
   */
  async judge(uuids: readonly string[], content: InspectedContent, account: string, isWaitedFor: boolean): Promise<Judgement | undefined> {
    const cancel = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, cancel.signal]);
    const refused: { by?: Verdict } = {};
    const runs = uuids.map((uuid) => this.#run(uuid, content, account, signal));
    const all = Promise.all(runs).then(judge, () => undefined);
    const first = new Promise<'refused'>((resolve) => {
      for (const run of runs)
        run.then(
          (verdict) => {
            if (verdict.effect !== 'refuse') return;
            refused.by ??= verdict;
            resolve('refused');
            cancel.abort(new Error('Another inspection refused the file.'));
          },
          () => {},
        );
    });
    const done = await Promise.race([first, isWaitedFor ? this.#inTime(uuids, runs) : all.then(() => true)]);
    if (refused.by) {
      await all;
      return { outcome: 'refuse', by: refused.by, verdicts: [refused.by] };
    }
    if (this.#stop.signal.aborted) return undefined;
    if (done !== false) return all;
    const rest = all.then((judgement) => {
      if (refused.by) return { outcome: 'refuse' as const, by: refused.by, verdicts: [refused.by] };
      return this.#stop.signal.aborted ? undefined : judgement;
    });
    return { outcome: 'hold', reason: 'late', verdicts: [], rest };
  }

  /** Resolves with true if all runs end within the `answer_within` of their inspections, otherwise with false. */
  async #inTime(uuids: readonly string[], runs: readonly Promise<Verdict>[]): Promise<boolean> {
    const ends = uuids.map((uuid, index) => {
      const run = runs[index] as Promise<Verdict>;
      const withinS = this.#inspections.get(uuid)?.options.answer_within ?? 0;
      return new Promise<boolean>((resolve) => {
        const timer = this.#dependencies.clock.after(withinS * 1000, () => resolve(false));
        const end = () => {
          timer.cancel();
          resolve(true);
        };
        run.then(end, end);
      });
    });
    return (await Promise.all(ends)).every(Boolean);
  }

  async #run(uuid: string, content: InspectedContent, account: string, signal: AbortSignal): Promise<Verdict> {
    const inspection = this.#inspections.get(uuid);
    const answer: Answer = inspection
      ? await inspection.inspect(content, account, signal)
      : { verdict: 'failure', message: 'The inspection does not exist, or is disabled.' };
    const effect = inspection ? inspection.effectOf(answer) : 'hold';
    return { ...answer, inspection: uuid, effect, timeMs: this.#dependencies.clock.nowMs() };
  }
}
